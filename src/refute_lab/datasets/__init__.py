"""Benchmarks: one file per dataset, rows in, (problem, key) pairs out.

>>> items = load("he-fix", data=Path("shared/data"), limit=5)
>>> items[0].problem        # what a method may see
>>> items[0].key            # what only a grader may see
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from refute.core.starting import Variable
from refute.errors import DatasetError
from refute_lab.datasets.prompts import prompt_examples
from refute_lab.datasets.rows import (
    DATASETS,
    DatasetSpec,
    Evaluation,
    Item,
    Keep,
    LoaderOptions,
    Row,
    Subset,
    evaluated,
    with_code,
)

if TYPE_CHECKING:
    from refute_lab.datasets.swe import IssueItem

__all__ = ["Item", "function_datasets", "load", "load_dataset", "with_code"]


def load(
    name_or_path: str | Path,
    *,
    data: Path | str | None = None,
    visible_tests: int = 0,
    ids: Collection[str] | None = None,
    limit: int | None = None,
    editor_tests: int = 0,
    evaluation: Evaluation = "evalplus",
    subset: Subset = "all",
) -> list[Item]:
    """The problems of a dataset with their answer keys, in the order of the file.

    `name_or_path`: one of `function_datasets`, or a file; a file with a public name is read as that
    dataset, any other as `jsonl`. `data`: the file, or the directory that holds it; None: the
    environment variable REFUTE_DATA, else the public hub. `visible_tests`: how many visible asserts
    of MBPP to show (the docstrings of HumanEval hold theirs and are shown whole). `ids`: only
    these, by id (``HumanEval/7``) or by the number at its end; each must be there. `limit`: at most
    this many.

    `editor_tests`, `evaluation`, `subset`: see `refute_lab.datasets.rows`.

    Raises `DatasetError`: no data, a malformed row, an unknown id.
    """
    spec, path = _where(str(name_or_path), data)
    options = LoaderOptions(visible_tests, editor_tests, evaluation, subset)
    wanted = None if ids is None else {str(i) for i in ids}
    found: list[Item] = []
    seen: set[str] = set()
    matched: set[str] = set()
    for item in spec.items(path, options, _maybe(wanted)):
        if limit is not None and len(found) >= limit:
            break
        item = _with_examples(_named_once(evaluated(item, options.evaluation), seen))
        if wanted is not None:
            hits = wanted & _names(item.problem.id)
            matched |= hits
            if not hits:
                continue
        found.append(item)
    if wanted is not None and (limit is None or len(found) < limit) and wanted - matched:
        missing = ", ".join(sorted(wanted - matched))
        raise DatasetError(f"{path or spec.name}: no problem with id {missing}")
    return found


def _with_examples(item: Item) -> Item:
    """The item with what its text states: a task's text was written to be met."""
    one = item.problem
    read = prompt_examples(one.description, one.entry_point, code=one.code)
    return replace(item, problem=replace(one, examples=tuple(read)))


def load_dataset(
    name_or_path: str | Path,
    *,
    data: Path | str | None = None,
    visible_tests: int = 0,
    ids: Collection[str] | None = None,
    limit: int | None = None,
) -> Sequence[Item | IssueItem]:
    """The items of a dataset of functions (`load`) or of issues (`refute_lab.datasets.swe`).

    Each has a `problem`, which a method may see, and a `key`, which only a grader may see.
    `refute datasets` lists the names. Raises `DatasetError`.
    """
    from refute_lab.datasets.swe import holds_issues, load_issues

    if holds_issues(str(name_or_path)):
        return load_issues(name_or_path, data=data, ids=ids, limit=limit)
    return load(name_or_path, data=data, visible_tests=visible_tests, ids=ids, limit=limit)


def _where(name: str, data: Path | str | None) -> tuple[DatasetSpec[Item], Path | None]:
    """The dataset, and the file or directory to read, None for the hub."""
    specs = function_datasets()
    given = data if data is not None else os.environ.get(Variable.DATA) or None
    if name in specs:
        return specs[name], None if given is None else Path(given)
    path = Path(name)
    if not path.is_file():
        issues = ", ".join(one.name for one in DATASETS.all() if one.level == "issue")
        known = f"{', '.join(specs)}, or of issues {issues}"
        raise DatasetError(f"{name}: neither a file nor one of {known}")
    named = (spec for spec in specs.values() if spec.is_named(path))
    return next(named, specs["jsonl"]), path


def function_datasets() -> dict[str, DatasetSpec[Item]]:
    """The datasets of functions that `load` knows, by name."""
    return {spec.name: spec for spec in DATASETS.all() if spec.level == "function"}


def _maybe(wanted: set[str] | None) -> Keep:
    """Rows that may be wanted."""
    base = {w.partition("#")[0] for w in wanted or ()}

    def keep(row: Row) -> bool:
        identity = row.fields.get("id", row.fields.get("task_id"))
        if wanted is None or identity is None or wanted & _names(str(identity)):
            return True
        return bool(base & (_names(str(identity)) | {f"Mbpp/{identity}"}))

    return keep


def _names(identity: str) -> set[str]:
    return {identity, identity.rpartition("/")[2]}


def _named_once(item: Item, seen: set[str]) -> Item:
    """Ids are unique: the second problem named ``Mbpp/6`` becomes ``Mbpp/6#2``."""
    identity, count = item.problem.id, 1
    while identity in seen:
        count += 1
        identity = f"{item.problem.id}#{count}"
    seen.add(identity)
    if count == 1:
        return item
    return Item(replace(item.problem, id=identity), replace(item.key, id=identity))
