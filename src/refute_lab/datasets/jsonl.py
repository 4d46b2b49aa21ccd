"""Any JSONL file of problems of your own: one JSON object a line (or one JSON list), plain or gzip.

| field | | |
|---|---|---|
| ``id`` or ``task_id`` | needed | a string or a number |
| ``entry_point`` | needed | the function's name |
| ``code`` | needed | source of a whole module: the code under test |
| ``description`` or ``prompt`` | | what the function should do; absent: the docstring in `code` |
| ``signature`` | | read from `code` when absent |
| ``tests`` or ``test_list`` | | visible unit tests, as assert strings; always given |
| ``test_imports`` | | import statements that the asserts need |
| ``reference`` or ``canonical_solution`` | (1) | source of a whole module that is right |
| ``inputs`` | (2) | private inputs: a list of lists of arguments |
| ``expected`` | (1) | expected output of each input; absent: what the reference returns |
| ``test`` | (2) | private tests as EvalPlus's ``-OriginFmt`` source, in place of the two |
| ``atol`` | | absolute tolerance for floats, 0 when absent |
| ``checker`` | | a name in `refute.sandbox.equality.CHECKERS` |
| ``contract`` | | statements that raise on invalid arguments |

(1) at least one of the two. (2) one of the two. ``inputs`` and ``expected`` may also be one string
each that holds a Python list literal, for what JSON cannot say: ``"[((1, 2), {3}), ...]"``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from refute.core.problems import FunctionKey, FunctionProblem, UnitTest
from refute.errors import DatasetError
from refute.sandbox.equality import CHECKERS
from refute.source.literals import NotLiteral
from refute_lab.datasets.originfmt import parse, read_asserts, test_code
from refute_lab.datasets.rows import (
    DatasetSpec,
    Item,
    Keep,
    LoaderOptions,
    Row,
    SourceProblem,
    docstring_of,
    made,
    read_rows,
    signature_of,
)


def item(row: Row, options: LoaderOptions) -> Item:
    """One row as problem and key. Raises `DatasetError`."""
    identity = row.id("id", "task_id")
    name = row.text("entry_point")
    code = row.text("code")
    try:
        signature = row.optional_text("signature") or signature_of(code, name)
        if "description" in row.fields or "prompt" in row.fields:
            description = row.text("description", "prompt").strip()
        else:
            description = docstring_of(code, name)
    except SourceProblem as e:
        raise row.error("code", str(e)) from None
    problem = FunctionProblem(
        id=identity,
        description=description,
        signature=signature,
        entry_point=name,
        code=code,
        tests=_tests(row, name),
    )
    return Item(problem, _key(row, identity, name))


def _tests(row: Row, name: str) -> tuple[UnitTest, ...]:
    field = "tests" if "tests" in row.fields else "test_list"
    imports = row.texts("test_imports")
    return read_asserts(row, field, row.texts(field), name, imports=imports)


def _key(row: Row, identity: str, name: str) -> FunctionKey:
    atol, checker = row.number("atol", 0.0), row.optional_text("checker")
    if checker is not None and checker not in CHECKERS:
        raise row.error("checker", f"unknown: {checker}; one of {', '.join(sorted(CHECKERS))}")
    if "inputs" in row.fields:
        inputs = tuple(map(tuple, _argument_lists(row)))
        expected = None if row.fields.get("expected") is None else tuple(_list(row, "expected"))
    else:
        code = test_code(row)
        inputs, expected = code.inputs, code.expected
        atol, checker = code.atol or atol, code.checker or checker
    if expected is not None and len(expected) != len(inputs):
        raise row.error("expected", f"{len(expected)} outputs for {len(inputs)} inputs")
    reference = row.optional_text("reference") or row.optional_text("canonical_solution")
    if reference is None and expected is None:
        raise row.error("reference", "missing, and so is the field 'expected'")
    return FunctionKey(
        id=identity,
        entry_point=name,
        reference=reference or "",
        inputs=inputs,
        expected=expected,
        atol=atol,
        checker=checker,
        contract=row.optional_text("contract"),
    )


def _argument_lists(row: Row) -> list[Any]:
    inputs = _list(row, "inputs")
    for number, args in enumerate(inputs):
        if not isinstance(args, list | tuple):
            raise row.error("inputs", f"input {number} must be a list of arguments")
    return inputs


def _list(row: Row, field: str) -> list[Any]:
    if not isinstance(row.fields[field], str):
        return row.items(field)
    try:
        value = parse(row.text(field))
    except NotLiteral as e:
        raise row.error(field, str(e)) from None
    if not isinstance(value, list | tuple):
        raise row.error(field, "must be a list")
    return list(value)


def _items(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[Item]:
    if path is None or not path.is_file():
        raise DatasetError("jsonl: give the file with --data FILE")
    return made(filter(keep, read_rows(path)), lambda row: item(row, options))


JSONL = DatasetSpec(name="jsonl", summary="a JSONL file of functions of your own", items=_items)
