"""`--tests PATH`: unit tests that the user gives: pytest files, JSONL, or our own JSON."""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from refute.core.files import parse_json, read_file
from refute.core.problems import DoctestSession, Expression, Invocation, UnitTest, Want
from refute.errors import InputError
from refute.function.called_as import called_as
from refute.function.examples.subject import crosses
from refute.function.formatting import NO_EXCEPTION, NO_OUTPUT
from refute.function.project import surroundings
from refute.function.project_tests import FolderTests
from refute.function.target import Module, is_predicate
from refute.source.literals import NotLiteral, parse_literal, read_call
from refute.source.syntax import parse_expression

_LARGEST = 16 << 20
_DESCRIPTION = 1 << 20
_ENOUGH = 400
"""Tests of one function, after which no other file of a folder is read for it."""
_FIELDS = ("expected", "expected_repr", "raises")


@dataclass(frozen=True, slots=True)
class GivenTests:
    """The tests of one function, and one line for each check that was not understood."""

    tests: tuple[UnitTest, ...]
    skipped: tuple[str, ...] = ()
    found: frozenset[str] = frozenset()
    """Where the tests stand that are the function's: of a test file its test functions."""
    read: frozenset[str] = frozenset()
    """Those of them that were read."""


def read_tests(
    path: Path, entry_point: str, *, module: str = "", predicate: bool = False
) -> GivenTests:
    """Read the unit tests of `entry_point` from a file; tests of other functions are passed over.

    A `.py` file is read as pytest or unittest source (`refute.function.pytest_reader`); nothing of
    it is executed. Any other file holds one JSON object a line, with `call` (Python source) and one
    of `expected` (a JSON value), `expected_repr` (a Python literal), `raises` (an exception's
    name); or it is one document that `refute hunt --json` or `refute debug --json` printed.

    `module` and `predicate` as in `read_pytests`. Raises `InputError`: one line with file and line.
    """
    try:
        text = read_file(path, limit=_LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text: {error.reason}") from None
    if path.suffix != ".py":
        return _crossing(path, list(_read_json(path, text, entry_point)))
    from refute.function.pytest_reader import Checks, read_pytests
    from refute.function.testmodule import whole_tests

    try:
        name = str(path)
        reading = Checks()
        if not called_as(entry_point).method:  # a check that stands alone lacks the object
            reading = read_pytests(text, name, entry_point, module=module, predicate=predicate)
        package = surroundings(path).name.rpartition(".")[0]
        wholes, odd = whole_tests(text, entry_point, package=package)
    except (SyntaxError, ValueError, RecursionError) as error:
        lineno = getattr(error, "lineno", None)
        line = f":{lineno}" if lineno else ""
        raise InputError(f"{path}{line}: not Python: {error}") from None
    whole = [
        UnitTest(one.session, Want(None), source=f"{name}:{one.first}", span=(one.first, one.last))
        for one in wholes
    ]
    covered = {line for one in wholes for line in range(one.first, one.last + 1)}
    left_out = {line for first, last, _ in odd for line in range(first, last + 1)}
    # what is not held against its test, as it runs, may call anything of that name
    checks = [test for test in reading.tests if test.span is not None and test.span[0] in covered]
    skipped = [x for x in reading.skipped if _line_of(x) not in covered | left_out]
    skipped += [f"{name}:{first}: not read: {reason}" for first, _, reason in odd]
    given = _crossing(path, (*checks, *whole), skipped)
    read = frozenset(test.source for test in whole)
    found = read | {f"{name}:{first}" for first, _, _ in odd}
    return replace(given, found=found, read=read)


def _line_of(remark: str) -> int:
    """The line in "FILE:LINE: not read: ..."."""
    return int(remark.partition(": not read")[0].rpartition(":")[2])


def _crossing(path: Path, tests: Sequence[UnitTest], skipped: Sequence[str] = ()) -> GivenTests:
    """The tests that the sandbox can run and judge; the others are lines of `skipped`."""
    kept, lines = [], list(skipped)
    places = frozenset(test.source for test in tests)
    for test in tests:
        if crosses(test):
            kept.append(test)
        else:
            lines.append(f"{test.source or path}: a value that cannot cross into the sandbox")
    return GivenTests(tuple(kept), tuple(lines), places, frozenset(test.source for test in kept))


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
        raise InputError(f'{where}: field call: Python source such as "f(1, 2)" is wanted')
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


# -- of a whole module -----------------------------------------------------------------------------


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


@dataclass(frozen=True, slots=True)
class ModuleTests:
    """The given tests of each function of a module, and a line for each that was not understood."""

    tests: dict[str, tuple[UnitTest, ...]] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    found: frozenset[str] = frozenset()
    """Where the tests of the functions stand."""
    read: frozenset[str] = frozenset()
    """Those that were read."""


def read_given(module: Module, path: Path | None, folder: FolderTests | None = None) -> ModuleTests:
    """The given tests of each function: those of a file, or of a folder's test files.

    `folder`: the words of the folder's files, where `path` is one and they are known.
    A line is in `skipped` where there is no test of any of the functions. Raises `InputError` for
    a folder without files of tests, and for JSON: who writes values down names what they are of.
    """
    if path is None:
        return ModuleTests()
    if folder is None and path.is_dir():
        folder = FolderTests.of(path)
    found: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()
    tests: dict[str, tuple[UnitTest, ...]] = {}
    skipped: dict[str, None] = {}
    for name in module.functions:
        predicate = is_predicate(module, name)
        tests[name] = ()
        for file in [path] if folder is None else folder.naming(name, module.source.path.stem):
            if folder is not None and len(tests[name]) >= _ENOUGH:
                skipped[f"{name}: has {len(tests[name])} tests; not read: {file} and later"] = None
                break
            try:
                given = read_tests(file, name, module=module.surroundings.name, predicate=predicate)
            except InputError as error:
                if folder is None:
                    raise
                skipped[str(error)] = None
                continue
            tests[name] += given.tests
            found, read = found | given.found, read | given.read
            skipped.update(dict.fromkeys(given.skipped))
    if not any(tests.values()):
        skipped.setdefault(f"{path}: holds no test of {', '.join(module.functions)}")
        if path.suffix != ".py" if folder is None else not folder.words:
            raise InputError(next(iter(skipped)))
    return ModuleTests(tests, tuple(skipped), found, read)
