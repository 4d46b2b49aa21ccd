"""Write down what a model says, in the file that `replay` reads (its docstring has the format)."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from refute.errors import InputError
from refute.models.contract import Completion, Message, Model, Sampling
from refute.models.serial import completion_json, message_json, sampling_json

__all__ = ["RecordingModel", "record_line"]


class RecordingModel:
    """A model whose every sample is appended to a file. Samples from a cache do not pass here."""

    def __init__(self, model: Model, path: Path) -> None:
        """Raises `InputError` when the file cannot be written."""
        self.recorded = model
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror} (the recording)") from None

    @property
    def name(self) -> str:
        """The name of the model that is recorded."""
        return self.recorded.name

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """What the model says, on file when this returns; see `Model.generate`."""
        answers = await self.recorded.generate(messages, n=n, sampling=sampling, first=first)
        lines = [
            record_line(messages, sampling, first + at, answer) for at, answer in enumerate(answers)
        ]
        # One write to the end of the file: lines of other processes do not come in between.
        self._file.write("".join(lines).encode())
        os.fsync(self._file.fileno())
        return answers

    async def close(self) -> None:
        """Close the file and the model; idempotent."""
        self._file.close()
        await self.recorded.close()


def record_line(
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
