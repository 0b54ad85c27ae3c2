# SPDX-License-Identifier: GPL-2.0-or-later
# a kernel function by a kprobe and a kretprobe
measure funclat -v -j k:vfs_read -- dd if=/dev/zero of=/dev/null bs=1 count=1000
grep '^{' /tmp/out
# a function of the C library, by its returns
measure funclat -v -j u:/lib/x86_64-linux-gnu/libc.so.6:nanosleep -- waits nanosleep 20 5
grep '^{' /tmp/out
