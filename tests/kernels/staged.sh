# SPDX-License-Identifier: GPL-2.0-or-later
# As on kernels that are built otherwise: with frame pointers instead of ORC tables, without functions that programs can
# be attached to, without the system calls' own tracepoints. tests/load.bats does the same on the machine's kernel; what the verifier says of it differs.
renamed=
if rename-type orc_entry orx_entry </sys/kernel/btf/vmlinux >/tmp/btf; then
	mount -o bind /tmp/btf /sys/kernel/btf/vmlinux
	renamed=/sys/kernel/btf/vmlinux
fi
measure offcputime -j -v -- waits nanosleep 150
grep 'kernel stacks' /tmp/err
grep '^{' /tmp/out
[ -z "$renamed" ] || umount "$renamed"
# newer kernels do not allow this any more
echo 0 >/proc/sys/kernel/ftrace_enabled
grep . /proc/sys/kernel/ftrace_enabled | sed 's/^/ftrace /'
measure mapupdlat -v -j -- mapinmap hash 100 2 0 plain
sed -n 's/^{/tracepoints {/p' /tmp/out
mount -t tmpfs none /sys/kernel/tracing/events/syscalls
measure mapupdlat -j -- mapinmap hash 100 2 0 plain
sed -n 's/^{/mapupdlat {/p' /tmp/out
umount /sys/kernel/tracing/events/syscalls
stackcount -q k:vfs_read 1 2>&1 >/dev/null | grep ftrace_enabled
echo 1 >/proc/sys/kernel/ftrace_enabled
