# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in 100,000 functions, 60 deep, which share one table of lines of 256 KB: whoever keeps a copy for each needs 25 GB.
import sys
import types

NR, DEPTH = 100000, 60
sys.setrecursionlimit(5000)


def call(functions, at, rest):
    if rest:
        return functions[at](functions, at + 1, rest - 1)
    return sum(range(20000))


lines = b"\x80" * (256 << 10)
functions = [types.FunctionType(call.__code__.replace(co_name=f"f{n}", co_linetable=lines), globals()) for n in range(NR)]
at = 0
while True:
    functions[at](functions, at + 1, DEPTH)
    at = (at + DEPTH + 1) % (NR - DEPTH - 1)
