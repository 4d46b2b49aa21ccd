"""Answers kept: the cache of every sample that was paid for, recordings and `replay:FILE`.

The cache is one SQLite file, safe for several processes at once.

A sample's key is the digest of its request (model, messages, sampling) and its number: a vote of 8
is 8 rows, and a vote of 12 later costs 4. The text of the request is not kept. A row is committed
before the sample is handed out, so `kill -9` loses no more than what was still in flight (in
write-ahead mode a committed row outlives the process; only a power cut can take the last ones).
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from refute.core.problems import Number
from refute.core.storage import append_whole, cache_folder, open_file, parse_json, read_file
from refute.errors import InputError, ModelUnavailable, NotContinued
from refute.models.contract import (
    Completion,
    Message,
    Sampling,
    digest,
    read_as,
    sampling_json,
    to_be_continued,
    without_defaults,
)

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
    """Seconds that the request took; 0 for all samples but the first."""


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
    document = without_defaults(sample.completion)
    if sample.opens:
        document["seconds"] = round(sample.seconds, 3)
    return json.dumps(document, separators=(",", ":"))


def _decoded(answer: str) -> Sample:
    document = parse_json(answer)
    completion = read_as(Completion, document)
    seconds: float = read_as(Number, document.get("seconds", 0.0), "seconds")
    return Sample(completion, "seconds" in document, seconds)


_Answers = dict[str, dict[int, Completion]]
"""By digest of the request and number of the sample."""


class ReplayModel:
    """A model that repeats the answers of a file, recorded or written by hand.

    The file has one JSON object a line:

        {"messages": [{"role": "user", "content": "..."}], "sampling": {"temperature": 0.7},
         "number": 0, "completion": {"text": "..."}}

    - `messages`: the request; or in its place `request`, the digest of messages and sampling that
      an error about a missing line prints.
    - `sampling`: as `refute.models.contract.Sampling`, a part that is left out has its default.
      Left out as a whole: the line answers these messages however they are sampled.
    - `number`: the index of the sample among those of the request. Left out: the next one.
    - `completion`: a text, or an object with `text`, `finish_reason`, `tool_calls` and `usage`.

    Empty lines are skipped. Of two lines for one sample the first counts.
    """

    def __init__(self, path: Path) -> None:
        """Raises `InputError` for a file that cannot be read, with the line that is wrong."""
        self._path = path
        try:
            data = read_file(path)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror} (recorded answers)") from None
        self._content = hashlib.sha256(data).hexdigest()[:12]
        self._sampled: _Answers = {}
        self._any: _Answers = {}
        # Split at line feeds only: JSON texts may hold the other separators of `splitlines`.
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                try:
                    self._add(line)
                except ValueError as error:
                    raise InputError(f"{path}:{number}: {error}") from None

    @property
    def name(self) -> str:
        """`replay:` with the file's name and content, so that no cache outlives an edit of it."""
        return f"replay:{self._path.name}@{self._content}"

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """The recorded samples. `ModelUnavailable` names the line that is missing; where an answer
        was to be continued that is `NotContinued`: whoever recorded could not do it either."""
        request = digest(messages, sampling)
        exact = self._sampled.get(request, {})
        loose = self._any.get(_loose(messages), {})
        answers = []
        for number in range(first, first + n):
            answer = exact.get(number) or loose.get(number)
            if answer is None and to_be_continued(messages):
                raise NotContinued(f"{self._path} has no answer that continues")
            if answer is None:
                line = {"request": request, "number": number, "completion": {"text": "..."}}
                raise ModelUnavailable(f"{self._path} has no answer; add: {json.dumps(line)}")
            answers.append(answer)
        return answers

    async def close(self) -> None:
        """Nothing to release."""

    def _add(self, line: bytes) -> None:
        document = parse_json(line)
        if not isinstance(document, dict):
            raise ValueError("not a JSON object")
        completion = read_as(Completion, document.get("completion"))
        table, key = self._place(document)
        known = table.setdefault(key, {})
        number = document.get("number", max(known, default=-1) + 1)
        if isinstance(number, bool) or not isinstance(number, int) or number < 0:
            raise ValueError("number: not a whole number from 0")
        known.setdefault(number, completion)

    def _place(self, document: dict[str, object]) -> tuple[_Answers, str]:
        """The table and the key that a line belongs to."""
        if isinstance(document.get("request"), str):
            return self._sampled, str(document["request"])
        listed = document.get("messages")
        if not isinstance(listed, list):
            raise ValueError("needs `messages` (a list) or `request` (a digest)")
        messages = [read_as(Message, one) for one in listed]
        if "sampling" not in document:
            return self._any, _loose(messages)
        return self._sampled, digest(messages, read_as(Sampling, document["sampling"]))


def _loose(messages: Sequence[Message]) -> str:
    """The digest of messages alone."""
    return digest(messages, Sampling())


class Recording:
    """An open file of answers. Each sample is in it once, however often it is used; where the file
    exists already, those that it lacks are added. Of two models' answers to the same request it
    holds the first, as `replay` does."""

    def __init__(self, path: Path) -> None:
        """Raises `InputError` when the file cannot be read or written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open_file(path, append=True)
            self._file.seek(0)
            self._held = {held for line in self._file.readlines() if (held := _held(line))}
        except OSError as error:
            raise InputError(f"{path}: {error.strerror} (the recording)") from None

    def keep(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        first: int,
        answers: Sequence[Completion],
    ) -> None:
        """Samples number `first` and following of a request: on file when this returns."""
        request = digest(messages, sampling)
        fresh = [n for n, _ in enumerate(answers, first) if (request, n) not in self._held]
        self._held |= {(request, number) for number in fresh}
        if lines := [_line(messages, sampling, n, answers[n - first]) for n in fresh]:
            append_whole(self._file, "".join(lines).encode())
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; idempotent."""
        self._file.close()


def _line(
    messages: Sequence[Message], sampling: Sampling, number: int, completion: Completion
) -> str:
    """A line of a recording, with its line feed."""
    document = {
        "messages": [without_defaults(message) for message in messages],
        "sampling": sampling_json(sampling),
        "number": number,
        "completion": without_defaults(completion),
    }
    return json.dumps(document) + "\n"


def _held(line: bytes) -> tuple[str, int] | None:
    """Digest of the request and number of the sample on a line as we write them, else None."""
    try:
        document = parse_json(line)
        messages = [read_as(Message, one) for one in document["messages"]]
        return digest(messages, read_as(Sampling, document["sampling"])), int(document["number"])
    except (ValueError, TypeError, KeyError):
        return None
