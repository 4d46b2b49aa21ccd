"""`replay:FILE`: answers that were recorded, or written by hand.

The file has one JSON object a line:

    {"messages": [{"role": "user", "content": "..."}], "sampling": {"temperature": 0.7},
     "number": 0, "completion": {"text": "..."}}

- `messages`: the request; or in its place `request`, the digest of messages and sampling that an
  error about a missing line prints.
- `sampling`: as `refute.models.contract.Sampling`, a part that is left out has its default. Left
  out as a whole: the line answers these messages however they are sampled.
- `number`: which sample of the request it is. Left out: the next of those in the file.
- `completion`: a text, or an object with `text`, `finish_reason`, `tool_calls` and `usage`.

Empty lines are skipped. Of two lines for one sample the first counts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from refute.core.files import append_whole, open_file, parse_json, read_file
from refute.errors import InputError, ModelUnavailable, NotContinued
from refute.models.contract import Completion, Message, Sampling, to_be_continued
from refute.models.serialization import (
    completion_from,
    completion_json,
    digest,
    message_from,
    message_json,
    sampling_from,
    sampling_json,
)

_Answers = dict[str, dict[int, Completion]]
"""By digest of the request and number of the sample."""


class ReplayModel:
    """A model that says again what a file holds."""

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
        completion = completion_from(document.get("completion"))
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
        messages = [message_from(one) for one in listed]
        if "sampling" not in document:
            return self._any, _loose(messages)
        return self._sampled, digest(messages, sampling_from(document["sampling"]))


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
        if lines := _new_lines(self._held, messages, sampling, first, answers):
            append_whole(self._file, "".join(lines).encode())
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; idempotent."""
        self._file.close()


class Noted:
    """A recording without a file: for whoever takes its lines to one."""

    def __init__(self) -> None:
        self._held: set[tuple[str, int]] = set()
        self.lines: list[str] = []
        """Those that nobody took."""

    def keep(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        first: int,
        answers: Sequence[Completion],
    ) -> None:
        """As `Recording.keep`."""
        self.lines += _new_lines(self._held, messages, sampling, first, answers)


def _new_lines(
    held: set[tuple[str, int]],
    messages: Sequence[Message],
    sampling: Sampling,
    first: int,
    answers: Sequence[Completion],
) -> list[str]:
    """Lines for the samples that are not yet `held`, which holds them then."""
    request = digest(messages, sampling)
    lines = []
    for number, answer in enumerate(answers, first):
        if (request, number) not in held:
            held.add((request, number))
            lines.append(_line(messages, sampling, number, answer))
    return lines


def _line(
    messages: Sequence[Message], sampling: Sampling, number: int, completion: Completion
) -> str:
    """A line of a recording, with its line feed."""
    document = {
        "messages": [message_json(message) for message in messages],
        "sampling": sampling_json(sampling),
        "number": number,
        "completion": completion_json(completion),
    }
    return json.dumps(document) + "\n"


def _held(line: bytes) -> tuple[str, int] | None:
    """Digest of the request and number of the sample on a line as we write them, else None."""
    try:
        document = parse_json(line)
        messages = [message_from(one) for one in document["messages"]]
        return digest(messages, sampling_from(document["sampling"])), int(document["number"])
    except (ValueError, TypeError, KeyError):
        return None
