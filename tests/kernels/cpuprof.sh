# SPDX-License-Identifier: GPL-2.0-or-later
# In the guest: every program loads, and whole stacks are taken, of a running process and of a command.
nested burn 100 &
sleep 1
cpuprof -v -j -F 499 -p $! 3 >/tmp/out 2>/tmp/err
echo "status $?"
grep 'instructions verified' /tmp/err
grep '^{' /tmp/out
kill $!
cpuprof -f -F 499 -- nested burn 2 >/tmp/out 2>/tmp/err
echo "command status $?"
grep '^nested;' /tmp/out | head -n 1
nested hold >/tmp/hold &
sleep 1
echo "host $(stack-of $! | tail -n 1)"
