"""`--tests FILE.jsonl`: unit tests that the user gives as values: JSONL, or our own JSON."""

from __future__ import annotations

import ast
import doctest
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from refute.core.problems import (
    DoctestSession,
    Expression,
    FunctionProblem,
    Invocation,
    UnitTest,
    Want,
)
from refute.core.remarks import remark
from refute.core.storage import parse_json, read_file
from refute.errors import InputError
from refute.function.examples.subject import called_as, crosses
from refute.function.formatting import NO_EXCEPTION, NO_OUTPUT
from refute.function.target import Module
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Sandbox
from refute.sandbox.equality import expect_test, matches, without_addresses
from refute.source.literals import NotLiteral, parse_literal, read_call
from refute.source.syntax import parse_expression

_LARGEST = 16 << 20
_DESCRIPTION = 1 << 20
_FIELDS = ("expected", "expected_repr", "raises")


def read_tests(path: Path, entry_point: str) -> tuple[UnitTest, ...]:
    """Read the unit tests of `entry_point` from a file; tests of other functions are passed over.

    The file holds one JSON object a line, with `call` (Python source) and one of `expected` (a JSON
    value), `expected_repr` (a Python literal), `raises` (an exception's name); or it is one
    document that `refute hunt --json` or `refute debug --json` printed. Values that cannot cross
    into the sandbox are left out, and a line says so. Raises `InputError`: one line with file and
    line.
    """
    try:
        text = read_file(path, limit=_LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason}") from None
    tests = tuple(_read_json(path, text, entry_point))
    remark(
        f"{test.source or path}: a value that cannot cross into the sandbox"
        for test in tests
        if not crosses(test)
    )
    return tuple(filter(crosses, tests))


def read_given(module: Module, path: Path) -> dict[str, tuple[UnitTest, ...]]:
    """The tests that a JSON file gives of each function. Raises `InputError`, also where it holds
    none of any of them."""
    tests = {name: read_tests(path, name) for name in module.functions}
    if not any(tests.values()):
        raise InputError(f"{path}: holds no test of {', '.join(module.functions)}")
    return tests


def parse_invocation(text: str, entry_point: str) -> Invocation | None:
    """`f(1, [2])` as a call with values, other source as an expression.

    None when the source does not mention the function. Raises SyntaxError.
    """
    node = parse_expression(text.strip())
    about = called_as(entry_point)
    if not any(
        (isinstance(n, ast.Name) and n.id in about.names)
        or (about.method and isinstance(n, ast.Attribute) and n.attr == about.attribute)
        for n in ast.walk(node)
    ):
        return None
    try:
        return read_call(node, entry_point)
    except NotLiteral:
        return Expression(text.strip())


def _read_json(path: Path, text: str, entry_point: str) -> Iterator[UnitTest]:
    document = _document(text)
    if document is not None:
        for at, row in enumerate(_tests_of(document, entry_point), 1):
            yield from _test_of_document(row, f"{path}: test {at}", entry_point)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            row = parse_json(line)
        except ValueError as error:
            raise InputError(f"{where}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f"{where}: must be a JSON object with call and expected")
        yield from _test(row, where, entry_point)


def _document(text: str) -> dict[str, Any] | None:
    """The whole text as one document that this program printed, if it is one."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    known = isinstance(value, dict) and ("tests" in value or "functions" in value)
    return value if known else None


def _tests_of(document: dict[str, Any], entry_point: str) -> Iterator[Any]:
    parts = document.get("functions", [document])
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and part.get("function") in (None, entry_point):
            tests = part.get("tests")
            yield from tests if isinstance(tests, list) else []


def _test_of_document(row: Any, where: str, entry_point: str) -> Iterator[UnitTest]:
    """A test that we printed: `expected` is Python source, or "raises NAME"; null: no oracle."""
    if not isinstance(row, dict) or not isinstance(row.get("expected"), str | None):
        raise InputError(f"{where}: not a test that refute printed")
    expected = row.get("expected")
    if expected is None:
        return
    if str(row.get("call")).startswith(">>> "):
        yield from _session(row["call"], expected, where)
        return
    verb, _, name = expected.partition(" ")
    answer = {"raises": name} if verb == "raises" and name else {"expected_repr": expected}
    yield from _test({"call": row.get("call"), **answer}, where, entry_point)


def _session(source: str, expected: str, where: str) -> Iterator[UnitTest]:
    """A session with what it must show, as `show.call_source` and `expected_source` write them."""
    if expected.startswith("raises "):
        shown = f"Traceback (most recent call last):\n    ...\n{expected.removeprefix('raises ')}"
    else:
        shown = "" if expected in (NO_OUTPUT, NO_EXCEPTION) else expected
    try:
        examples = doctest.DocTestParser().get_examples(f"{source}\n{shown}\n")
    except ValueError as error:
        raise InputError(f"{where}: not doctest examples: {error}") from None
    options = 0
    for flag, on in examples[-1].options.items():
        options |= flag if on else 0
    text = None if expected == NO_EXCEPTION else examples[-1].want
    want = Want(text, examples[-1].exc_msg, options)
    yield UnitTest(DoctestSession(tuple(one.source for one in examples)), want, source=where)


def _test(row: dict[str, Any], where: str, entry_point: str) -> Iterator[UnitTest]:
    source = row.get("call")
    if not isinstance(source, str):
        raise InputError(f'{where}: field call: must be Python source such as "f(1, 2)"')
    given = [name for name in _FIELDS if name in row]
    if len(given) != 1:
        raise InputError(f"{where}: needs one of expected, expected_repr and raises")
    try:
        call = parse_invocation(source, entry_point)
    except SyntaxError:
        raise InputError(f"{where}: field call: not a Python expression: {source[:80]!r}") from None
    answer = row[given[0]]
    if given[0] != "expected" and not isinstance(answer, str):
        raise InputError(f"{where}: field {given[0]}: must be a string")
    if call is None:
        return
    if given[0] == "raises":
        yield UnitTest(call, raises=answer, source=where)
        return
    try:
        value = answer if given[0] == "expected" else parse_literal(answer)
    except NotLiteral as error:
        raise InputError(f"{where}: field expected_repr: {error}") from None
    yield UnitTest(call, value, source=where)


def read_description(path: Path | None) -> str | None:
    """The text of `--description FILE`. Raises `InputError`."""
    if path is None:
        return None
    try:
        return read_file(path, limit=_DESCRIPTION, pipe=True).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text") from None


# -- which are believed ----------------------------------------------------------------------------

_LIMITS = Limits(cpu=1.0, wall=4.0)
ENVIRONMENT = {
    "NameError": "a name of its own is missing",
    "FileNotFoundError": "a file of its own is missing",
    "ImportError": "a package is missing",
    "ModuleNotFoundError": "a package is missing",
    "PermissionError": "the sandbox does not allow what it does",
    "SkipTest": "it is skipped here",
    "Skipped": "it is skipped here",
}
"""Exceptions that say nothing about a function where they do not come out of it."""


def believed(
    problem: FunctionProblem, *, box: Sandbox
) -> tuple[tuple[UnitTest, ...], tuple[str, ...]]:
    """The given tests without those that fail otherwise elsewhere, or for want of something of
    their own, and a line that counts these. Raises `SandboxUnavailable`."""
    tests = problem.tests
    if not tests:
        return (), ()
    program = Program(problem.code, problem.entry_point)
    outcomes = box.run(program, [test.call for test in tests], _LIMITS)
    pairs = zip(tests, outcomes, strict=True)
    failing = [(t, o) for t, o in pairs if not matches(o, expect_test(t))]
    elsewhere = replace(_LIMITS, seed=1, elsewhere=True)
    again = box.run(program, [test.call for test, _ in failing], elsewhere) if failing else []
    unclear: dict[int, str] = {}
    for (test, outcome), other in zip(failing, again, strict=True):
        if isinstance(outcome, NotRun):
            unclear[id(test)] = "there was no time for it"
        elif matches(other, expect_test(test)) or _told(other) != _told(outcome):
            unclear[id(test)] = "it differs from run to run, or from place to place"
        elif _comes_from_test(outcome) and outcome.type in ENVIRONMENT:
            unclear[id(test)] = ENVIRONMENT[outcome.type]
    kept = tuple(test for test in tests if id(test) not in unclear)
    counts = Counter(unclear.values()).most_common()
    told = "; ".join(f"{reason} ({count})" for reason, count in counts)
    note = f"{len(unclear)} of {len(tests)} given tests not understood: {told}"
    return kept, (note,) if unclear else ()


def _comes_from_test(outcome: Outcome) -> TypeGuard[Raised]:
    return isinstance(outcome, Raised) and not outcome.on_import and outcome.line is None


def _told(outcome: Outcome) -> str:
    """Return how a test failed, as far as its outcome says so in words."""
    if isinstance(outcome, Raised):
        return without_addresses(f"{outcome.type}: {outcome.message}")
    return ""
