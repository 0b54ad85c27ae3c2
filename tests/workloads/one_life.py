# SPDX-License-Identifier: GPL-2.0-or-later
"""
one_life.py SECONDS: has a child that goes before all others on CPU 0, burns so much of it, and ends with 300 MB to free. Prints its
PID, and for how many ns it has run, from the fork to the end of its exit. Reads a line before, unless the input is at its end.
"""
import os
import sys
import time

seconds = float(sys.argv[1])
sys.stdin.readline()
cpus = os.sched_getaffinity(0)
os.sched_setaffinity(0, {0})
pid = os.fork()
if pid == 0:
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    memory = bytearray(300 << 20)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    os._exit(0)
os.sched_setaffinity(0, cpus)
if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT).si_status:
    sys.exit("the child has failed")
print(pid, open(f"/proc/{pid}/schedstat").read().split()[0])
