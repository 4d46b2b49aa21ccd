"""Every sample that was paid for, in one SQLite file, safe for several processes at once.

A sample's key is the digest of its request (model, messages, sampling) and its number: a vote of 8
is 8 rows, and a vote of 12 later costs 4. The text of the request is not kept. A row is committed
before the sample is handed out, so `kill -9` loses no more than what was still in flight (in
write-ahead mode a committed row outlives the process; only a power cut can take the last ones).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from refute.core.files import parse_json
from refute.core.storage import cache_folder
from refute.errors import InputError
from refute.models.contract import Completion
from refute.models.serialization import completion_from, completion_json, number_from

_FORMAT = 1
_WAIT = 60.0
"""Seconds to wait for another process that is writing."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer, with what its request cost."""

    completion: Completion
    opens: bool = True
    """It was the first of its request."""
    seconds: float = 0.0
    """How long the request took; 0 for all samples but the first."""


def cache_path() -> Path:
    """The file that samples are kept in."""
    return cache_folder() / "samples.sqlite3"


class SampleCache:
    """An open cache. Use as a context manager, or close it."""

    def __init__(self, path: Path | None) -> None:
        """Open or make it; None: in memory only.

        Raises `InputError` where the file cannot be used, here and in every later call.
        """
        self._path = path
        with self._told():
            if path is not None:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._rows = sqlite3.connect(
                path or ":memory:", timeout=_WAIT, isolation_level=None, check_same_thread=False
            )
        try:
            with self._told():
                self._prepare()
        except BaseException:
            self._rows.close()
            raise

    def get(self, request: str, first: int, n: int) -> dict[int, Sample]:
        """Those of the samples number `first` to `first + n - 1` that are there, by number."""
        with self._told():
            found = self._rows.execute(
                "SELECT number, answer FROM sample WHERE request = ? AND number >= ? AND number < ?"
                " ORDER BY number",
                (bytes.fromhex(request), first, first + n),
            ).fetchall()
            return {number: _decoded(answer) for number, answer in found}

    def put(self, request: str, first: int, samples: Sequence[Sample]) -> list[Sample]:
        """Keep samples from number `first` on; on disk when this returns.

        Returns them as they are in the cache now: where another process was faster, its sample
        stands, so that a request and a number mean one sample for everybody.
        """
        key = bytes.fromhex(request)
        with self._told():
            self._rows.execute("BEGIN IMMEDIATE")
            try:
                kept = self._rows.executemany(
                    "INSERT OR IGNORE INTO sample VALUES (?, ?, ?)",
                    [(key, first + at, _encoded(sample)) for at, sample in enumerate(samples)],
                ).rowcount
                self._rows.execute("COMMIT")
            except BaseException:
                if self._rows.in_transaction:
                    self._rows.execute("ROLLBACK")
                raise
        if kept == len(samples):
            return list(samples)
        stored = self.get(request, first, len(samples))
        return [stored[first + at] for at in range(len(samples))]

    def close(self) -> None:
        """Close the file; idempotent."""
        self._rows.close()

    def __enter__(self) -> SampleCache:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _prepare(self) -> None:
        version = self._rows.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _FORMAT):
            raise InputError(
                f"{self._path}: the cache is of another version of refute: move it away"
            )
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = NORMAL")
        self._rows.execute("BEGIN IMMEDIATE")  # one process makes the table, the others wait
        self._rows.execute(
            "CREATE TABLE IF NOT EXISTS sample (request BLOB NOT NULL, number INTEGER NOT NULL,"
            " answer TEXT NOT NULL, PRIMARY KEY (request, number))"
        )
        self._rows.execute(f"PRAGMA user_version = {_FORMAT}")
        self._rows.execute("COMMIT")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the file as one line."""
        try:
            yield
        except OSError as error:
            raise InputError(f"{self._path}: {error.strerror} (the sample cache)") from None
        except sqlite3.ProgrammingError:
            raise  # used after it was closed: an error of the program
        except sqlite3.OperationalError as error:
            raise InputError(f"{self._path}: the sample cache cannot be used: {error}") from None
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{self._path}: the sample cache is damaged ({error}): move the file away"
            ) from None


def _encoded(sample: Sample) -> str:
    document = completion_json(sample.completion)
    if sample.opens:
        document["seconds"] = round(sample.seconds, 3)
    return json.dumps(document, separators=(",", ":"))


def _decoded(answer: str) -> Sample:
    document = parse_json(answer)
    completion = completion_from(document)
    return Sample(completion, "seconds" in document, number_from(document, "seconds", 0.0))
