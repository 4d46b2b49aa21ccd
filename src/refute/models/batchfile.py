"""The files of a batch folder: open requests, answers that came, in OpenAI's batch format.

`requests.jsonl` holds open requests only, so that it can be sent as it is; `responses*.jsonl` are
what came back, never changed here. It grows while problems are worked on; once a start has come to
its end, `requests.complete` is there. A request's `custom_id` is the digest of what was asked, and
the numbers of the samples that it asks for, so any row of any file says by itself what it answers.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from refute.core.storage import append_whole, open_file, parse_json, read_file, write_atomically
from refute.errors import InputError
from refute.models.contract import Sampling
from refute.models.dialects import completions, read_complaint

REQUESTS = "requests.jsonl"
COMPLETE = "requests.complete"
"""Stands beside the requests, with their number, once a start has written all of its own."""
Fault = Literal["", "passing", "context", "refused"]
_FAULTS: dict[str, Fault] = {
    "context": "context",
    "parameter": "refused",
    "refused": "refused",
}
"""By the kind of a complaint; whatever else can be fixed outside passes."""


@dataclass(frozen=True, slots=True)
class BatchPart:
    """Samples number `first` to `first + n - 1` of the request with this digest."""

    digest: str
    """40 hexadecimal digits."""
    first: int
    n: int

    @property
    def custom_id(self) -> str:
        """At most 64 characters, as providers demand (for fewer than 10**11 samples)."""
        return f"{self.digest}-{self.first}-{self.n}"

    @classmethod
    def of(cls, custom_id: str) -> BatchPart | None:
        """None: not an id of ours."""
        match = re.fullmatch(r"([0-9a-f]{40})-(\d{1,9})-(\d{1,5})", custom_id)
        return match and cls(match[1], int(match[2]), int(match[3]))


@dataclass(frozen=True, slots=True)
class BatchAnswer:
    """One row of an answer file."""

    part: BatchPart
    where: str
    """FILE:LINE."""
    body: Mapping[str, Any] | None
    """The chat completion; None: an error."""
    error: str = ""
    fault: Fault = ""
    """Of an error. `passing`: asking again helps (rate limit, expired batch, key, quota).
    `context`: the prompt is too long. `refused`: this request will never work."""


class RequestFile:
    """`requests.jsonl`, safe for several threads and processes."""

    def __init__(self, folder: Path, answers: Sequence[BatchAnswer], tag: str) -> None:
        """Make the folder where it is missing; drop requests that are answered, and those whose
        digests do not end with `tag` (asked of another model). Raises `InputError`.
        """
        self.path = folder / REQUESTS
        self._folder = folder
        self._mutex = threading.Lock()
        self._open: dict[str, set[int]] = {}
        self._seen: tuple[int, int, int] | None = None
        self._mark = folder / COMPLETE
        answered = {answer.part for answer in answers}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                self._mark.unlink(missing_ok=True)
                rows = list(_open_requests(self.path))
                kept = {
                    part: line
                    for part, line in rows
                    if part.digest.endswith(tag) and part not in answered
                }
                others = sum(not part.digest.endswith(tag) for part, _ in rows)
                if others:
                    _remark(f"{self.path}: dropped {others} requests to another model")
                if len(kept) < len(rows) or _torn(self.path):
                    write_atomically(self.path, "".join(f"{line}\n" for line in kept.values()))
                self._note(kept)
        except OSError as error:
            raise InputError(f"{folder}: cannot be used: {error.strerror}") from None

    def add(
        self,
        digest: str,
        numbers: Sequence[int],
        body: Callable[[BatchPart], Mapping[str, Any]],
        *,
        alone: Set[int] = frozenset(),
    ) -> None:
        """Ask for samples with these numbers (ascending), but for those that the file asks for.

        Neighbours share a request, those in `alone` do not. Raises `InputError`.
        """
        try:
            with self._mutex, self._locked():
                if _state(self.path) != self._seen:  # another process wrote it
                    self._note(part for part, _ in _open_requests(self.path))
                asked = self._open.setdefault(digest, set())
                new = [number for number in numbers if number not in asked]
                lines = [_line(part, body(part)) for part in _parts(digest, new, alone)]
                if lines:
                    self._mark.unlink(missing_ok=True)
                    with open_file(self.path, append=True) as file:
                        append_whole(file, "".join(lines).encode("ascii"))
                    asked.update(new)
                    self._seen = _state(self.path)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written: {error.strerror}") from None

    @property
    def waiting(self) -> int:
        """Samples that are asked for."""
        return sum(map(len, self._open.values()))

    def finish(self) -> None:
        """Say that the file is whole: whoever waits for it may send it. Raises `InputError`."""
        try:
            with self._mutex, self._locked():
                if _state(self.path) != self._seen:
                    self._note(part for part, _ in _open_requests(self.path))
                rows = sum(1 for _ in _rows(self.path))
                write_atomically(self._mark, f"{rows}\n")
        except OSError as error:
            raise InputError(f"{self._mark}: cannot be written: {error.strerror}") from None

    def _note(self, parts: Iterable[BatchPart]) -> None:
        """Note the requests of the file as it is now."""
        self._open = {}
        for part in parts:
            asked = self._open.setdefault(part.digest, set())
            asked.update(range(part.first, part.first + part.n))
        self._seen = _state(self.path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with open_file(self._folder / "requests.lock", append=True) as file:
            try:
                import fcntl
            except ImportError:  # no such locks on this platform: one process at a time, please
                pass
            else:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX)
            yield


def read_answers(folder: Path) -> list[BatchAnswer]:
    """The rows of `responses*.jsonl`, in the order of the files' names and lines.

    A torn last line and rows that answer somebody else's requests are left out with a remark on
    stderr. Raises `InputError` for any other row that is not an answer: FILE:LINE: field.
    """
    answers, foreign = [], 0
    for path in sorted(folder.glob("responses*.jsonl")):
        for number, row in _rows(path):
            try:
                answer = _answer(row, f"{path}:{number}")
            except ValueError as error:
                raise InputError(f"{path}:{number}: {error}") from None
            if answer is None:
                foreign += 1
            else:
                answers.append(answer)
    if foreign:
        _remark(f"{folder}: {foreign} answers are to requests that are not refute's")
    return answers


def _answer(row: Mapping[str, Any], where: str) -> BatchAnswer | None:
    """Raises `ValueError`, its text says which field is wrong."""
    name = row.get("custom_id")
    if not isinstance(name, str):
        raise ValueError("custom_id: missing or not a text")
    part = BatchPart.of(name)
    if part is None:
        return None
    response, error = row.get("response"), row.get("error")
    if not isinstance(response, dict):
        if not isinstance(error, dict):
            raise ValueError("response: missing, and no error either")
        text = read_complaint(500, json.dumps({"error": error})).detail
        return BatchAnswer(part, where, None, error=text, fault="passing")
    status, body = response.get("status_code", 200), response.get("body")
    if not isinstance(status, int):
        raise ValueError("response.status_code: not a whole number")
    if status >= 300:
        complaint = read_complaint(status, json.dumps(body))
        text = f"status {status}: {complaint.detail}"
        return BatchAnswer(
            part, where, None, error=text, fault=_FAULTS.get(complaint.kind, "passing")
        )
    if not isinstance(body, dict):
        raise ValueError("response.body: not a JSON object")
    try:
        completions(body, Sampling(), n=part.n)
    except ValueError as fault:
        raise ValueError(f"response.body.{fault}") from None
    return BatchAnswer(part, where, body)


def _parts(digest: str, numbers: Sequence[int], alone: Set[int]) -> Iterator[BatchPart]:
    """Runs of numbers as requests."""
    run: list[int] = []
    for number in numbers:
        if run and (number != run[-1] + 1 or number in alone or run[-1] in alone):
            yield BatchPart(digest, run[0], len(run))
            run = []
        run.append(number)
    if run:
        yield BatchPart(digest, run[0], len(run))


def _open_requests(path: Path) -> Iterator[tuple[BatchPart, str]]:
    """The requests, each with its line."""
    for number, row in _rows(path):
        name = row.get("custom_id")
        part = BatchPart.of(name) if isinstance(name, str) else None
        if part is None:
            raise InputError(
                f"{path}:{number}: custom_id: not one of refute's; delete the file: "
                "what is still open is written again"
            )
        yield part, json.dumps(row, separators=(",", ":"))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line number and object of each row. Raises `InputError`."""
    try:
        lines = read_file(path).split(b"\n")
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line)
        except ValueError as error:
            if number == len(lines):  # no line feed after it: whoever writes it is not done
                _remark(f"{path}:{number}: left out a torn last line")
                return
            raise InputError(f"{path}:{number}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}:{number}: not a JSON object")
        yield number, row


def _line(part: BatchPart, body: Mapping[str, Any]) -> str:
    row = {
        "custom_id": part.custom_id,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body,
    }
    return json.dumps(row, separators=(",", ":")) + "\n"


def _torn(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read() != b"\n"
    except OSError:  # missing or empty
        return False


def _state(path: Path) -> tuple[int, int, int] | None:
    """Return values that change when another process changes the file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _remark(text: str) -> None:
    print(f"note: {text}", file=sys.stderr)
