"""What a cheat is, and the tasks that cheats are tried on."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from refute_lab.rewards import Task, Test

__all__ = ["Cheat", "TestTask", "cheat", "test_cheat"]


@dataclass(frozen=True)
class TestTask:
    """What a generated test is graded by: a right program and faulty ones."""

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
