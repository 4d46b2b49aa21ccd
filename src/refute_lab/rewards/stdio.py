"""Programs that read an input and print: each input in a process of its own, what is printed is
compared on this side."""

from __future__ import annotations

import marshal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from refute.core.problems import Call
from refute.sandbox import NotRun, Outcome, Program, Returned, Sandbox
from refute.sandbox.values import MalformedValue
from refute_lab.benches.oracle import run_within
from refute_lab.rewards.calls import PASSED, imports, patience, said, short
from refute_lab.rewards.printed import same_output
from refute_lab.rewards.task import Task, Test
from refute_lab.rewards.verdict import TestResult

_PAYLOAD = 1 << 20
"""Characters of input that are sent at once: every process is given all that is sent."""


def run_stdio(program: str, task: Task, box: Sandbox, *, partial: bool) -> list[TestResult]:
    """A result for each test. Raises `SandboxUnavailable`."""
    script = Program((_script(), imports(program)), "run")
    deadline = time.monotonic() + task.run_seconds
    results: list[TestResult] = []
    for chosen in _portions(task.tests):
        tests = task.tests[chosen]
        left = deadline - time.monotonic()
        if left <= 0 or not (partial or all(result.passed for result in results)):
            results += [TestResult(False, said(NotRun()))] * len(tests)
            continue
        outcomes = run_within(
            script, [Call((program, test.stdin)) for test in tests],
            [replace(limits, alone=True) for limits in task.limits[chosen]], box,
            stop_after=patience(partial), run_wall=left,
        )  # fmt: skip
        results += [_result(*pair, task) for pair in zip(outcomes, tests, strict=True)]
    return results


def _portions(tests: Sequence[Test]) -> Iterator[slice]:
    start = size = 0
    for index, test in enumerate(tests):
        if size + len(test.stdin) > _PAYLOAD and index > start:
            yield slice(start, index)
            start, size = index, 0
        size += len(test.stdin)
    yield slice(start, len(tests))


@cache
def _script() -> bytes:
    """Compiled once; the sandbox runs this version of Python."""
    text = Path(__file__).with_name("script.py").read_text("utf-8")
    return marshal.dumps(compile(text, "<script>", "exec", dont_inherit=True))


def _result(outcome: Outcome, test: Test, task: Task) -> TestResult:
    if not isinstance(outcome, Returned):
        return TestResult(False, said(outcome))
    try:
        printed = outcome.value
    except MalformedValue:
        printed = None
    if type(printed) is not str:
        return TestResult(False, "printed too much, or wrote over the result")
    if same_output(printed, test.stdout or "", task.checker, task.atol):
        return PASSED
    return TestResult(False, f"wrong answer: printed {short(repr(printed))}")
