# SPDX-License-Identifier: GPL-2.0-or-later
# As on kernels that are built otherwise: with frame pointers instead of ORC tables, without the system calls' own
# tracepoints. tests/load.bats does the same on the machine's kernel; what the verifier says of it differs.
rename-type orc_entry orx_entry </sys/kernel/btf/vmlinux >/tmp/btf
mount -o bind /tmp/btf /sys/kernel/btf/vmlinux
grep -v orc /proc/kallsyms >/tmp/kallsyms
mount -o bind /tmp/kallsyms /proc/kallsyms
measure offcputime -j -v -- waits nanosleep 20
grep 'kernel stacks' /tmp/err
grep '^{' /tmp/out
umount /proc/kallsyms
umount /sys/kernel/btf/vmlinux
mount -t tmpfs none /sys/kernel/tracing/events/syscalls
measure mapupdlat -j -- mapinmap hash 100 2 0 plain
sed -n 's/^{/mapupdlat {/p' /tmp/out
umount /sys/kernel/tracing/events/syscalls
