"""HumanEval+ (EvalPlus): 164 functions with their docstrings, about 124,000 private inputs.

The code under test is the canonical solution, which is also the reference: `bench --method none`
must find nothing wrong with it. Put samples in its place with `item.with_code`.

Two forms of file are read. The plain one (``HumanEvalPlus*.jsonl``) has JSON inputs and no
outputs, which are then what the reference returns (`FunctionKey.expected` is None). The
``-OriginFmt`` one holds inputs and outputs as Python source, without the contract, and without the
repeated inputs. Plain is preferred where both are there: it reads six times as fast.

`description` is the docstring of the entry point with its doctests, as the dataset shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from refute.core.problems import FunctionKey, FunctionProblem
from refute.errors import DatasetError
from refute_lab.datasets.originfmt import is_extractable, is_in, test_code
from refute_lab.datasets.rows import (
    DatasetSpec,
    Item,
    Keep,
    LoaderOptions,
    Row,
    SourceProblem,
    docstring_of,
    evaluated,
    find_file,
    from_rows,
    hub_rows,
    read_rows,
    rows_at,
    signature_of,
)

STARTS = ("HumanEvalPlus",)
"""How the names of its files begin."""
NOT_EXTRACTABLE = frozenset({14, 15, 83, 100, 130, 139})
"""Numbers of the problems that UTGen leaves out (`originfmt.is_extractable`)."""
CHECKERS = {"find_zero": "polynomial_root"}
"""Entry point -> checker, as in EvalPlus's `unsafe_execute` (dataset ``humaneval``)."""


def item(row: Row, options: LoaderOptions) -> Item:
    """One row as problem and key. Raises `DatasetError`."""
    answer = key(row)
    try:
        description = docstring_of(row.text("prompt"), answer.entry_point)
        signature = signature_of(answer.reference, answer.entry_point)
    except SourceProblem as e:
        raise row.error("prompt", str(e)) from None
    problem = FunctionProblem(
        id=answer.id,
        description=description,
        signature=signature,
        entry_point=answer.entry_point,
        code=answer.reference,
    )
    return Item(problem, answer)


def key(row: Row) -> FunctionKey:
    """The answer key of one row, of either form. Raises `DatasetError`."""
    name = row.text("entry_point")
    reference = row.text("prompt") + row.text("canonical_solution")
    common: dict[str, Any] = {
        "id": row.id("task_id"),
        "entry_point": name,
        "reference": reference,
    }
    if "base_input" in row.fields:
        return FunctionKey(
            **common,
            inputs=arguments(row, "base_input") + arguments(row, "plus_input"),
            atol=row.number("atol", 0.0),
            checker=CHECKERS.get(name),
            contract=row.optional_text("contract"),
        )
    code = test_code(row)
    return FunctionKey(
        **common, inputs=code.inputs, expected=code.expected, atol=code.atol, checker=code.checker
    )


def arguments(row: Row, field: str) -> tuple[tuple[Any, ...], ...]:
    """A field that holds a list of argument lists; MBPP+ writes an empty one as ``{}``."""
    if row.fields.get(field) == {}:
        return ()
    inputs = row.items(field)
    for number, args in enumerate(inputs):
        if type(args) is not list:
            raise row.error(field, f"input {number} must be a list of arguments")
    return tuple(map(tuple, inputs))


HUMANEVAL_PLUS = DatasetSpec(
    name="humaneval+",
    summary="HumanEval with EvalPlus's tests: 164 functions to write",
    items=from_rows(
        "humaneval+", STARTS, item, avoid=("OriginFmt",), admits=is_in(NOT_EXTRACTABLE)
    ),
    starts=STARTS,
)


# -- he fix ----------------------------------------------------------------------------------------


STARTS_FIX = ("humanevalpack-python", "humanevalpack_python", "humanevalpack")
"""How the names of its files begin."""


def items(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[Item]:
    """The problems of the rows that HE-Fix keeps, in order. Raises `DatasetError`.

    The files of HumanEval+ lie beside its own; None: both are on the hub.
    """
    options = replace(options, subset="extractable")
    return _rows("he-fix", path, options, keep, whole=True)


def bodies(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[Item]:
    """HE-Fix as UTGen's released scripts have it: the code under test is the field
    ``buggy_solution`` alone, an indented body that does not compile. All 164 rows, unless
    `options.subset` says otherwise; always by the released code's rules. Raises `DatasetError`.
    """
    options = replace(options, evaluation="paper")
    for one in _rows("he-fix-released", path, options, keep, whole=False):
        yield evaluated(one, "paper")


def _rows(
    name: str, path: Path | None, options: LoaderOptions, keep: Keep, *, whole: bool
) -> Iterator[Item]:
    directory = None
    if path is not None:
        file = find_file(path, *STARTS_FIX)
        if file is None:
            raise DatasetError(f"{path}: {name} needs {STARTS_FIX[-1]}*.jsonl[.gz] there")
        path, directory = file, file.parent
    own = rows_at(
        name, path, STARTS_FIX
    )  # before the rows of HumanEval+: an error names what is asked
    keys, left_out = _humaneval_plus(directory)
    for row in filter(keep, own):
        number = _number(row)
        if number in left_out and options.subset == "extractable":
            continue
        if number not in keys:
            raise row.error("task_id", f"HumanEval+ has no problem {number}")
        with row.reading():
            item = _item(row, keys[number], options, whole=whole)
        yield item


def _humaneval_plus(directory: Path | None) -> tuple[Mapping[int, Row], frozenset[int]]:
    """The rows of HumanEval+ by number, and the numbers that are left out."""
    if directory is None:
        rows = {_number(row): row for row in hub_rows("humaneval+")}
        return rows, _left_out(rows)
    plain = find_file(directory, *STARTS, without=("OriginFmt",))
    origin = find_file(directory, "HumanEvalPlus-OriginFmt")
    if plain is None and origin is None:
        raise DatasetError(f"{directory}: he-fix needs HumanEvalPlus*.jsonl[.gz] there as well")
    left_out = NOT_EXTRACTABLE
    rows = {}
    if origin is not None:
        rows = {_number(row): row for row in read_rows(origin)}
        left_out = _left_out(rows)
    if plain is not None:
        rows = {_number(row): row for row in read_rows(plain)}
    return rows, left_out


def _left_out(rows: Mapping[int, Row]) -> frozenset[int]:
    return frozenset(n for n, row in rows.items() if not is_extractable(row.text("test")))


def _number(row: Row) -> int:
    tail = row.id("task_id").rpartition("/")[2]
    if not tail.isdecimal():
        raise row.error("task_id", "must end in a number, such as Python/7")
    return int(tail)


def _item(row: Row, plus: Row, options: LoaderOptions, *, whole: bool) -> Item:
    of_plus = key(plus)
    prompt = row.text("prompt")
    name = row.text("entry_point")
    if name != of_plus.entry_point:
        raise row.error("entry_point", f"is {name}, in HumanEval+ it is {of_plus.entry_point}")
    code = (prompt if whole else "") + row.text("buggy_solution")
    try:
        docstring = docstring_of(prompt, name)
        description = docstring if options.evaluation == "evalplus" else prompt.strip()
        signature = row.optional_text("signature") or signature_of(prompt, name)
    except SourceProblem as e:
        raise row.error("prompt", str(e)) from None
    problem = FunctionProblem(
        id=row.id("task_id"),
        description=description,
        signature=signature,
        entry_point=name,
        code=code,
    )
    return Item(problem, replace(of_plus, id=problem.id))


HE_FIX = DatasetSpec(
    name="he-fix",
    summary="HumanEval programs with a fault that a person put in (HumanEvalFix)",
    items=items,
    starts=STARTS_FIX,
)
HE_FIX_RELEASED = DatasetSpec(
    name="he-fix-released",
    summary="the same as UTGen's released scripts read it: bodies that do not compile",
    items=bodies,
)
