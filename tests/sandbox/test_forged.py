"""Programs that write into the result channel: a forged frame costs them their own result only."""

# ruff: noqa: E501
from __future__ import annotations

import time

import pytest

from refute.core.problems import Call
from refute.sandbox import Limits, Outcome, Program, Raised, TimedOut
from refute.sandbox.local import LocalSandbox

from .conftest import sentinel
from .lies import HARNESS

FORGE = """
import marshal
def f(body):
    h = harness()
    end = frame(h['view'], h['committed'], h['step'], body())
    header(end, h['step'] + 1, 1, h['view'])
    os._exit(0)
"""


def forged(box: LocalSandbox, body: str) -> Outcome:
    """The outcome of a call that writes `body`, an expression, as its own frame and exits."""
    code = HARNESS + FORGE.replace("body()", body).replace("f(body)", "f(x)")
    return box.run(Program(code, "f"), [Call((1,))], Limits(cpu=2.0))[0]


@pytest.mark.parametrize(
    "parts",
    [
        "(10**5000, 'm', 1, [])",
        "('E', 10**5000, 1, [])",
        "(['E'] * 10, 'm', 1, [])",
        "(b'E', 'm', 1, [])",
        "('E', {1: 10**5000}, 1, [])",
        "('E', None, 1, [])",
        "('E', 'm', 1)",
        "('E', 'm', 1, 2)",
        "('E', 'm', 1, [2])",
        "('E', 'm', 1, ['E'] * 20000)",
        "('E', 'm', 1, [], 2)",
        "('E', 'm' * 40000, 1, [])",
        "('E' * 40000, 'm', 1, [])",
    ],
)
def test_a_forged_exception_is_a_malformed_one(box: LocalSandbox, parts: str) -> None:
    outcome = forged(box, f"b'E' + marshal.dumps({parts}, 2)")
    assert outcome == Raised("?", "malformed exception")
    assert "malformed" in repr(outcome)


@pytest.mark.parametrize("line", ["10**5000", "-1", "0", "True", "1 << 31", "'1'"])
def test_a_line_that_is_none_is_left_out(box: LocalSandbox, line: str) -> None:
    outcome = forged(box, f"b'E' + marshal.dumps(('E', 'm', {line}, []), 2)")
    assert outcome == Raised("E", "m")
    assert repr(outcome)


def test_a_long_forged_message_takes_no_time(box: LocalSandbox) -> None:
    began = time.process_time()
    outcome = forged(box, "b'E' + marshal.dumps(('E', chr(0) * (25 << 20), 1, []), 2)")
    assert not isinstance(outcome, Raised) or outcome.type == "?"
    assert time.process_time() - began < 1.0


PHASES = """
import time
def f(x):
    h = harness()
    for phase in PHASES:
        header(h['committed'], h['step'], phase, h['view'])
        WORK
    return x
"""


@pytest.mark.parametrize(
    ("phases", "work", "ended"),
    [
        ("range(254)", "end = time.process_time() + 0.15\n        while time.process_time() < end: pass", "cpu"),
        ("range(2, 254)", "time.sleep(0.3)", "wall"),
        ("[1, 0] * 100", "time.sleep(0.3)", "wall"),
    ],
)  # fmt: skip
def test_phases_do_not_reset_the_clocks(
    box: LocalSandbox, phases: str, work: str, ended: str
) -> None:
    code = HARNESS + PHASES.replace("PHASES", phases).replace("WORK", work)
    began = time.monotonic()
    (outcome,) = box.run(Program(code, "f"), [Call((1,))], Limits(cpu=0.2, wall=0.5))
    assert outcome == TimedOut(ended)
    assert time.monotonic() - began < 15
    sentinel(box)
