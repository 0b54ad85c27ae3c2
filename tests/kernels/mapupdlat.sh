# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest: every program loads, and the calls measured are the program's own.
mapupdlat -v -j -- sh -c 'mapinmap array_of_maps 140 4 0 nested; mapinmap array_of_maps 4 1 20 batched; mapinmap hash 1000 2 0 plain' >/tmp/out 2>/tmp/err
echo "status $?"
grep 'instructions verified' /tmp/err
cat /tmp/out
mapupdlat -j -U --by command -- mapinmap array_of_maps 40 2 0 called | sed -n 's/^{/called {/p'
mapfails 7 >/dev/null
mapupdlat -j -- mapfails 7 | sed -n 's/^{/fails {/p'
