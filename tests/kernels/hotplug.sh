# SPDX-License-Identifier: GPL-2.0-or-later
# a CPU goes offline for a second and comes back; a program starts on it then
[ -e /sys/devices/system/cpu/cpu1/online ] || { echo "no second CPU that can go offline"; exit; }
cp /bin/nested /tmp/early
cp /bin/nested /tmp/late
rm -f /tmp/err
(
	until grep -q Ctrl-C /tmp/err; do sleep 0.1; done
	taskset 2 /tmp/early burn 1
	echo 0 >/sys/devices/system/cpu/cpu1/online
	sleep 1
	echo 1 >/sys/devices/system/cpu/cpu1/online
	taskset 2 /tmp/late burn 3
) >/dev/null 2>&1 &
measure cpuprof -v -C 1 -j -F 49 8
wait
grep '"type":"st\|"type":"summary' /tmp/out
