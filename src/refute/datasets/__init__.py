"""Benchmarks: one file per data set, rows in, (problem, key) pairs out.

>>> items = load("he-fix", data=Path("shared/data"), limit=5)
>>> items[0].problem        # what a method may see
>>> items[0].key            # what only a grader may see
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from refute.datasets import he_fix, humaneval_plus, jsonl, mbpp_fix, mbpp_plus
from refute.datasets.hub import hub_rows
from refute.datasets.item import Item, Options, with_code
from refute.datasets.rows import Row, find_file, read_rows
from refute.errors import DatasetError

__all__ = ["NAMES", "Item", "load", "with_code"]


@dataclass(frozen=True, slots=True)
class _Benchmark:
    """Where a data set's rows are, and what makes an item of one."""

    starts: tuple[str, ...]
    item: Callable[[Row, Options], Item]
    avoid: tuple[str, ...] = ()


_BENCHMARKS = {
    "humaneval+": _Benchmark(humaneval_plus.STARTS, humaneval_plus.item, ("OriginFmt",)),
    "mbpp+": _Benchmark(mbpp_plus.STARTS, mbpp_plus.item, ("OriginFmt",)),
    "mbpp-fix": _Benchmark(mbpp_fix.STARTS, mbpp_fix.item, ("hard",)),
    "mbpp-fix-hard": _Benchmark(mbpp_fix.STARTS_HARD, mbpp_fix.item),
}
NAMES = ("humaneval+", "mbpp+", "he-fix", "mbpp-fix", "mbpp-fix-hard", "jsonl")
"""The data sets that `load` knows by name; a path of a JSONL file is taken as well."""


def load(
    name_or_path: str | Path,
    *,
    data: Path | str | None = None,
    visible_tests: int = 0,
    ids: Collection[str] | None = None,
    limit: int | None = None,
) -> list[Item]:
    """The problems of a data set with their answer keys, in the order of the file.

    `name_or_path`: one of `NAMES`, or a file; a file with a public name is read as that data set,
    any other as `jsonl`. `data`: the file, or the directory that holds it; None: the environment
    variable REFUTE_DATA, else the public hub. `visible_tests`: how many visible asserts of MBPP to
    show (the docstrings of HumanEval hold theirs and are shown whole). `ids`: only these, by id
    (``HumanEval/7``) or by the number at its end; each must be there. `limit`: at most this many.

    Raises `DatasetError`: no data, a malformed row, an unknown id.
    """
    name, path = _where(str(name_or_path), data)
    options = Options(visible_tests=visible_tests)
    wanted = None if ids is None else {str(i) for i in ids}
    found: list[Item] = []
    seen: set[str] = set()
    matched: set[str] = set()
    for item in _items(name, path, options, wanted):
        if limit is not None and len(found) >= limit:
            break
        item = _named_once(item, seen)
        if wanted is not None:
            hits = wanted & _names(item.problem.id)
            matched |= hits
            if not hits:
                continue
        found.append(item)
    if wanted is not None and (limit is None or len(found) < limit) and wanted - matched:
        missing = ", ".join(sorted(wanted - matched))
        raise DatasetError(f"{path or name}: no problem with id {missing}")
    return found


def _where(name: str, data: Path | str | None) -> tuple[str, Path | None]:
    """The data set's name and the file or directory to read, None for the hub."""
    if name not in NAMES:
        path = Path(name)
        if not path.is_file():
            raise DatasetError(f"{name}: neither a file nor one of {', '.join(NAMES)}")
        return _name_of(path), path
    given = data if data is not None else os.environ.get("REFUTE_DATA") or None
    if name == "jsonl" and (given is None or not Path(given).is_file()):
        raise DatasetError("jsonl: give the file with --data FILE")
    return name, None if given is None else Path(given)


def _name_of(path: Path) -> str:
    lower = path.name.lower()
    if any(lower.startswith(start.lower()) for start in he_fix.STARTS):
        return "he-fix"
    for name, benchmark in _BENCHMARKS.items():
        if any(lower.startswith(start.lower()) for start in benchmark.starts) and not (
            "hard" in benchmark.avoid and "hard" in lower
        ):
            return name
    return "jsonl"


def _items(
    name: str, path: Path | None, options: Options, wanted: set[str] | None
) -> Iterator[Item]:
    if name == "he-fix":
        rows, directory = _he_fix_rows(path)
        yield from he_fix.items(_selected(rows, wanted), directory, options)
        return
    if name == "jsonl":
        assert path is not None
        rows = read_rows(path)
        make: Callable[[Row, Options], Item] = jsonl.item
    else:
        benchmark = _BENCHMARKS[name]
        rows, make = hub_rows(name) if path is None else _file_rows(name, path), benchmark.item
    for row in _selected(rows, wanted):
        with row.reading():
            item = make(row, options)
        yield item


def _file_rows(name: str, path: Path) -> Iterator[Row]:
    benchmark = _BENCHMARKS[name]
    file = find_file(path, *benchmark.starts, without=benchmark.avoid)
    if file is None and benchmark.avoid == ("OriginFmt",):
        file = find_file(path, *benchmark.starts)
    if file is None:
        raise DatasetError(f"{path}: {name} needs {benchmark.starts[0]}*.jsonl[.gz] there")
    return read_rows(file)


def _he_fix_rows(path: Path | None) -> tuple[Iterator[Row], Path | None]:
    if path is None:
        return hub_rows("he-fix"), None
    file = find_file(path, *he_fix.STARTS)
    if file is None:
        raise DatasetError(f"{path}: he-fix needs {he_fix.STARTS[-1]}*.jsonl[.gz] there")
    return read_rows(file), file.parent


def _selected(rows: Iterator[Row], wanted: set[str] | None) -> Iterator[Row]:
    """Rows that may be wanted: building an item costs more than reading a row."""
    for row in rows:
        if wanted is not None:
            identity = row.fields.get("id", row.fields.get("task_id"))
            if identity is not None and not wanted & _names(str(identity)):
                base = {w.partition("#")[0] for w in wanted}
                if not base & (_names(str(identity)) | {f"Mbpp/{identity}"}):
                    continue
        yield row


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
