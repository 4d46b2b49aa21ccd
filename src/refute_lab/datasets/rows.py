"""Rows of a benchmark: finding its file, reading it, and saying exactly what is wrong with a
row."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from refute.core import extras
from refute.core.storage import open_file, parse_json
from refute.errors import DatasetError

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
