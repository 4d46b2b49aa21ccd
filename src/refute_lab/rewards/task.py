"""Tasks of programs as data: calls with the values they must return, runs with the text they must
print, or a file of asserts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from decimal import Context, Decimal
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from refute.core.problems import Call
from refute.core.storage import parse_json
from refute.errors import InputError
from refute.sandbox import Limits, Sandbox, values
from refute.sandbox.equality import CHECKERS, Expected, expect
from refute.sandbox.local import LocalSandbox
from refute.source.literals import NotLiteral, parse_literal, source_of
from refute_lab.benches.grade import expected_outputs
from refute_lab.datasets import load

# -- printed ---------------------------------------------------------------------------------------


TOLERANCE = 1e-6
"""Of numbers, absolute or relative, where a task of "floats" states none."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)

PrintedChecker = Callable[[str, str, float], bool]
"""``checker(out, expected, atol)``."""


def same_output(out: str, expected: str, checker: str | None, atol: float = 0.0) -> bool:
    """Return whether `out` is right by the checker of this name; None: "tokens"."""
    return PRINTED[checker or "tokens"](out, expected, atol)


def _exact(out: str, expected: str, atol: float) -> bool:
    return out.removesuffix("\n") == expected.removesuffix("\n")


def _lines(out: str, expected: str, atol: float) -> bool:
    return _stripped(out) == _stripped(expected)


def _tokens(out: str, expected: str, atol: float) -> bool:
    return out.split() == expected.split()


def _floats(out: str, expected: str, atol: float) -> bool:
    given, wanted = out.split(), expected.split()
    return len(given) == len(wanted) and all(
        _close(one, other, atol or TOLERANCE) for one, other in zip(given, wanted, strict=True)
    )


def _unordered_lines(out: str, expected: str, atol: float) -> bool:
    return _counted(out) == _counted(expected)


PRINTED: dict[str, PrintedChecker] = {
    "exact": _exact,
    "lines": _lines,
    "tokens": _tokens,
    "floats": _floats,
    "unordered_lines": _unordered_lines,
}
"""exact: the same text, but for one line feed at its end. lines: the same lines, but for blanks at
their ends and empty lines at the end. tokens: the same words, however they are spaced. floats: the
same words, where numbers may differ by the tolerance, absolute or relative (where a whole number is
expected: absolute). unordered_lines: the same lines of words in any order."""


def _stripped(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _counted(text: str) -> Counter[tuple[str, ...]]:
    return Counter(words for line in text.split("\n") if (words := tuple(line.split())))


def _close(out: str, expected: str, atol: float) -> bool:
    if out == expected:
        return True
    if not (_NUMBER.fullmatch(out) and _NUMBER.fullmatch(expected)):
        return False
    if _WHOLE.fullmatch(out) and _WHOLE.fullmatch(expected):
        return out.lstrip("+") == expected.lstrip("+")
    # Exactly: a float holds no whole number beyond 2 ** 53. The exponents have three digits.
    exact = Context(prec=len(out) + len(expected) + 2 * 10**3)
    wanted, slack = Decimal(expected), Decimal(str(atol))
    if not _WHOLE.fullmatch(expected):
        slack = exact.multiply(slack, max(Decimal(1), wanted.copy_abs()))
    return exact.subtract(Decimal(out), wanted).copy_abs() <= slack


# -- verdict ---------------------------------------------------------------------------------------


Share = Annotated[float, Meta(ge=0, le=1)]


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test of a task, for one program."""

    __test__ = False  # not a test class of pytest

    passed: bool
    reason: str = ""
    """Reason that it is not passed, in one line: what the program did, never what was expected of
    it; "" where it is passed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A program's grade by the tests of a task."""

    passed: bool
    """It passes all of them, and there is one."""
    reward: Share
    """1.0 or 0.0; with partial credit the share of tests that are passed."""
    tests: tuple[TestResult, ...]
    """One for each test, in the task's order."""
    reason: str = ""
    """That of the first test that is not passed."""
    cpu_seconds: Annotated[float, Meta(ge=0)] = 0.0
    """CPU seconds of the processes that ran the program."""

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)


def verdict(results: Sequence[TestResult], *, partial: bool, cpu_seconds: float) -> Verdict:
    """The verdict that the results of all tests make."""
    count = sum(result.passed for result in results)
    passed = 0 < count == len(results)
    share = count / len(results) if results else 0.0
    reason = next((result.reason for result in results if not result.passed), "")
    if not results:
        reason = "no test was run"
    reward = share if partial else float(passed)
    return Verdict(passed, reward, tuple(results), reason, cpu_seconds)


MOST_OUTPUT = 1 << 20
"""Bytes of an output of which it is not known how large the right one is."""
_SLACK, _LARGER = 8192, 16
"""Bytes of an output, and how many times those of the largest that is expected, from which on it is
wrong whatever it holds. To read millions of values would cost this side seconds, each time."""
_SMALL = 1 << 19
"""Bytes that are read in a few milliseconds."""
_FEW = 64
Kind = Literal["calls", "stdio", "asserts"]


@dataclass(frozen=True)
class Test:
    """One test: a call with what it must return or raise, or an input with what must be printed."""

    __test__ = False  # not a test class of pytest

    args: tuple[Any, ...] = ()
    """Arguments of the call: plain values (see `refute.sandbox.values`)."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    expected: Any = None
    """Value that the call must return."""
    raises: str | None = None
    """Name of the exception that it must raise, or a subclass of it; `expected` is then ignored."""
    stdin: str = ""
    """Input of a program that reads one."""
    stdout: str | None = None
    """Text that it must print. None: the test is a call."""
    seconds: float | None = None
    """CPU seconds that this test may use; None: the task's."""
    memory: int | None = None
    """Bytes; None: the task's."""


@dataclass(frozen=True)
class Task:
    """The tests that grade a program. Raises `InputError` if its parts do not fit together."""

    entry_point: str = ""
    """Name of the function that is called, `Class.method` of a static method, or `Class().method`
    of a method, called on a new object each time; "" for programs that read an input, and for
    asserts that import what they test."""
    tests: tuple[Test, ...] = ()
    kind: Kind = "calls"
    source: str = ""
    """The file of asserts: plain ones, ``def check(candidate)`` or functions named ``test_...``."""
    id: str = ""
    atol: float = 0.0
    """Absolute tolerance for floats (see `refute.sandbox.equality`)."""
    checker: str | None = None
    """Comparison of outputs where equality is not the rule: a name in `equality.CHECKERS` for
    calls, in `printed.PRINTED` for what is printed (there None is "tokens")."""
    seconds: float = 2.0
    """CPU seconds that a test may use. One that sleeps is stopped after twice as long and one."""
    memory: int = 1 << 30
    """Bytes that the program may use."""
    run_seconds: float = 60.0
    """Seconds of elapsed time for all tests of a program; the rest of them are not passed."""

    def __post_init__(self) -> None:
        if flaw := _flaw(self):
            raise InputError(f"task {self.id}: {flaw}" if self.id else f"task: {flaw}")

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The calls of the tests."""
        return tuple(Call(test.args, test.kwargs) for test in self.tests)

    @cached_property
    def expected(self) -> tuple[Expected, ...]:
        """Return the required outcome of each call, ready to compare."""
        return tuple(
            expect(t.expected, atol=self.atol, checker=self.checker, args=t.args, raises=t.raises)
            for t in self.tests
        )

    @cached_property
    def asked(self) -> dict[int, Any]:
        """Calls that each test of the file of asserts made on programs that passed it."""
        return {}

    @cached_property
    def limits(self) -> tuple[Limits, ...]:
        """Return the limits of each test."""
        most = Limits().output
        if self.kind == "calls":
            most = min(most, _SLACK + _LARGER * max(len(right.data) for right in self.expected))
        pairs = [(test.seconds or self.seconds, test.memory or self.memory) for test in self.tests]
        made = {pair: Limits(cpu=pair[0], memory=pair[1], output=most) for pair in set(pairs)}
        return tuple(made[pair] for pair in pairs)

    @cached_property
    def is_small(self) -> bool:
        """Return whether all that programs may return, and what they are given, is read in no time:
        then an event loop does it itself."""
        if self.kind != "calls" or len(self.tests) > _FEW:
            return False
        given = sum(len(right.data) for right in self.expected)
        return given + sum(limits.output for limits in self.limits) <= _SMALL

    @classmethod
    def of_dataset(
        cls, name: str, problem: str, *, data: Path | str | None = None, box: Sandbox | None = None
    ) -> Task:
        """The private tests of a problem of a dataset: "humaneval+", "HumanEval/3".

        `data`, and the names of datasets: see `datasets.load`. Outputs that the dataset does
        not state are what its reference returns in `box`. Raises `DatasetError` and
        `SandboxUnavailable`.
        """
        return next(cls.all_of_dataset(name, data=data, ids=[problem], box=box))

    @classmethod
    def all_of_dataset(
        cls,
        name: str,
        *,
        data: Path | str | None = None,
        ids: Collection[str] | None = None,
        limit: int | None = None,
        box: Sandbox | None = None,
    ) -> Iterator[Task]:
        """As `of_dataset`, for all problems, in the order of the file, or some."""
        items = load(name, data=data, ids=ids, limit=limit)
        own = LocalSandbox() if box is None else None
        try:
            for item in items:
                truth = expected_outputs(item.key, box or own or LocalSandbox())
                tests = tuple(
                    Test(call.args, expected=one.value, seconds=limits.cpu, memory=limits.memory)
                    for call, one, limits in zip(
                        truth.calls, truth.expected, truth.limits, strict=True
                    )
                )
                key = item.key
                yield cls(key.entry_point, tests, id=key.id, atol=key.atol, checker=key.checker)
        finally:
            if own is not None:
                own.close()

    @classmethod
    def from_json(cls, data: Any) -> Task:
        """A task from a JSON text or its value, as `to_json` gives it. Raises `InputError`."""
        try:
            given = parse_json(data) if isinstance(data, str | bytes) else data
            read = msgspec.convert(given, TaskData)
            tests = tuple(_test(one, f"$.tests[{index}]") for index, one in enumerate(read.tests))
        except ValueError as error:  # msgspec's are
            raise InputError(f"task: {' '.join(str(error).split())}") from None
        given = {name: getattr(read, name) for name in TaskData.__struct_fields__}
        return cls(**{**given, "tests": tests, "kind": read.kind or _kind(read)})

    def to_json(self) -> dict[str, Any]:
        """As data for JSON; `from_json` gives an equal task. Raises `InputError` for a value that
        has no Python source."""
        data = {**_told(self), "kind": self.kind}
        if self.tests:
            data["tests"] = [_test_data(test) for test in self.tests]
        return data


def _flaw(task: Task) -> str:
    if task.kind not in ("calls", "stdio", "asserts"):
        return f"kind {task.kind!r} is none of calls, stdio, asserts"
    known: Collection[str] = PRINTED if task.kind == "stdio" else CHECKERS
    if task.kind == "asserts":
        if not task.source:
            return "a task of asserts needs their `source`"
        if task.tests or task.checker is not None:
            return "a task of asserts has no other tests, and no checker"
    elif task.source:
        return f"`source` is for a task of asserts, not of {task.kind}"
    elif not task.tests:
        return "no tests"
    if task.kind == "calls" and not task.entry_point:
        return "calls need the name of the function, `entry_point`"
    if task.checker is not None and task.checker not in known:
        return f"checker {task.checker!r} is none of {', '.join(known)}"
    for number, test in enumerate(task.tests):
        if (test.stdout is None) == (task.kind == "stdio"):
            return f"test {number}: {'needs' if task.kind == 'stdio' else 'has'} a `stdout`"
        if task.kind == "calls" and not values.crosses((test.args, dict(test.kwargs))):
            return f"test {number}: an argument is not a plain value"
        if not _positive(test.seconds) or not _positive(test.memory):
            return f"test {number}: limits must be positive numbers"
    if not all(map(_positive, (task.seconds, task.memory, task.run_seconds))):
        return "limits must be positive numbers"
    if not 0 <= task.atol < math.inf:
        return "`atol` must be a number that is not negative"
    return ""


def _positive(limit: float | None) -> bool:
    return limit is None or 0 < limit < 1 << 60


# -- JSON ------------------------------------------------------------------------------------------


Seconds = Annotated[float, Meta(gt=0)]
Memory = Annotated[int, Meta(gt=0)]


class TestData(msgspec.Struct, forbid_unknown_fields=True):
    """A `Test` as JSON."""

    __test__ = False  # not a test class of pytest

    args: Any = ()
    kwargs: dict[str, Any] = {}
    expected: Any = None
    raises: str | None = None
    stdin: str = ""
    stdout: str | None = None
    seconds: Seconds | None = None
    memory: Memory | None = None


class Demands(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The called function, the comparison of outputs, and a program's limits."""

    entry_point: str = ""
    atol: Annotated[float, Meta(ge=0)] = 0.0
    checker: str | None = None
    seconds: Seconds = 2.0
    memory: Memory = 1 << 30


class TaskData(Demands, forbid_unknown_fields=True, kw_only=True):
    """A `Task` as JSON."""

    tests: list[TestData] = []
    kind: Kind | None = None
    source: str = ""
    id: str = ""
    run_seconds: Annotated[float, Meta(gt=0)] = 60.0


def _kind(read: TaskData) -> Kind:
    """The kind where it is not named."""
    if read.source:
        return "asserts"
    return "stdio" if read.tests and read.tests[0].stdout is not None else "calls"


def _test(read: TestData, place: str) -> Test:
    args = _value(read.args, f"{place}.args")
    if type(args) not in (list, tuple):
        raise ValueError(f"expected a list of arguments - at `{place}.args`")
    return Test(
        args=tuple(_value(arg, f"{place}.args[{index}]") for index, arg in enumerate(args)),
        kwargs={name: _value(v, f"{place}.kwargs.{name}") for name, v in read.kwargs.items()},
        expected=_value(read.expected, f"{place}.expected"),
        raises=read.raises,
        stdin=read.stdin,
        stdout=read.stdout,
        seconds=read.seconds,
        memory=read.memory,
    )


_SOURCE = "$python"
"""The only key of an object that stands for a value of Python, written as its source."""


def _value(data: Any, place: str) -> Any:
    if type(data) is not dict or set(data) != {_SOURCE}:
        return data
    try:
        return parse_literal(data[_SOURCE])
    except (NotLiteral, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"{' '.join(str(error).split())} - at `{place}`") from None


def _told(record: Task | Test) -> dict[str, Any]:
    """The fields that JSON holds as they are, where they are not the default."""
    names = [one for one in fields(record) if one.name not in _WITH_VALUES]
    pairs = ((one, getattr(record, one.name)) for one in names)
    return {one.name: value for one, value in pairs if value != one.default}


_WITH_VALUES = ("args", "kwargs", "expected", "tests")


def _test_data(test: Test) -> dict[str, Any]:
    data = _told(test)
    if test.stdout is not None:
        return data
    data["args"] = list(map(_data, test.args))
    if test.kwargs:
        data["kwargs"] = {name: _data(value) for name, value in test.kwargs.items()}
    if test.raises is None:
        data["expected"] = _data(test.expected)
    return data


def _data(value: Any) -> Any:
    """A value for JSON: as it is where JSON gives it back as it was."""
    if _is_json(value):
        return value
    try:
        return {_SOURCE: source_of(value)}
    except NotLiteral as error:
        raise InputError(f"task: {error}") from None


def _is_json(value: Any) -> bool:
    kind = type(value)
    if kind is list:
        return all(map(_is_json, value))
    if kind is dict:
        return set(value) != {_SOURCE} and all(
            type(key) is str and _is_json(item) for key, item in value.items()
        )
    if kind is float:
        return math.isfinite(value)
    return value is None or kind in (bool, int, str)
