# SPDX-License-Identifier: GPL-2.0-or-later
# The calls that are measured are the program's own; who made them; and calls that fail.
sed 's/^/preemption /' /sys/kernel/debug/sched/preempt
measure mapupdlat -v -j -- sh -c 'mapinmap array_of_maps 140 4 0 nested
	mapinmap array_of_maps 4 1 20 batched
	mapinmap hash 1000 2 0 plain'
cat /tmp/out
[ "$SIZE" = full ] || exit 0
measure mapupdlat -v -j -U --by command -- mapinmap array_of_maps 40 2 0 called
sed -n 's/^{/called {/p' /tmp/out
mapfails 7 >/dev/null
measure mapupdlat -j -- mapfails 7
sed -n 's/^{/fails {/p' /tmp/out
