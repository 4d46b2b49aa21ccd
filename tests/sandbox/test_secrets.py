"""A program that searches all of its memory finds no expected output and nothing of others."""

from __future__ import annotations

import secrets

import pytest

from refute.core.problems import Call, UnitTest
from refute.sandbox import Limits, Program
from refute.sandbox.equality import equal

from .conftest import Worker

SEARCH = r"""
import ctypes, gc, os, re, sys
def f(*given):
    wanted = re.compile(b"MAR" + b"KER-[0-9a-f]{32}")
    libc = ctypes.CDLL(None)
    r, w = os.pipe()
    def readable(page):  # a system call, not this process, meets the hole in the map
        if libc.write(w, ctypes.c_void_p(page), 1) != 1: return False
        os.read(r, 1)
        return True
    pages, found = set(), set()
    objects = gc.get_objects()
    frame = sys._getframe()
    while frame: objects.append(frame.f_locals); frame = frame.f_back
    starts = {id(o) >> 12 for o in objects}
    starts |= {id(x) >> 12 for o in objects[:50000] for x in gc.get_referents(o)}
    for start in starts:
        for step in (1, -1):
            page = start if step == 1 else start - 1
            while page not in pages and len(pages) < 40000 and readable(page << 12):
                pages.add(page); page += step
    for page in sorted(pages):  # through the pipe, too: some are given back meanwhile
        size = libc.write(w, ctypes.c_void_p(page << 12), 4096)
        found.update(wanted.findall(os.read(r, size) if size > 0 else b""))
    return len(pages), sorted(found)
"""
LIMITS = Limits(cpu=10.0, memory=1 << 29)


def search(worker: Worker, *given: str) -> set[str]:
    program = Program(code=SEARCH, entry_point="f")
    (outcome,) = worker.box.run(program, [Call(args=given)], LIMITS)
    pages, found = outcome.value
    assert pages > 300
    return {item.decode() for item in found}


@pytest.mark.parametrize("worker", ["all", "limits-only"], indirect=True)
def test_nothing_to_be_found(worker: Worker) -> None:
    def marker() -> str:
        return "MARKER-" + secrets.token_hex(16)

    known, expected, source, given, result = (marker() for _ in range(5))
    tests = [UnitTest(Call(args=(given,)), expected=expected)]
    before = Program(code=f"X = '{source}'\ndef f(x): return x, X, '{result}'", entry_point="f")
    (outcome,) = worker.box.run(before, [tests[0].call], LIMITS)
    assert not equal(outcome.value, expected)
    assert search(worker, known) == {known}, "its own argument, and nothing else"
    assert search(worker) == set()
