# SPDX-License-Identifier: GPL-2.0-or-later
"""
new_functions.py SECONDS THREADS DEPTH [GB]: each thread makes DEPTH functions that it has not had before, which call each other, sleeps
in the last one, and does so again: a tool that reads each function while it waits for it comes to no end.
With GB, the process forks again and again, and the page tables of so many GB are copied meanwhile: who reads its memory waits.
"""
import mmap
import os
import sys
import threading
import time
import types

seconds, threads, depth = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
gb = int(sys.argv[4]) if len(sys.argv) > 4 else 0
sys.setrecursionlimit(100000)
end = time.time() + seconds


def call(rest):
    if rest:
        return rest[-1](rest[:-1])
    time.sleep(0.0001)


def run():
    n = 0
    while time.time() < end:
        call(tuple(types.FunctionType(call.__code__.replace(co_name=f"f{n}_{i}"), globals()) for i in range(depth)))
        n += 1


for thread in [threading.Thread(target=run) for _ in range(threads)]:
    thread.start()

if gb:
    MAP_NORESERVE, MADV_NOHUGEPAGE, MADV_POPULATE_READ = 0x4000, 15, 22
    # a thread that fails does not end the others
    sys.excepthook = lambda *error: (sys.__excepthook__(*error), os._exit(1))
    area = mmap.mmap(-1, gb << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
    area.madvise(MADV_NOHUGEPAGE)
    area[0] = 1
    area.madvise(MADV_POPULATE_READ)
    while time.time() < end:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        time.sleep(0.1)
