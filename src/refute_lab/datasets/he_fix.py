"""HE-Fix (UTGen, section 4): HumanEvalFix's faulty code, graded by HumanEval+'s private tests.

Rows are those of the Python part of ``humanevalpack*``, joined with HumanEval+ by number. The code
under test is ``prompt + buggy_solution``, whole, with its docstring; the reference and the private
tests are EvalPlus's. `description` is the docstring of the entry point with its doctests.

The paper keeps the 158 of 164 problems whose tests can be extracted. The rule, which gives exactly
158: EvalPlus's ``-OriginFmt`` file holds the results as a literal list. In the other six
(HumanEval/14, 15, 83, 100, 130, 139) the outputs are too large to be written out, and the field
``test`` calls a copy of the reference in their place. Where the ``-OriginFmt`` file is at hand the
rule is applied to it; where it is not, to the numbers of those six.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from refute.core.problems import FunctionProblem
from refute.errors import DatasetError
from refute_lab.datasets import humaneval_plus
from refute_lab.datasets.originfmt import is_extractable
from refute_lab.datasets.rows import Row, find_file, hub_rows, read_rows
from refute_lab.datasets.spec import (
    DatasetSpec,
    Item,
    Keep,
    LoaderOptions,
    SourceProblem,
    docstring_of,
    evaluated,
    rows_at,
    signature_of,
)

STARTS = ("humanevalpack-python", "humanevalpack_python", "humanevalpack")
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
        file = find_file(path, *STARTS)
        if file is None:
            raise DatasetError(f"{path}: {name} needs {STARTS[-1]}*.jsonl[.gz] there")
        path, directory = file, file.parent
    own = rows_at(name, path, STARTS)  # before the rows of HumanEval+: an error names what is asked
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
    plain = find_file(directory, *humaneval_plus.STARTS, without=("OriginFmt",))
    origin = find_file(directory, "HumanEvalPlus-OriginFmt")
    if plain is None and origin is None:
        raise DatasetError(f"{directory}: he-fix needs HumanEvalPlus*.jsonl[.gz] there as well")
    left_out = humaneval_plus.NOT_EXTRACTABLE
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
    key = humaneval_plus.key(plus)
    prompt = row.text("prompt")
    name = row.text("entry_point")
    if name != key.entry_point:
        raise row.error("entry_point", f"is {name}, in HumanEval+ it is {key.entry_point}")
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
    return Item(problem, replace(key, id=problem.id))


HE_FIX = DatasetSpec(
    name="he-fix",
    summary="HumanEval programs with a fault that a person put in (HumanEvalFix)",
    items=items,
    starts=STARTS,
)
HE_FIX_RELEASED = DatasetSpec(
    name="he-fix-released",
    summary="the same as UTGen's released scripts read it: bodies that do not compile",
    items=bodies,
)
