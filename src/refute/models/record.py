"""Write down what a model says, in the file that `replay` reads (its docstring has the format)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from refute.core.files import append_whole, open_file
from refute.core.jsontext import parse_json
from refute.errors import InputError
from refute.models.contract import Completion, Message, Sampling
from refute.models.serialization import (
    completion_json,
    digest,
    message_from,
    message_json,
    sampling_from,
    sampling_json,
)


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
