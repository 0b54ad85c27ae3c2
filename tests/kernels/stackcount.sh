# SPDX-License-Identifier: GPL-2.0-or-later
# functions of the kernel by kprobes, and a tracepoint
measure stackcount -v -j k:vfs_read -- dd if=/dev/zero of=/dev/null bs=1 count=1000
grep '^{' /tmp/out
# an idle CPU's timers; and a name that several functions have. Without tracefs, there are no names of tracepoints
[ ! -d /sys/kernel/tracing/events ] || {
	measure stackcount -j -K t:timer:hrtimer_expire_entry 2
	sed -n 's/^{/timers {/p' /tmp/out
	stackcount 'k:*init_once' 0.1 >/dev/null 2>/tmp/err; echo "pattern: $? $(grep -c 'have the same name' /tmp/err)"
}
[ "$SIZE" = full ] || exit 0
# one of a module
modprobe brd
measure stackcount -j k:brd:brd_submit_bio -- dd if=/dev/zero of=/dev/ram0 bs=4k count=50 oflag=direct
sed -n 's/^{/module {/p' /tmp/out
# without tracefs, there are no names of tracepoints
[ -d /sys/kernel/tracing/events ] || exit 0
measure stackcount -v -j t:sched:sched_process_fork -- sh -c 'for i in 1 2 3 4 5 6 7; do /bin/true; done'
grep '^{' /tmp/out | sed 's/^/forks /'
