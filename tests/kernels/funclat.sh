# SPDX-License-Identifier: GPL-2.0-or-later
# a kernel function by a kprobe and a kretprobe
measure funclat -v -j k:vfs_read -- dd if=/dev/zero of=/dev/null bs=1 count=1000
grep '^{' /tmp/out
# a function of the C library, by its returns
measure funclat -v -j u:$(echo /lib/*-linux-gnu/libc.so.6):nanosleep -- waits nanosleep 20 5
grep '^{' /tmp/out
[ "$SIZE" = full ] || exit 0
# more calls at a time than the kernel follows the returns of; then calls further up in the stacks of the same threads
mkfifo /tmp/fifo
rm -f /tmp/err
(
	until grep -q Ctrl-C /tmp/err; do sleep 0.1; done
	exec 9<>/tmp/fifo
	for i in $(seq 200); do dd if=/tmp/fifo of=/dev/null bs=1 count=1 2>/dev/null & done
	sleep 5
	for i in $(seq 200); do echo -n x >&9; done
	sleep 3
	kill -TERM $(pidof funclat)
) &
measure funclat -v -j 'k:*pipe_re*'
[ $status -eq 0 ] || kill $!
wait
grep '^{' /tmp/out
