"""Workers at every level of isolation, and the check that one still gives right verdicts."""

# ruff: noqa: E501
from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.core.problems import Call
from refute.sandbox import Limits, Program
from refute.sandbox.local import ALL_MEASURES, LocalSandbox

LEVELS = {
    "all": ALL_MEASURES,
    "namespaces-only": frozenset({"namespaces"}),
    "no-namespaces": frozenset({"landlock", "seccomp"}),
    "seccomp-only": frozenset({"seccomp"}),
    "limits-only": frozenset(),
}

SENTINEL = Program(
    code="""
import builtins, gc, os, re, signal, sys, threading, time, resource
def f(words):
    import json
    ranked = sorted({w: len(re.findall("a", w)) for w in words}.items(), key=lambda p: (-p[1], p[0]))
    return json.loads(json.dumps(ranked))
def state():
    umask = os.umask(0)
    fds = []
    for fd in range(64):
        try: os.fstat(fd); fds.append(fd)
        except OSError: pass
    limits = [resource.getrlimit(getattr(resource, n)) for n in sorted(dir(resource))
              if n.startswith("RLIMIT_") and n != "RLIMIT_AS"]
    return [os.listdir("."), umask, os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0)),
            dict(os.environ), list(sys.path), sorted(sys.modules), threading.active_count(), fds, limits,
            [str(signal.getsignal(s)) for s in range(1, 32)], sys.getrecursionlimit(), len(dir(builtins)),
            sys.gettrace() is None, gc.get_threshold(), abs(time.time()) > 1e9, os.getuid(), sys.get_int_max_str_digits()]
""",
    entry_point="f",
)
EXPECTED = [["banana", 3], ["avocado", 2], ["fig", 0]]


def sentinel(box: LocalSandbox) -> object:
    """Run a known program: right answer, in one call each way. Returns the state it found."""
    call = Call(args=(["fig", "banana", "avocado"],))
    (outcome,) = box.run(SENTINEL, [call], Limits(cpu=2.0))
    assert outcome.value == EXPECTED
    state = Program(code=str(SENTINEL.code), entry_point="state")
    (outcome,) = box.run(state, [Call()], Limits(cpu=2.0))
    assert outcome.value[0] == [], "the private directory is not empty"
    return [
        {k: v for k, v in item.items() if k not in ("HOME", "TMPDIR")}
        if isinstance(item, dict)
        else item
        for item in outcome.value
    ]


class Worker:
    """A sandbox and what its sentinel saw when it was fresh."""

    def __init__(self, level: str) -> None:
        self.level = level
        self.box = LocalSandbox(measures=LEVELS[level])
        self.protections = self.box.protections()
        missing = [name for name in LEVELS[level] if not self.protections[name]]
        self.missing = ", ".join(missing)
        self.fresh = sentinel(self.box)

    def pid(self) -> int:
        return self.box._servers[((), 0, False)].process.pid


@pytest.fixture(scope="session")
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    made = Worker(request.param)
    if made.missing:
        made.box.close()
        pytest.skip(f"this machine has no {made.missing}")
    yield made
    made.box.close()


@pytest.fixture(scope="session")
def box() -> Iterator[LocalSandbox]:
    with LocalSandbox() as made:
        yield made


def children_of(pid: int) -> set[int]:
    """Every living descendant of a process, zombies left out."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path(f"/proc/{name}/stat").read_text()
            except OSError:
                continue
            state, parent = text.rpartition(")")[2].split()[:2]
            if state != "Z":
                parents[int(name)] = int(parent)
    found: set[int] = set()
    grown = True
    while grown:
        more = {p for p, parent in parents.items() if parent == pid or parent in found} - found
        found |= more
        grown = bool(more)
    return found
