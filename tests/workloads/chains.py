# SPDX-License-Identifier: GPL-2.0-or-later
"""
chains.py LOG COUNT THREADS: calls functions in COUNT random ways in each thread, through plain Python, and through C that calls
Python back (sorted(), json, sqlite3, functools, numpy, generators, classes and their methods), and sleeps at the end of each.
What Python itself says of the stack there goes to LOG: "function file line;…", root first, one stack a line.
"""
import functools
import json
import os
import random
import sqlite3
import sys
import threading
import time

try:
    import numpy
except ImportError:
    numpy = None

lock = threading.Lock()


def note(log):
    frame, names = sys._getframe(1), []
    while frame:
        names.append(f"{frame.f_code.co_qualname} {frame.f_code.co_filename} {frame.f_lineno}")
        frame = frame.f_back
    with lock:
        log.write(";".join(reversed(names)) + "\n")


class Nested:
    def __init__(self, worker, depth):
        worker.go(depth)


class Worker:
    def __init__(self, log, seed):
        self.log, self.random = log, random.Random(seed)
        self.database = sqlite3.connect(":memory:", check_same_thread=False)
        self.database.create_function("way_on", 1, self.go)
        self.ways = [self.plain, self.sorts, self.queries, self.decodes, self.reduces, self.generates, self.static,
                     lambda depth: self.go(depth), self.compiled, self.constructs, self.positive]
        if numpy:
            self.ways.append(self.vectors)

    def end(self):
        note(self.log); time.sleep(0.0002)

    def go(self, depth):
        if depth == 0:
            self.end()
        else:
            self.random.choice(self.ways)(depth - 1)
        return 0

    def plain(self, depth):
        def inner(): self.go(depth)
        inner()

    def sorts(self, depth):
        sorted([depth], key=self.go)

    def queries(self, depth):
        self.database.execute("select way_on(?)", (depth,)).fetchone()

    def decodes(self, depth):
        json.loads("{}", object_pairs_hook=lambda pairs: self.go(depth))

    def reduces(self, depth):
        functools.reduce(lambda a, b: self.go(depth), [1, 2])

    def generates(self, depth):
        def values():
            yield self.go(depth)
        sum(values())

    @staticmethod
    def über(worker, depth):
        worker.go(depth)

    def static(self, depth):
        Worker.über(self, depth)

    def compiled(self, depth):
        exec(compile("worker.go(depth)", f"<made {depth}>", "exec"), {"worker": self, "depth": depth})

    def constructs(self, depth):
        Nested(self, depth)

    # compilers put this case of the interpreter's loop apart, because it seldom runs
    def positive(self, depth):
        self.depth = depth
        +self

    def __pos__(self):
        self.go(self.depth)

    def vectors(self, depth):
        numpy.frompyfunc(self.go, 1, 1)(depth)


class Idle:
    @staticmethod
    def go(depth):
        pass


def work(log, count, seed):
    for _ in range(50):
        time.sleep(0.02)    # time for a tool that has started this program to get to know it
    for _ in range(200):
        Worker.constructs(Idle, 0)    # from 3.13 on, a call that is made often needs no C
    worker = Worker(log, seed)
    for _ in range(count):
        worker.go(worker.random.randrange(12))


if __name__ == "__main__":
    with open(sys.argv[1], "w") as log:
        threads = [threading.Thread(target=work, args=(log, int(sys.argv[2]), i)) for i in range(int(sys.argv[3]))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
