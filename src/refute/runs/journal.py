"""The journal of a run: one JSON object a line, a header, then one record per finished problem.

A record is written with one `write` and `fsync`ed before it counts as finished; where there is no
room for all of it nothing of it stays. A torn last line (power loss, `kill -9`) is cut off when the
run is opened again. A damaged record is named in the log `refute.runs` and is none: what it was
about is done again. A lock file keeps two processes out of one run; the system drops the lock with
the process.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from refute.errors import InputError
from refute.files import append_whole, open_file, read_file
from refute.jsontext import parse_json
from refute.runs.shapes import COUNT, FLAG, NUMBER, OBJECT, maybe, misfit, optional

__all__ = ["Journal", "new_run", "read_header", "read_run"]

_log = logging.getLogger("refute.runs")

JOURNAL = "journal.jsonl"
_LONGEST = 64 << 20
"""Bytes of a header or a record."""
_LARGEST = 4 << 30
"""Bytes of a journal."""
_FORMAT = 1

Record = dict[str, Any]
Damage = Callable[[Record], str]
"""What is wrong with a record that has a result, in a few words; "" where nothing is."""


def nothing_wrong(record: Record) -> str:
    """The `Damage` where any JSON object will do."""
    return ""


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


def read_header(directory: Path) -> Record | None:
    """The settings that a run was started with; None where there is no run yet."""
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


def read_run(directory: Path, damage: Damage = nothing_wrong) -> tuple[Record, list[Record]]:
    """The settings of a run and its records so far, without changing anything.

    Of a problem that was retried the last record, in the place of its first. `damage` says
    what is wrong with a record that has a result; a damaged one is named and left out. Raises
    `InputError` where there is no run.
    """
    header = read_header(directory)
    path = directory / JOURNAL
    if header is None:
        raise InputError(f"{directory}: no run is there (no {JOURNAL})")
    try:
        data = read_file(path, limit=_LARGEST)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    records = _records(path, data[: _whole(data)].split(b"\n"), damage)
    return header, list(records.values())


class Journal:
    """The open journal of one run. Use as a context manager.

    `records` maps the id of each finished problem to its record (the last one, where a problem was
    retried).
    """

    def __init__(
        self, directory: Path, settings: Mapping[str, Any], *, damage: Damage = nothing_wrong
    ) -> None:
        """Start the run or go on with it. `damage` says what is wrong with a record that has a
        result.

        Raises `InputError` when another process writes it, when it was started with other settings
        (the message names the first that differs), or when the header is damaged.
        """
        self.directory = directory
        self.path = directory / JOURNAL
        self.records: dict[str, Record] = {}
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
                _compare(self.path, _header(self.path, rows[0]), wanted)
                self.records = _records(self.path, rows, damage)
            else:
                self._write({"journal": _FORMAT, "settings": wanted})
                _sync_directory(directory)
        except BaseException:
            self.close()
            raise

    def append(self, record: Record) -> None:
        """Write the record of a finished problem (it has an `id`); on disk when this returns.

        Raises `OSError` where the disk is full or broken; what is in the journal stays as it is.
        """
        self._write(record)
        self.records[str(record["id"])] = record

    def _write(self, record: Record) -> None:
        try:
            append_whole(self._file, json.dumps(record, separators=(",", ":")).encode() + b"\n")
            os.fsync(self._file.fileno())
        except OSError as error:
            why = f"{error.strerror}; what is finished is kept: make room and go on with the run"
            raise OSError(error.errno, why, str(self.path)) from None

    def close(self) -> None:
        """Release the run; idempotent."""
        self._file.close()
        self._lock.close()

    def __enter__(self) -> Journal:
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
    """How much of a journal is whole: all but a torn last line."""
    end = data.rfind(b"\n") + 1
    last = data[data.rfind(b"\n", 0, max(end - 1, 0)) + 1 : end]
    return end - len(last) if end and _object(last) is None else end


def _object(line: bytes) -> Record | None:
    """The JSON object on a line; None where there is none."""
    try:
        value = parse_json(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _records(path: Path, lines: list[bytes], damage: Damage) -> dict[str, Record]:
    """The records by id, from the lines of a journal with its header."""
    records: dict[str, Record] = {}
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        record = _object(line)
        bad = "not a JSON object" if record is None else _misfit(record, damage)
        if bad:
            _log.warning("%s:%d: damaged record, left out: %s", path, number, bad)
        elif record is not None:
            records[record["id"]] = record
    return records


_TEXTS, _COUNTS, _NUMBERS = (
    ("dataset", "method", "kind", "test_files", "fixer", "tests"),
    ("problems", "visible_tests", "failing_tests", "n", "k", "m", "max_tokens"),
    ("budget", "temperature", "top_p"),
)
_SETTINGS = {
    **{name: maybe(str) for name in _TEXTS},
    **{name: maybe(COUNT) for name in _COUNTS},
    **{name: maybe(NUMBER) for name in _NUMBERS},
    **{name: maybe(FLAG) for name in ("vote", "backtrack", "guard", "patch_may_be_wrong")},
    "model": optional(str),
    "tester": optional(str),
    "code_patch": optional(str),
    "limit": optional(COUNT),
    "max_candidates": optional(COUNT),
    "ids": optional([str]),
}
"""The settings that more than one package reads out of a header, whatever kind of run it is."""
_ANY = {"id": str, "status": optional(str)}
_ERROR = {"id": str, "error": str}


def _misfit(record: Record, damage: Damage) -> str:
    """What is wrong with a record; "" where nothing is."""
    if record.get("status") == "error":
        return misfit(record, _ERROR)
    return misfit(record, _ANY) or damage(record)


def _header(path: Path, line: bytes) -> Record:
    """The settings in the first line."""
    header = _object(line)
    if header is None:
        raise InputError(f"{path}:1: damaged header; restore the file or start a new run")
    if header.get("journal") != _FORMAT or misfit(header, {"settings": OBJECT}):
        raise InputError(f"{path}:1: not a journal that this version of refute can go on with")
    settings: Record = header["settings"]
    if bad := misfit(settings, _SETTINGS):
        raise InputError(f"{path}:1: damaged header ({bad}); restore the file or start a new run")
    return settings


def _compare(path: Path, started: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in dict.fromkeys((*started, *wanted)):
        if started.get(name) != wanted.get(name):
            old, new = (_short(settings.get(name)) for settings in (started, wanted))
            raise InputError(
                f"{path.parent}: was started with {name} = {old}, not {new}; "
                "use the same settings, or a new run"
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _locked(path: Path) -> IO[bytes]:
    """An exclusive lock on the file for as long as it stays open."""
    file = open_file(path, append=True)
    try:
        import fcntl
    except ImportError:  # no such locks on this platform: two writers would not be noticed
        return file
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
