# SPDX-License-Identifier: GPL-2.0-or-later
# A running process, nested and deep; a command; and the same walk on the host.
nested burn 100 >/dev/null &
nested=$!
deep 300 >/dev/null &
deep=$!
sleep 1
# what is slow is the emulator
echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent
# the first tables come late where the emulator reads the files for the first time
cpuprof -q -p $nested,$deep 1 >/tmp/out 2>/tmp/err
measure cpuprof -v -j -F 199 -p $nested,$deep 3
echo "nested $nested deep $deep"
grep '^{' /tmp/out
kill $nested $deep
if [ "$SIZE" = full ]; then
	measure cpuprof -j -F 199 --every 4 -- nested burn 10
	sed -n 's/^{/command {/p' /tmp/out
fi
[ -e /bin/stack-of ] || exit 0	# it reads x86's registers
nested hold >/dev/null &
sleep 1
echo "host $(stack-of $! | tail -n 1)"
kill $!
