# SPDX-License-Identifier: GPL-2.0-or-later
# Threads that sleep again and again, nested and deep, and one that is blocked throughout, in intervals too; a command.
nested sleep >/dev/null &
nested=$!
deep 300 0 sleep >/dev/null &
deep=$!
nested hold >/dev/null &
holder=$!
sleep 1
# the first tables come late where the emulator reads the files for the first time
offcputime -q -p $nested,$deep,$holder 1 >/tmp/out 2>/tmp/err
measure offcputime -v -j -p $nested,$deep,$holder 3
echo "nested $nested deep $deep holder $holder"
grep 'kernel stacks' /tmp/err
grep '^{' /tmp/out
if [ "$SIZE" = full ]; then
	offcputime -q -j --every 1 -p $holder 3 >/tmp/out 2>/tmp/err
	echo "open in $(grep -c '"open": *true' /tmp/out) of $(grep -c '"type": *"summary"' /tmp/out) reports"
fi
kill $nested $deep $holder
offcputime -f -- waits nanosleep 50 >/tmp/out 2>/tmp/err
echo "command status $?"
grep "^waits;" /tmp/out | head -n 1
