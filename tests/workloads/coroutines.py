# SPDX-License-Identifier: GPL-2.0-or-later
"""
coroutines.py LOG: sleeps within generators that yield from each other, coroutines, tasks and asynchronous generators. What
Python itself says of the stack at each sleep goes to LOG: "function file line;…", root first, one stack a line.
"""
import asyncio
import sys
import time

log = open(sys.argv[1], "w")


def note():
    frame, names = sys._getframe(1), []
    while frame:
        names.append(f"{frame.f_code.co_qualname} {frame.f_code.co_filename} {frame.f_lineno}")
        frame = frame.f_back
    log.write(";".join(reversed(names)) + "\n")


class Worker:
    def end(self):
        note(); time.sleep(0.0003)


w = Worker()


def generates(n):
    if n:
        yield from generates(n - 1)
    w.end()
    yield n


async def counts(n):
    for i in range(n):
        w.end()
        yield i
        await asyncio.sleep(0)


async def awaits(n):
    if n:
        await awaits(n - 1)
    else:
        async for _ in counts(3):
            w.end()
    await asyncio.sleep(0)
    w.end()


async def main():
    await asyncio.gather(*(awaits(i % 5) for i in range(30)))


for _ in range(50):
    time.sleep(0.02)    # time for a tool that has started this program to get to know it
for i in range(100):
    list(generates(i % 7))
asyncio.run(main())
for i in range(20):
    max([1, 2, 3], key=lambda v: w.end() or v)
    list(map(lambda v: next(generates(v)), range(3)))
