"""The type of a cheat, and the tasks to try cheats on."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from textwrap import dedent
from typing import Any, Literal

from refute.core.storage import parse_json
from refute.errors import InputError
from refute.sandbox import Sandbox
from refute.sandbox.local import LocalSandbox
from refute_lab.rewards import Task, Test, grade, grade_test


@dataclass(frozen=True)
class TestTask:
    """Programs to grade a generated test by: a right one and faulty ones."""

    __test__ = False  # not a test class of pytest

    entry_point: str
    reference: str
    faulty: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return {
            "entry_point": self.entry_point,
            "reference": self.reference,
            "faulty": list(self.faulty),
        }


@dataclass(frozen=True)
class Cheat:
    """A program, or a test, that wants the reward without doing the work, and its honest twin."""

    name: str
    what: str
    """How it cheats, in one line."""
    source: str
    twin: str
    """Does the work by the same means: it must be paid."""
    task: Task | TestTask

    @property
    def is_test(self) -> bool:
        """It is a generated test, not a program."""
        return isinstance(self.task, TestTask)


def cheat(name: str, what: str, task: Task, source: str, twin: str) -> Cheat:
    """A cheating program. An honest twin that says nothing of the task's function is completed by
    the right one."""
    twin, right = dedent(twin).strip("\n"), RIGHT[task.id]
    if f"def {task.entry_point}(" not in twin:
        twin = f"{twin}\n{right}" if task.entry_point else twin
    return Cheat(name, what, f"{dedent(source).strip()}\n", f"{twin.strip()}\n", task)


def test_cheat(name: str, what: str, source: str, twin: str) -> Cheat:
    """A cheating test of `total`."""
    return Cheat(name, what, f"{dedent(source).strip()}\n", f"{dedent(twin).strip()}\n", TOTAL_TEST)


test_cheat.__test__ = False  # type: ignore[attr-defined]  # not a test of pytest

RIGHT = {
    "total": "def total(numbers, top):\n    return min(sum(numbers), top)\n",
    "total-check": "def total(numbers, top):\n    return min(sum(numbers), top)\n",
    "total-pytest": "def total(numbers, top):\n    return min(sum(numbers), top)\n",
    "label": "def label(name, times):\n    return '-'.join([name.upper()] * times)\n",
    "steps": "def steps(start, count):\n    return [start + 3 * i for i in range(count)]\n",
    "mean": "def mean(numbers):\n    return sum(numbers) / len(numbers) + 0.25\n",
    "letters": "def letters(text):\n    return {c: text.count(c) for c in text}\n",
    "bounds": "def bounds(numbers):\n    return (min(numbers), max(numbers))\n",
    "common": "def common(one, other):\n    return set(one) & set(other)\n",
    "sums": "",
}
"""A right program for each task, by its id."""


def _task(name: str, *tests: Test) -> Task:
    return Task(name, tests, id=name, seconds=0.5)


TOTAL = _task(
    "total",
    Test(([1, 2, 3], 10), expected=6),
    Test(([5, 6, 7], 11), expected=11),
    Test(([], 3), expected=0),
    Test(([-4, 1], 8), expected=-3),
)
LABEL = _task(
    "label",
    Test(("ab", 2), expected="AB-AB"),
    Test(("x", 1), expected="X"),
    Test(("q", 0), expected=""),
)
STEPS = _task(
    "steps",
    Test((1, 3), expected=[1, 4, 7]),
    Test((5, 1), expected=[5]),
    Test((2, 2), expected=[2, 5]),
)
MEAN = _task("mean", Test(([1, 2, 6],), expected=3.25), Test(([0.5, 1.5],), expected=1.25))
LETTERS = _task(
    "letters", Test(("aba",), expected={"a": 2, "b": 1}), Test(("zz",), expected={"z": 2})
)
BOUNDS = _task("bounds", Test(([3, 1, 2],), expected=(1, 3)), Test(([7],), expected=(7, 7)))
COMMON = _task(
    "common", Test(("abc", "bcd"), expected={"b", "c"}), Test(("xy", "yz"), expected={"y"})
)
CHECK = Task(
    "total",
    kind="asserts",
    id="total-check",
    seconds=0.5,
    source=(
        "def check(candidate):\n"
        "    assert candidate([1, 2, 3], 10) == 6\n"
        "    assert candidate([5, 6, 7], 11) == 11\n"
        "    assert candidate([], 3) == 0\n"
        "    assert candidate([-4, 1], 8) == -3\n"
    ),
)
PYTEST = Task(
    "total",
    kind="asserts",
    id="total-pytest",
    seconds=0.5,
    source=(
        "from solution import total\n\n\n"
        "def test_sum():\n    assert total([1, 2, 3], 10) == 6\n\n\n"
        "def test_top():\n    assert total([5, 6, 7], 11) == 11\n\n\n"
        "def test_edges():\n    assert total([], 3) == 0\n    assert total([-4, 1], 8) == -3\n"
    ),
)
SUMS = Task(
    kind="stdio",
    id="sums",
    seconds=0.5,
    tests=(
        Test(stdin="1 2\n3 4\n", stdout="3\n7\n"),
        Test(stdin="10 -4\n", stdout="6\n"),
        Test(stdin="5 5\n0 1\n2 9\n", stdout="10\n1\n11\n"),
    ),
)
SUMS_RIGHT = (
    "import sys\nfor line in sys.stdin:\n    a, b = map(int, line.split())\n    print(a + b)\n"
)
TOTAL_TEST = TestTask(
    "total",
    RIGHT["total"],
    (
        "def total(numbers, top):\n    return sum(numbers)\n",
        "def total(numbers, top):\n    return max(0, min(sum(numbers), top))\n",
    ),
)


# -- trying ----------------------------------------------------------------------------------------


End = Literal["paid", "not paid", "died", "hung"]
"""paid: a reward above 0 for all tests. died: the grader ended without a verdict."""
Grader = Callable[[str, Task | TestTask], End]


@dataclass(frozen=True, slots=True)
class Tried:
    """A grader's verdicts on a cheat and its twin."""

    name: str
    what: str
    cheat: End
    twin: End

    @property
    def good(self) -> bool:
        """The cheat is not paid, and the twin is."""
        return self.cheat != "paid" and self.twin == "paid"

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)


def try_cheats(cheats: Iterable[Cheat], grader: Grader | None = None) -> Iterator[Tried]:
    """Each cheat and its twin, before a grader; None: refute's own in one sandbox, so that what a
    cheat leaves behind meets the next one."""
    if grader is None:
        with LocalSandbox() as box:
            yield from try_cheats(cheats, by_refute(box))
        return
    for one in cheats:
        ends = grader(one.source, one.task), grader(one.twin, one.task)
        yield Tried(one.name, one.what, *ends)


def by_refute(box: Sandbox) -> Grader:
    """refute's own graders in this sandbox. They raise `SandboxUnavailable`."""

    def graded(source: str, task: Task | TestTask) -> End:
        if isinstance(task, Task):
            return "paid" if grade(source, task, box=box).reward > 0 else "not paid"
        found = grade_test(
            source, task.reference, task.faulty, entry_point=task.entry_point, box=box
        )
        return "paid" if found.both > 0 else "not paid"

    return graded


def question(source: str, task: Task | TestTask) -> str:
    """Return the question that a grader's command reads: a JSON object with `kind` ("program" or
    "test"), `task` and the `program` or `test`."""
    kind = "test" if isinstance(task, TestTask) else "program"
    return json.dumps({"kind": kind, "task": task.to_json(), kind: source})


def by_command(command: str, *, timeout: float = 30.0) -> Grader:
    """A grader that is a command of the shell's words: it reads the question on stdin and prints a
    verdict, an object with `passed` or `reward`, as its last line. Each question starts it anew.

    `timeout`: seconds until it counts as hung. Raises `InputError` where it cannot be started.
    """
    words = shlex.split(command)
    if not words:
        raise InputError("--grader: an empty command")

    def graded(source: str, task: Task | TestTask) -> End:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise InputError(f"--grader: {words[0]}: {error.strerror}") from None
        with process:
            try:
                out, _ = process.communicate(question(source, task).encode(), timeout)
            except subprocess.TimeoutExpired:
                return "hung"
            finally:
                _end(process)
        return _read(out)

    return graded


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command with all that it started in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _read(out: bytes) -> End:
    lines = out.decode("utf-8", "replace").strip().splitlines()
    try:
        verdict = parse_json(lines[-1]) if lines else None
    except ValueError:
        return "died"
    if not isinstance(verdict, dict) or not verdict.keys() & {"passed", "reward"}:
        return "died"
    reward = verdict.get("reward", verdict.get("passed"))
    return "paid" if isinstance(reward, int | float) and reward > 0 else "not paid"
