# SPDX-License-Identifier: GPL-2.0-or-later
# a thread that sleeps twenty times
measure wallprof -v -j -- waits nanosleep 20
grep '^{' /tmp/out
