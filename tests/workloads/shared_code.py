# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in stacks of 900 frames, never the same, whose two code objects have more references than one that is alive can have.
import random
import sys

sys.setrecursionlimit(20000)


def leaf(n):
    return sum(range(n))


def a(way, depth):
    return (a if way & 1 else b)(way >> 1, depth - 1) if depth else leaf(3000)


def b(way, depth):
    return (a if way & 1 else b)(way >> 1, depth - 1) if depth else leaf(3000)


references = [a.__code__, b.__code__] * 5000000
while True:
    a(random.getrandbits(900), 900)
