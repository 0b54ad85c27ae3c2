# SPDX-License-Identifier: GPL-2.0-or-later
"""
new_functions.py SECONDS THREADS DEPTH: each thread makes DEPTH functions that it has not had before, which call each other, sleeps
in the last one, and does so again: a tool that reads each function while it waits for it comes to no end.
"""
import sys
import threading
import time
import types

seconds, threads, depth = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
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
