# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest: every program loads; a thread that sleeps again and again, one that is blocked throughout, a command.
nested sleep >/dev/null &
sleeper=$!
nested hold >/dev/null &
holder=$!
sleep 1
offcputime -v -j -p $sleeper,$holder 3 >/tmp/out 2>/tmp/err
echo "status $?"
grep -E 'instructions verified|kernel stacks|cannot' /tmp/err
grep -B 12 '^processed' /tmp/err
grep '^{' /tmp/out
echo "sleeper $sleeper holder $holder"
offcputime -f -- waits nanosleep 50 >/tmp/out 2>/tmp/err
echo "command status $?"
grep "^waits;" /tmp/out | head -n 1
