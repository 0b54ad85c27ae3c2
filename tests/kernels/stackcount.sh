# SPDX-License-Identifier: GPL-2.0-or-later
# a kernel function by a kprobe, and a tracepoint
measure stackcount -v -j k:vfs_read -- dd if=/dev/zero of=/dev/null bs=1 count=1000
grep '^{' /tmp/out
# without tracefs, there are no names of tracepoints
[ -d /sys/kernel/tracing/events ] || exit 0
measure stackcount -v -j t:sched:sched_process_fork -- sh -c 'for i in 1 2 3 4 5 6 7; do /bin/true; done'
grep '^{' /tmp/out | sed 's/^/forks /'
