"""The journal of a run: one JSON object a line, a header, then one record per finished problem.

A record is written with one `write` and `fsync`ed before it counts as finished. A torn last line
(power loss, `kill -9`) is cut off when the run is opened again; a damaged line before it is an
error. A lock file keeps two processes out of one run; the system drops the lock with the process.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from refute.errors import InputError

__all__ = ["Journal", "new_run", "read_header", "read_run"]

JOURNAL = "journal.jsonl"
_FORMAT = 1

Record = dict[str, Any]


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
        with path.open("rb") as file:
            line = file.readline()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if not line.endswith(b"\n"):
        return None
    settings = _header(path, line)["settings"]
    return settings if isinstance(settings, dict) else {}


def read_run(directory: Path) -> tuple[Record, list[Record]]:
    """The settings of a run and its records so far, without changing anything.

    Of a problem that was retried the last record, in the place of its first. Raises `InputError`
    where there is no run, or a damaged one.
    """
    header = read_header(directory)
    path = directory / JOURNAL
    if header is None:
        raise InputError(f"{directory}: no run is there (no {JOURNAL})")
    records: dict[str, Record] = {}
    data = path.read_bytes()
    for number, line in enumerate(data[: _whole(data)].splitlines()[1:], 2):
        record = _parse(path, number, line)
        records[str(record.get("id"))] = record
    return header, list(records.values())


class Journal:
    """The open journal of one run. Use as a context manager.

    `records` maps the id of each finished problem to its record (the last one, where a problem was
    retried).
    """

    def __init__(self, directory: Path, settings: Mapping[str, Any]) -> None:
        """Start the run or go on with it.

        Raises `InputError` when another process writes it, when it was started with other settings
        (the message names the first that differs), or when the file is damaged.
        """
        self.directory = directory
        self.path = directory / JOURNAL
        self.records: dict[str, Record] = {}
        wanted = json.loads(json.dumps(dict(settings)))
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(directory / "lock")
            self._file = self.path.open("ab")
        except OSError as error:
            raise InputError(f"{directory}: cannot be written: {error.strerror}") from None
        try:
            rows = list(_whole_lines(self.path))
            if rows:
                _compare(self.path, _header(self.path, rows[0])["settings"], wanted)
                for number, row in enumerate(rows[1:], 2):
                    record = _parse(self.path, number, row)
                    self.records[str(record.get("id"))] = record
            else:
                self._write({"journal": _FORMAT, "settings": wanted})
                _sync_directory(directory)
        except BaseException:
            self.close()
            raise

    def append(self, record: Record) -> None:
        """Write the record of a finished problem (it has an `id`); on disk when this returns."""
        self._write(record)
        self.records[str(record["id"])] = record

    def _write(self, record: Record) -> None:
        self._file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

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


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The complete lines of the journal; a torn last one is cut off the file."""
    data = path.read_bytes()
    end = _whole(data)
    if end < len(data):
        os.truncate(path, end)
    yield from data[:end].splitlines()


def _whole(data: bytes) -> int:
    """How much of a journal is whole: all but a torn last line."""
    end = data.rfind(b"\n") + 1
    last = data[data.rfind(b"\n", 0, max(end - 1, 0)) + 1 : end]
    return end - len(last) if end and not _is_json(last) else end


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _parse(path: Path, number: int, line: bytes) -> Record:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        raise InputError(f"{path}:{number}: damaged record; restore the file or start a new run")
    return record


def _header(path: Path, line: bytes) -> Record:
    record = _parse(path, 1, line)
    if record.get("journal") != _FORMAT or "settings" not in record:
        raise InputError(f"{path}:1: not a journal that this version of refute can go on with")
    return record


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
    file = path.open("ab")
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
