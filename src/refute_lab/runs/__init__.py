"""A run: settings and journal in a folder, units of work, and executors that do them."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Annotated, Any, Generic, Literal, Protocol, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from refute.core.problems import Count, Number
from refute.core.storage import append_whole, open_file, parse_json, read_file
from refute.errors import InputError

# -- records ---------------------------------------------------------------------------------------


T = TypeVar("T")


class Record(Protocol):
    """The outcome of one unit of a run: a dataclass that JSON can hold. Its `status` is not
    "error"."""

    @property
    def id(self) -> str:
        """The unit's."""
        ...


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """A unit without a result, for a reason that is not its own; the next start tries it again."""

    id: str
    error: str
    """One line."""
    status: Literal["error"] = "error"


@dataclass(frozen=True, slots=True)
class WithFiles:
    """A record with what is too large for a journal. The driver writes the files before the record:
    a unit may be done on another machine."""

    record: Record
    files: Mapping[str, bytes]
    """By their paths from the run's folder."""


@dataclass(frozen=True, slots=True)
class PutOff:
    """A unit that has to wait for an answer."""

    reason: str
    """One line."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A record as it comes from another machine: the line of a journal, which is read as one of
    these is and checked as much."""

    line: bytes
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schema(Generic[R]):
    """A kind of record. Its journals are read by every version of refute that knows its number."""

    name: str
    type: type[R]
    version: int = 1
    """Counted up where a field is added that older versions must not overlook, or changes."""
    flaw: Callable[[R], str] = lambda record: ""
    """Flaw of a record whose fields have their types; "" where nothing is."""


def checked(data: Any, kind: type[T]) -> T:
    """JSON data as a value of the type. Raises `ValueError`, its text says what is wrong where."""
    return msgspec.convert(data, kind)


def read_record(data: Any, schema: Schema[R]) -> R | ErrorRecord:
    """JSON data as a record of the kind. Raises `ValueError`."""
    if isinstance(data, dict) and data.get("status") == "error":
        return checked(data, ErrorRecord)
    record = checked(data, schema.type)
    if flaw := schema.flaw(record):
        raise ValueError(flaw)
    return record


def as_data(record: object) -> dict[str, Any]:
    """A record, or a part of one, as JSON data."""
    data: dict[str, Any] = msgspec.to_builtins(record)
    return data


_log = logging.getLogger("refute.runs")

JOURNAL = "journal.jsonl"
_LONGEST = 64 << 20
"""Bytes of a header or a record."""
_LARGEST = 4 << 30
"""Bytes of a journal."""
_FORMATS = (1, 2)


def new_run(parent: Path, name: str) -> Path:
    """Make a new directory `parent/NAME-TIME` and return it. Raises `InputError`."""
    stem = re.sub(r"[^\w.+-]+", "-", name)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for attempt in range(1000):
        path = parent / (f"{stem}-{stamp}" + (f"-{attempt}" if attempt else ""))
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not parent.is_dir():
                raise InputError(f"{parent}: is not a folder") from None
            continue
        except OSError as error:
            raise InputError(f"{path}: cannot be made: {error.strerror}") from None
        return path
    raise InputError(f"{parent}: cannot find a free name for the run")


def read_header(directory: Path) -> dict[str, Any] | None:
    """The settings that a run was started with; None where there is no run yet."""
    header = _read_header(directory)
    return None if header is None else header.settings


def _read_header(directory: Path) -> _Header | None:
    path = directory / JOURNAL
    try:
        with open_file(path) as file:
            line = file.readline(_LONGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if not line.endswith(b"\n"):
        return None
    return _header(path, line)


def read_run(directory: Path, schema: Schema[R]) -> tuple[dict[str, Any], list[R | ErrorRecord]]:
    """The settings of a run and its records so far, without changing anything.

    Of a unit that was retried the last record, in the place of its first. A damaged record is
    named and left out. Raises `InputError` where there is no run, or one of other records.
    """
    header = _read_header(directory)
    path = directory / JOURNAL
    if header is None:
        raise InputError(f"{directory}: no run is there (no {JOURNAL})")
    _check_schema(path, header, schema)
    try:
        data = read_file(path, limit=_LARGEST)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    records = _records(path, data[: _whole(data)].split(b"\n"), schema)
    return header.settings, list(records.values())


class Journal(Generic[R]):
    """The open journal of one run. Use as a context manager.

    `records` maps the id of each finished unit to its record (the last one, where a unit was
    retried).
    """

    def __init__(self, directory: Path, settings: Mapping[str, Any], schema: Schema[R]) -> None:
        """Start the run or resume it.

        Raises `InputError` when another process writes it, when it was started with other settings
        (the message names the first that differs), when its records are of another kind or of a
        newer schema, or when the header is damaged.
        """
        self.directory = directory
        self.schema = schema
        self.path = directory / JOURNAL
        self.records: dict[str, R | ErrorRecord] = {}
        self.begun = False
        """True: the run was started now, not resumed."""
        wanted = json.loads(json.dumps(dict(settings)))
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(directory / "lock")
            self._file = open_file(self.path, append=True)
        except OSError as error:
            raise InputError(f"{directory}: cannot be written: {error.strerror}") from None
        try:
            rows = _whole_lines(self.path)
            if rows[0]:
                header = _header(self.path, rows[0])
                _check_schema(self.path, header, schema)
                _compare(self.path, header.settings, wanted)
                self.records = _records(self.path, rows, schema)
            else:
                kind = {"records": schema.name, "schema": schema.version}
                self._write({"journal": _FORMATS[-1], **kind, "settings": wanted})
                _sync_directory(directory)
                self.begun = True
        except BaseException:
            self.close()
            raise

    def append(self, record: R | ErrorRecord) -> None:
        """Write the record of a finished unit; on disk when this returns.

        Raises `OSError` where the disk is full or broken; what is in the journal stays as it is.
        """
        self._write(as_data(record))
        self.records[record.id] = record

    def _write(self, line: Mapping[str, Any]) -> None:
        try:
            append_whole(self._file, json.dumps(line, separators=(",", ":")).encode() + b"\n")
            os.fsync(self._file.fileno())
        except OSError as error:
            why = f"{error.strerror}; what is finished is kept: make room and resume the run"
            raise OSError(error.errno, why, str(self.path)) from None

    def close(self) -> None:
        """Release the run; idempotent."""
        self._file.close()
        self._lock.close()

    def discard(self) -> None:
        """Remove a closed run that holds nothing, and its folder where nothing else is in it."""
        with suppress(OSError):
            self.path.unlink()
            (self.directory / "lock").unlink()
            self.directory.rmdir()

    def __enter__(self) -> Journal[R]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _whole_lines(path: Path) -> list[bytes]:
    """The complete lines of the journal, at least one; a torn last one is cut off the file."""
    data = read_file(path, limit=_LARGEST)
    end = _whole(data)
    if end < len(data):
        os.truncate(path, end)
    return data[:end].split(b"\n")


def _whole(data: bytes) -> int:
    """Return the length of a journal without a torn last line."""
    end = data.rfind(b"\n") + 1
    last = data[data.rfind(b"\n", 0, max(end - 1, 0)) + 1 : end]
    return end - len(last) if end and _object(last) is None else end


def _object(line: bytes) -> dict[str, Any] | None:
    """The JSON object on a line; None where there is none."""
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _records(path: Path, lines: list[bytes], schema: Schema[R]) -> dict[str, R | ErrorRecord]:
    """The records by id, from the lines of a journal with its header."""
    records: dict[str, R | ErrorRecord] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        data = _object(line)
        try:
            if data is None:
                raise ValueError("not a JSON object")
            record = read_record(data, schema)
        except ValueError as error:
            _log.warning("%s:%d: damaged record, left out: %s", path, number, error)
        else:
            records[record.id] = record
    return records


_Maybe = UnsetType | str
_MaybeCount = UnsetType | Count
_MaybeNumber = UnsetType | Number


class _Known(msgspec.Struct):
    """The settings that more than one package reads out of a header, whatever kind of run it is."""

    dataset: _Maybe = UNSET
    method: _Maybe = UNSET
    kind: _Maybe = UNSET
    test_files: _Maybe = UNSET
    fixer: _Maybe = UNSET
    tests: _Maybe = UNSET
    problems: _MaybeCount = UNSET
    visible_tests: _MaybeCount = UNSET
    failing_tests: _MaybeCount = UNSET
    n: _MaybeCount = UNSET
    k: _MaybeCount = UNSET
    m: _MaybeCount = UNSET
    max_tokens: _MaybeCount = UNSET
    budget: _MaybeNumber = UNSET
    temperature: _MaybeNumber = UNSET
    top_p: _MaybeNumber = UNSET
    vote: UnsetType | bool = UNSET
    backtrack: UnsetType | bool = UNSET
    guard: UnsetType | bool = UNSET
    patch_may_be_wrong: UnsetType | bool = UNSET
    model: str | None = None
    tester: str | None = None
    code_patch: str | None = None
    limit: Count | None = None
    max_candidates: Count | None = None
    ids: list[str] | None = None


class _Header(msgspec.Struct):
    """The first line of a journal."""

    journal: Count
    settings: dict[str, Any]
    records: str = ""
    """Name of the kind; "": of format 1, which does not tell."""
    schema: Annotated[int, msgspec.Meta(ge=1)] = 1


def _header(path: Path, line: bytes) -> _Header:
    """The header in the first line."""
    data = _object(line)
    if data is None:
        raise InputError(f"{path}:1: damaged header; restore the file or start a new run")
    try:
        header = checked(data, _Header)
    except ValueError:
        header = None
    if header is None or header.journal not in _FORMATS:
        raise InputError(f"{path}:1: not a journal that this version of refute can resume")
    try:
        checked(header.settings, _Known)
    except ValueError as error:
        told = f"damaged header ({error})"
        raise InputError(f"{path}:1: {told}; restore the file or start a new run") from None
    return header


def _check_schema(path: Path, header: _Header, schema: Schema[R]) -> None:
    if header.records not in ("", schema.name):
        kinds = f"records of the kind {header.records!r}, not {schema.name!r}"
        raise InputError(f"{path.parent}: is a run with {kinds}; give another folder")
    if header.schema > schema.version:
        newer = f"schema {header.schema}; this version knows up to {schema.version}"
        raise InputError(f"{path.parent}: was written by a newer refute ({newer}); upgrade refute")


def _compare(path: Path, started: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    # A header leaves out defaults; the setting itself is compared before its consequences.
    for name in dict.fromkeys((*wanted, *started)):
        if started.get(name) != wanted.get(name):
            old, new = (_short(settings.get(name)) for settings in (started, wanted))
            raise InputError(
                f"{path.parent}: was started with {name} = {old}, not {new}; "
                "use the same settings, or another folder"
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _locked(path: Path) -> IO[bytes]:
    """An exclusive lock on the file for as long as it stays open."""
    file = open_file(path, append=True)
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise InputError(f"{path.parent}: another process is writing this run") from None
    return file


def _sync_directory(path: Path) -> None:
    """So that the new file's name is on disk as well."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


# -- runs ------------------------------------------------------------------------------------------
