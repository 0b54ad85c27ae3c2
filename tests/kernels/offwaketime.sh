# SPDX-License-Identifier: GPL-2.0-or-later
# Threads that wake each other, and one that a timer wakes.
measure offwaketime -v -j -- ring futex 3 100
grep -E 'kernel stacks|of these' /tmp/err
grep '^[{0-9]' /tmp/out
[ "$SIZE" = full ] || exit 0
measure offwaketime -j -- waits nanosleep 20
grep '"interrupt":true' /tmp/out | head -n 1 | sed 's/^/timer /'
