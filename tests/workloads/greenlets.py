#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Greenlets that switch to each other, and to the main one, in the midst of C that has called Python: json.dumps() and reduce().

usage: greenlets.py LOG COUNT

Each stop in time.sleep() is logged first: "FUNCTION FILE LINE;..." of Python's own stack, root first.
"""
import functools, json, sys, time
from greenlet import getcurrent, greenlet


def stop(log):
    frame, names = sys._getframe(1), []
    while frame:
        names.append(f"{frame.f_code.co_qualname} {frame.f_code.co_filename} {frame.f_lineno}")
        frame = frame.f_back
    log.write(";".join(reversed(names)) + "\n")
    time.sleep(0.0001)


class Worker:
    def __init__(self, log, count):
        self.log, self.count, self.other = log, count, None

    def encode(self, what):
        stop(self.log)
        self.other.switch()
        stop(self.log)
        return 1

    def work(self):
        main.switch()    # so that both are started by the main one, from the depth to which they return
        for i in range(self.count):
            json.dumps([{"a": self}] * (1 + i % 3), default=self.encode)
            if i % 10 == 0:
                main.switch()


def go(log, workers):
    for i in range(50):
        time.sleep(0.02)    # time for a tool that has started this program to get to know it
    while not all(worker.dead for worker in workers):
        functools.reduce(lambda a, b: stop(log) or b.dead or b.switch(), workers, None)


if __name__ == "__main__":
    main = getcurrent()
    with open(sys.argv[1], "w") as log:
        left, right = Worker(log, int(sys.argv[2])), Worker(log, int(sys.argv[2]))
        left.other, right.other = greenlet(right.work), greenlet(left.work)
        go(log, [left.other, right.other])
