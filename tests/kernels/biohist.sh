# SPDX-License-Identifier: GPL-2.0-or-later
# The guest has no disk: that it loads, attaches and ends.
measure biohist -v -j 1 1
grep '^{' /tmp/out
