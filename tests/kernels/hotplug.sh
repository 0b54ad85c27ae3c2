# SPDX-License-Identifier: GPL-2.0-or-later
# a CPU goes offline for a second and comes back; programs start on it then
[ -e /sys/devices/system/cpu/cpu1/online ] || { echo "no second CPU that can go offline"; exit; }
cp /bin/nested /tmp/early
cp /bin/nested /tmp/late
# others than cpuprof's clock follow the CPUs, too
stackcount -C 1 -c 1 -j page-faults >/tmp/faults 2>/tmp/faults.err &
faults=$!
cpuprof -C 1 -e cpu-clock -c 20000000 -j >/tmp/event 2>/tmp/event.err &
event=$!
for i in $(seq 300); do
	! grep -q Ctrl-C /tmp/faults.err || ! grep -q Ctrl-C /tmp/event.err || break
	sleep 0.1
done
cat >/tmp/hotplug <<'END'
taskset 2 /tmp/early burn 1
echo 0 >/sys/devices/system/cpu/cpu1/online
sleep 1
echo 1 >/sys/devices/system/cpu/cpu1/online
sleep 0.5	# the tools look for CPUs that come a few times a second
taskset 2 /tmp/late burn 3
# a program's page faults are at its beginning: by now, all tools have found the CPU
taskset 2 /tmp/late burn 0.01
END
measure cpuprof -v -C 1 -j -F 49 -- sh /tmp/hotplug
kill $faults $event
wait
# what is asked for only: the serial line is slow
grep '"comm":"early"\|"comm":"late"\|"type":"summary' /tmp/out
for of in faults event; do
	grep '"comm":"late"' /tmp/$of | sed "s/^/$of /"
done
