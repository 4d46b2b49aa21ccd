"""What a dataset is: a name, and items read from a file, a folder or the public hub.

A module of `refute_lab.datasets` defines one or several; another package names its own as entry
points `refute.datasets`. `DATASETS` finds them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from refute.core.methods import Level
from refute.core.problems import FunctionKey, FunctionProblem
from refute.core.registry import Registry
from refute.errors import DatasetError
from refute.source.syntax import Function, find_function, parse_module, with_imports
from refute_lab.datasets.rows import Row, find_file, hub_rows, read_rows

# -- item ------------------------------------------------------------------------------------------


Evaluation = Literal["evalplus", "paper"]
"""Whose rules: EvalPlus's, or those of UTGen's released code. By the latter, imports that a program
lacks stand in front of it, outputs are compared as sets where the row's test code says " set("
anywhere, a call has 2 seconds, and an input need not meet EvalPlus's contract; an edit replaces the
whole program; the description of HE-Fix is the whole prompt, as there."""
Subset = Literal["all", "extractable"]
"""All rows, or only those whose results EvalPlus's file holds as literals: the 158 of HumanEval+
and 375 of MBPP+ that UTGen keeps."""


@dataclass(frozen=True, slots=True)
class Item:
    """A row of a benchmark. Hand a method the `problem` only; the `key` is for graders."""

    problem: FunctionProblem
    key: FunctionKey


@dataclass(frozen=True, slots=True)
class LoaderOptions:
    """What a caller may ask of a loader."""

    visible_tests: int = 0
    """How many of the visible asserts (MBPP) to show, in the description and as `problem.tests`."""
    editor_tests: int = 0
    """How many of them to show where code is edited, and nowhere else."""
    evaluation: Evaluation = "evalplus"
    subset: Subset = "all"


def with_code(item: Item, code: str) -> Item:
    """The same problem with another program under test: a sample of a model, say."""
    return replace(item, problem=replace(item.problem, code=code))


SECONDS = 2.0
"""For a call, in UTGen's released code (of the clock there, of the CPU here)."""


def evaluated(item: Item, evaluation: Evaluation) -> Item:
    """The item as it is under these rules, as far as they are the same for all datasets."""
    if evaluation == "evalplus":
        return item
    key = replace(item.key, contract=None, seconds=SECONDS)
    problem = replace(item.problem, code=with_imports(item.problem.code), whole=True)
    return Item(problem, key)


# -- sources ---------------------------------------------------------------------------------------


class SourceProblem(ValueError):
    """The source does not parse or does not define the function."""


def _function(source: str, name: str) -> Function:
    try:
        function = find_function(parse_module(source), name)
    except SyntaxError as e:
        raise SourceProblem(f"not Python: {e}") from None
    if function is None:
        raise SourceProblem(f"defines no function {name}")
    return function


def docstring_of(source: str, name: str) -> str:
    """The function's docstring, dedented; empty where there is none. Raises `SourceProblem`."""
    return ast.get_docstring(_function(source, name)) or ""


def signature_of(source: str, name: str) -> str:
    """``name(params) -> annotation`` as the source states it. Raises `SourceProblem`."""
    node = _function(source, name)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"{name}({ast.unparse(node.args)}){returns}"


ItemT = TypeVar("ItemT", covariant=True)
Keep = Callable[[Row], bool]
"""Whether a row may be wanted: building an item costs more than reading a row."""
Items = Callable[[Path | None, LoaderOptions, Keep], Iterator[ItemT]]
"""Items from a file or folder (None: the public hub), in order. Raises `DatasetError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSpec(Generic[ItemT]):
    """A dataset by name."""

    name: str
    summary: str
    """One line for people."""
    items: Items[ItemT]
    level: Level = "function"
    starts: tuple[str, ...] = ()
    """How the names of its public files begin: a file so named is read as this dataset."""
    without: tuple[str, ...] = ()
    """Words that such names do not hold."""

    def is_named(self, file: Path) -> bool:
        """Whether a file has one of its names."""
        lower = file.name.lower()
        begins = any(lower.startswith(start.lower()) for start in self.starts)
        return begins and not any(word.lower() in lower for word in self.without)


DATASETS: Registry[DatasetSpec[Any]] = Registry(
    "refute.datasets", (), "dataset", lambda one: isinstance(one, DatasetSpec)
)


def rows_at(
    name: str,
    path: Path | None,
    starts: tuple[str, ...],
    *,
    without: tuple[str, ...] = (),
    avoid: tuple[str, ...] = (),
) -> Iterator[Row]:
    """The rows of the file that is, or lies in, `path`; None: of the hub.

    Files whose names hold a word of `without` are not read, of `avoid` where there is no other.
    Raises `DatasetError`.
    """
    if path is None:
        return hub_rows(name)
    file = find_file(path, *starts, without=(*without, *avoid))
    file = file or find_file(path, *starts, without=without)
    if file is None:
        raise DatasetError(f"{path}: {name} needs {starts[0]}*.jsonl[.gz] there")
    return read_rows(file)


def from_rows(
    name: str,
    starts: tuple[str, ...],
    item: Callable[[Row, LoaderOptions], ItemT],
    *,
    without: tuple[str, ...] = (),
    avoid: tuple[str, ...] = (),
    admits: Callable[[Row, LoaderOptions], bool] = lambda row, options: True,
) -> Items[ItemT]:
    """Items of a dataset each of whose rows makes one, if `admits` takes it; the rest as in
    `rows_at`."""

    def items(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[ItemT]:
        rows = rows_at(name, path, starts, without=without, avoid=avoid)
        wanted = (row for row in rows if keep(row) and admits(row, options))
        return made(wanted, lambda row: item(row, options))

    return items


def made(rows: Iterable[Row], item: Callable[[Row], ItemT]) -> Iterator[ItemT]:
    """The item of each row. Raises `DatasetError`, which names the row."""
    for row in rows:
        with row.reading():
            one = item(row)
        yield one
