"""Run a program twice, traced and counted, and print both counts of its lines as JSON.

A script for the interpreters under test (Python 3.6 and newer), not a test itself:
`python both_ways.py SITE PROGRAM`.
"""

import json
import sys

sys.path.insert(0, sys.argv[1])

from _refute_probe import counting, instrument


def run(code):
    try:
        exec(code, {"__name__": "program", "__builtins__": __builtins__})
    except Exception:
        pass


def main(path):
    with open(path, "rb") as stream:
        source = stream.read()
    code = compile(source, path, "exec", dont_inherit=True)
    traced = {}

    def trace(frame, event, argument):
        if frame.f_code.co_filename != path:
            return None
        if event == "line":
            traced[frame.f_lineno] = traced.get(frame.f_lineno, 0) + 1
        return trace

    sys.settrace(trace)
    run(code)
    sys.settrace(None)
    number = len(source.splitlines()) + 2
    counters = counting.Counters(sys.argv[3], number)
    counters.open()
    run(instrument.instrument(code, source, path, {line: line for line in range(1, number)}))
    counters.settle()
    counted = {line: counters.slots[line] for line in range(number) if counters.slots[line]}
    print(json.dumps({"traced": traced, "counted": counted}))


main(sys.argv[2])
