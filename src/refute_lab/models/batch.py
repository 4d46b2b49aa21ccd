"""`batch:DIR[?model=NAME]`: a model that is asked through OpenAI batch files.

What has no answer yet is written to `DIR/requests.jsonl` and raises `AnswersPending` (exit 3). The
file is whole once `DIR/requests.complete` stands beside it, which holds the number of its rows.
Send it as it is to whoever runs batches (OpenAI, Azure, `vllm run-batch`, a script of your own),
put what comes back into `DIR/responses.jsonl`, or into further files `DIR/responses*.jsonl`, which
may also be files of errors, and start again. The order of rows does not matter. A method of many
rounds resumes where it was, one round a start.

Every request needs the name of a model: `?model=NAME`, else `model` in `DIR/batch.toml`, else
"default". `DIR/batch.toml` may also fit the requests to what the model takes::

    model = "o4-mini"
    continues = true                                # it continues an answer, as vLLM does
    omit = ["temperature", "top_p", "max_tokens"]   # fields to leave out of a request's body
    [body]                                          # fields to add to it
    max_completion_tokens = 8192

Choices that did not come are asked for again, and so is what met an error that can pass or be
fixed outside (rate limits, an expired batch, a wrong key). Any other error is `ModelUnavailable`
until its row is removed or `batch.toml` is changed: changed settings are another model.

The folder's files are in OpenAI's batch format. `requests.jsonl` holds open requests only, so that
it can be sent as it is; answers are never changed here. A request's `custom_id` is the digest of
what was asked, and the numbers of the samples that it asks for, so any row of any file says by
itself what it answers.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import os
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, convert

from refute.core.storage import (
    append_whole,
    open_file,
    parse_json,
    parse_toml,
    read_file,
    write_atomically,
)
from refute.errors import (
    AnswersPending,
    ContextTooLong,
    InputError,
    ModelUnavailable,
    NotContinued,
)
from refute.models.contract import Completion, Message, Sampling, digest, to_be_continued
from refute.models.dialects import completions, read_complaint, request_body
from refute.models.providers import Provider

_DEFAULT = "default"


def open_batch(spec: str) -> BatchModel:
    """The model of `DIR[?model=NAME]`; the folder is made where it is missing.

    Raises `InputError` for a damaged file or settings that cannot be read.
    """
    place, _, model = spec.partition("?model=")
    if not place:
        raise InputError("batch: names no folder; write batch:DIR or batch:DIR?model=NAME")
    folder = Path(place)
    settings, answers = _settings(folder, model), read_answers(folder)
    return BatchModel(folder, settings, answers, RequestFile(folder, answers, settings.tag))


class _Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a request's body."""

    model: str = _DEFAULT
    omit: tuple[str, ...] = ()
    body: dict[str, Any] = {}
    continues: bool = False
    """True if it continues an unfinished answer; known from the settings alone."""

    @property
    def tag(self) -> str:
        """Eight hexadecimal digits of everything here; the digests of its requests end so."""
        text = json.dumps([self.model, sorted(self.omit), self.body], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def name(self, folder: Path) -> str:
        """Name of the model, or its folder while it has no name."""
        name = str(folder.resolve()) if self.model == _DEFAULT else self.model
        return f"batch:{name}" + (f"#{self.tag}" if self.omit or self.body else "")


class BatchModel:
    """See the module. Answers are read once, on opening."""

    def __init__(
        self,
        folder: Path,
        settings: _Settings,
        answers: Sequence[BatchAnswer],
        requests: RequestFile,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._name = settings.name(folder)
        self.served_name = settings.model
        """Name of the model where the requests are sent: prices go by it."""
        self.base_url = ""
        """Nobody's address: the requests are sent by hand, not to a server on this machine."""
        self._answers: dict[str, list[BatchAnswer]] = defaultdict(list)
        for answer in answers:
            self._answers[answer.part.digest].append(answer)
        self._requests = requests

    @property
    def name(self) -> str:
        """`batch:` and the model's name, or the folder where no name was given."""
        return self._name

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """Samples number `first` to `first + n - 1`, once all of them have been answered.

        Raises `AnswersPending`, `ModelUnavailable`, `ContextTooLong`, `NotContinued`, `InputError`.
        """
        if to_be_continued(messages) and not self._settings.continues:
            told = "set continues = true in batch.toml where its server continues an answer"
            raise NotContinued(f"{self.name}: {told}")
        key = digest(messages, sampling)[:32] + self._settings.tag
        samples, missing, short = self._look_up(key, sampling, first, n)
        if not missing:
            return [samples[number] for number in range(first, first + n)]

        def body(part: BatchPart) -> dict[str, Any]:
            return self._body(messages, sampling, part)

        # A server that gave fewer choices than asked for is asked for the rest one by one.
        await asyncio.to_thread(self._requests.add, key, missing, body, alone=short)
        raise AnswersPending(
            f"answers are missing: send {self._folder / REQUESTS}, put what comes back into "
            f"{self._folder / 'responses.jsonl'} and start again"
        )

    def _look_up(
        self, key: str, sampling: Sampling, first: int, n: int
    ) -> tuple[dict[int, Completion], list[int], set[int]]:
        """The samples that are there, the numbers of those that are not, and the numbers of what
        was asked for, answered, and yet did not come. Raises where a missing one never will."""
        answers = self._answers.get(key, [])
        samples: dict[int, Completion] = {}
        short: set[int] = set()
        for answer in answers:
            if answer.body is not None:
                start, end = answer.part.first, answer.part.first + answer.part.n
                came = completions(answer.body, sampling, n=answer.part.n)
                for number, completion in enumerate(came, start):
                    samples.setdefault(number, completion)
                short.update(range(start + len(came), end))
        missing = [number for number in range(first, first + n) if number not in samples]
        _refuse(answers, missing)
        return samples, missing, short

    async def close(self) -> None:
        """Mark the file of requests as whole."""
        await asyncio.to_thread(self._requests.finish)

    @property
    def waiting(self) -> int:
        """Samples that are asked for and have no answer yet."""
        return self._requests.waiting

    def _body(
        self, messages: Sequence[Message], sampling: Sampling, part: BatchPart
    ) -> dict[str, Any]:
        settings = self._settings
        body = request_body(settings.model, messages, sampling, n=part.n, first=part.first)
        kept = {name: value for name, value in body.items() if name not in settings.omit}
        return {**kept, **settings.body}


def _refuse(answers: Sequence[BatchAnswer], missing: Sequence[int]) -> None:
    """Raise where the latest word on a missing sample is an error that does not pass."""
    for number in missing:
        words = [a for a in answers if a.part.first <= number < a.part.first + a.part.n]
        if words and words[-1].fault == "context":
            raise ContextTooLong(f"{words[-1].where}: {words[-1].error}")
        if words and words[-1].fault == "refused":
            raise ModelUnavailable(
                f"{words[-1].where}: {words[-1].error} "
                "(remove the row to ask again; batch.toml may leave out fields)"
            )


def _settings(folder: Path, model: str) -> _Settings:
    """`batch.toml` of the folder, if any; a model that is given goes before the file's."""
    path = folder / "batch.toml"
    try:
        document = parse_toml(read_file(path))
        settings = convert({**document, **({"model": model} if model else {})}, _Settings)
        json.dumps(settings.body)
    except FileNotFoundError:
        return _Settings(model=model or _DEFAULT)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    except TypeError:
        raise InputError(f"{path}: body: dates have no form in JSON; write a text") from None
    return settings


# -- the files of the folder

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


BATCH = Provider(
    name="batch",
    syntax="batch:DIR",
    summary="files of requests that somebody answers",
    open=lambda rest, _: open_batch(rest),
)
