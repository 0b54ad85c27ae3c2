# SPDX-License-Identifier: GPL-2.0-or-later
"""
interpreters.py LOG: runs code that sleeps in three more interpreters, by calls from functions of the main one, and in the main
one while the others are there. What each interpreter says of its own part of the stack goes to LOG, one line each time:
"outer;inner|…", the main one's functions and the other's.
"""
import sys
import textwrap
import time

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
run = getattr(interpreters, "exec", None) or interpreters.run_string

code = textwrap.dedent("""
    import sys, time
    log = open(LOG, "a")
    def note():
        frame, names = sys._getframe(1), []
        while frame:
            if frame.f_code.co_name != "<module>":
                names.append(frame.f_code.co_qualname)
            frame = frame.f_back
        log.write(";".join([CALLED_BY] * bool(CALLED_BY) + list(reversed(names))) + "\\n")
    class Worker:
        def end(self):
            note(); time.sleep(0.0005)
        def deeper(self, n):
            if n:
                sorted([1], key=lambda x: self.deeper(n - 1) or 0)
            else:
                self.end()
    for i in range(COUNT):
        Worker().deeper(i % 4)
    log.close()
""")


def given(called_by, count):
    return f"LOG, CALLED_BY, COUNT = {sys.argv[1]!r}, {called_by!r}, {count}\n" + code


def outer(id):
    inner(id)


def inner(id):
    run(id, given("outer;inner", 30))


for _ in range(50):
    time.sleep(0.02)    # time for a tool that has started this program to get to know it
ids = [interpreters.create() for _ in range(3)]
for id in ids:
    outer(id)
exec(given("", 40), {})
