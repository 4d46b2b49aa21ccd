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

from typing import Any

from refute.core.problems import FunctionKey, FunctionProblem
from refute_lab.datasets.originfmt import is_in, test_code
from refute_lab.datasets.rows import Row
from refute_lab.datasets.spec import (
    DatasetSpec,
    Item,
    LoaderOptions,
    SourceProblem,
    docstring_of,
    from_rows,
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
