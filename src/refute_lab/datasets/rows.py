"""Rows of a benchmark: finding its file, reading it, and saying exactly what is wrong with a
row."""

from __future__ import annotations

import ast
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Generic, Literal, TypeVar

from refute.core import extras
from refute.core.methods import Level
from refute.core.problems import FunctionKey, FunctionProblem
from refute.core.registry import Registry
from refute.core.storage import open_file, parse_json
from refute.errors import DatasetError
from refute.source.syntax import Function, find_function, parse_module, with_imports

_ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".json.gz")


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object of a data file, and where it stands; its getters complain by place and
    field."""

    fields: Mapping[str, Any]
    file: str
    line: int

    def error(self, field: str, problem: str) -> DatasetError:
        """The error to raise about a field of this row."""
        return DatasetError(f"{self.file}:{self.line}: field {field!r}: {problem}")

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever a row's values do to the code that reads them is an error of the row."""
        try:
            yield
        except DatasetError:
            raise
        except (
            ArithmeticError,
            LookupError,
            MemoryError,
            RecursionError,
            SyntaxError,
            TypeError,
            ValueError,
        ) as error:
            what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            raise DatasetError(f"{self.file}:{self.line}: cannot be read: {what}") from None

    def text(self, *names: str) -> str:
        """The first of the named fields that is there; a string."""
        for name in names:
            if name in self.fields:
                return str(self._typed(name, str, "a string"))
        raise self.error(names[0], "missing")

    def optional_text(self, name: str) -> str | None:
        """A string, or None where the field is absent or null."""
        return None if self.fields.get(name) is None else self.text(name)

    def items(self, name: str) -> list[Any]:
        """A list."""
        if name not in self.fields:
            raise self.error(name, "missing")
        value: list[Any] = self._typed(name, list, "a list")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of strings; empty where the field is absent or null."""
        if self.fields.get(name) is None:
            return []
        for number, item in enumerate(self.items(name)):
            if not isinstance(item, str):
                raise self.error(name, f"item {number} must be a string, is {_kind(item)}")
        return self.items(name)

    def number(self, name: str, default: float) -> float:
        """A number that is not negative."""
        value = self.fields.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
            raise self.error(name, f"must be a number >= 0, is {_kind(value)}")
        return float(value)

    def id(self, *names: str, prefix: str = "") -> str:
        """The problem's id: a string, or a number, which gets the prefix."""
        for name in names:
            value = self.fields.get(name)
            if isinstance(value, str) and value:
                return value
            if isinstance(value, int) and not isinstance(value, bool):
                return f"{prefix}{value}"
            if name in self.fields:
                raise self.error(name, f"must be a string or an integer, is {_kind(value)}")
        raise self.error(names[0], "missing")

    def _typed(self, name: str, kind: type, words: str) -> Any:
        value = self.fields[name]
        if not isinstance(value, kind):
            raise self.error(name, f"must be {words}, is {_kind(value)}")
        return value


def _kind(value: Any) -> str:
    return {type(None): "null", dict: "an object", list: "a list", str: "a string"}.get(
        type(value), repr(value)[:40]
    )


_LONGEST = 64 << 20
"""Bytes of a line; those of the public benchmarks have less than one million."""
_LARGEST = 1 << 30
"""Bytes of a file, unpacked."""
_BLANK = 1 << 18
"""Bytes in blank lines: nobody waits for a file of nothing."""


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a JSONL file (plain or gzip), or of a file that holds one JSON list of objects.

    Raises `DatasetError`: not there, not gzip, not UTF-8, not JSON, not an object, too large. Blank
    lines are passed over.
    """
    name = str(path)
    try:
        with open_file(path) as raw, _unpacked(raw, path) as file:
            first, number, size, blank = True, 0, 0, 0
            while line := file.readline(_LONGEST + 1):
                number, size = number + 1, size + len(line)
                text = line.strip()
                blank += 0 if text else len(line)
                if len(line) > _LONGEST or size > _LARGEST or blank > _BLANK:
                    raise DatasetError(f"{name}:{number}: more than a dataset holds")
                if not text:
                    continue
                if first and text.startswith(b"["):
                    rest = file.read(_LONGEST)
                    if len(rest) == _LONGEST:
                        raise DatasetError(f"{name}: a list longer than {_LONGEST >> 20} MiB")
                    yield from _rows_of_list(text + rest, name)
                    return
                first = False
                yield Row(_object(text, name, number), name, number)
    except (OSError, EOFError, zlib.error) as e:
        reason = getattr(e, "strerror", None) or str(e)
        raise DatasetError(f"{name}: cannot be read: {reason}") from None


def _unpacked(raw: IO[bytes], path: Path) -> IO[bytes]:
    return io.BufferedReader(gzip.GzipFile(fileobj=raw)) if path.suffix == ".gz" else raw


def _rows_of_list(text: bytes, name: str) -> Iterator[Row]:
    try:
        items = parse_json(text)
    except ValueError as e:
        raise DatasetError(f"{name}: not JSON: {e}") from None
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise DatasetError(f"{name}:{number}: each item must be an object, is {_kind(item)}")
        yield Row(item, name, number)


def _object(text: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        value = parse_json(text)
    except ValueError as e:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise DatasetError(f"{name}:{number}: not JSON: {e}") from None
    if not isinstance(value, dict):
        raise DatasetError(f"{name}:{number}: each line must be an object, is {_kind(value)}")
    return value


def find_file(data: Path, *starts: str, without: tuple[str, ...] = ()) -> Path | None:
    """The data file whose name begins with one of `starts` (any case), the first of them that is
    there.

    `data`: a directory, or a file, which is taken as it is. `without`: words that the name must not
    hold. Of several the alphabetically first, so that the choice is the same everywhere. Raises
    `DatasetError` when `data` does not exist.
    """
    if data.is_file():
        return data
    if not data.is_dir():
        raise DatasetError(f"{data}: no such file or directory (set --data or REFUTE_DATA)")
    names = sorted(n for n in os.listdir(data) if n.lower().endswith(_ENDINGS))
    for start in starts:
        for name in names:
            lower = name.lower()
            if lower.startswith(start.lower()) and not any(w.lower() in lower for w in without):
                return data / name
    return None


SOURCES: dict[str, tuple[str, str | None]] = {
    "humaneval+": ("evalplus/humanevalplus", None),
    "mbpp+": ("evalplus/mbppplus", None),
    "he-fix": ("bigcode/humanevalpack", "python"),
    "he-fix-released": ("bigcode/humanevalpack", "python"),
    "swe-lite": ("SWE-bench/SWE-bench_Lite", None),
    "swe-verified": ("SWE-bench/SWE-bench_Verified", None),
    "swe-full": ("SWE-bench/SWE-bench", None),
    "tdd-verified": ("SWE-bench/SWE-bench_Verified", None),
    "swe-rebench": ("nebius/SWE-rebench", None),
    "swe-pro": ("ScaleAI/SWE-bench_Pro", None),
}
"""Dataset -> repository on the hub and its configuration. All have the split ``test``; the
EvalPlus ones are in the ``-OriginFmt`` form."""
ELSEWHERE = {
    "mbpp-fix": ("MBPP+Fix_test.jsonl", "archiki/UTGenDebug"),
    "mbpp-fix-hard": ("MBPP+Fix_hard_test.jsonl", "archiki/UTGenDebug"),
}
"""Dataset -> the file that holds it, and the GitHub repository that the file is in."""


def hub_rows(name: str) -> Iterator[Row]:
    """The rows of a dataset from the hub. Raises `DatasetError` at once when it cannot be had."""
    if name not in SOURCES:
        file, repository = ELSEWHERE.get(name, ("its file", ""))
        place = f" of github.com/{repository}" if repository else ""
        raise DatasetError(f"{name}: not on the hub; download {file}{place} and give --data FILE")
    repository, configuration = SOURCES[name]
    try:
        from datasets import load_dataset  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise DatasetError(
            f"{name}: no data given: set --data or REFUTE_DATA, or {extras.install('hub')}"
        ) from None
    try:
        rows = load_dataset(repository, configuration, split="test")
    except Exception as e:  # whatever the library raises: no network, no such repository, ...
        reason = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise DatasetError(f"{name}: cannot be had from the hub ({repository}): {reason}") from None
    return (Row(dict(one), f"hub:{repository}", number) for number, one in enumerate(rows, start=1))


# -- spec ------------------------------------------------------------------------------------------


# -- item ------------------------------------------------------------------------------------------


Evaluation = Literal["evalplus", "paper"]
"""Rules of grading: EvalPlus's, or those of UTGen's released code. By the latter, imports that a
program lacks stand in front of it, outputs are compared as sets where the row's test code says "
set(" anywhere, a call has 2 seconds, and an input need not meet EvalPlus's contract; an edit
replaces the whole program; the description of HE-Fix is the whole prompt, as there."""
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
    """Options of a loader."""

    visible_tests: int = 0
    """Number of the visible asserts (MBPP) to show, in the description and as `problem.tests`."""
    editor_tests: int = 0
    """Number of them to show where code is edited, and nowhere else."""
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
"""Test for rows that may be needed: building an item costs more than reading a row."""
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
    """Starts of the names of its public files: a file so named is read as this dataset."""
    without: tuple[str, ...] = ()
    """Words that such names do not hold."""

    def is_named(self, file: Path) -> bool:
        """Return whether a file has one of its names."""
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
