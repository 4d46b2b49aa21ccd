"""What a dataset is: a name, and items read from a file, a folder or the public hub.

A module of `refute_lab.datasets` defines one or several; another package names its own as entry
points `refute.datasets`. `DATASETS` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from refute.core.methods import Level
from refute.core.registry import Registry
from refute.errors import DatasetError
from refute_lab.datasets.item import LoaderOptions
from refute_lab.datasets.rows import Row, find_file, hub_rows, read_rows

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
    "refute.datasets",
    ("refute_lab.datasets",),
    "dataset",
    lambda one: isinstance(one, DatasetSpec),
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
