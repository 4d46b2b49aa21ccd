"""Rows of prompt and completion as tokens, written as `models/` writes a request at inference.

The prompt goes through the very function that `hf:` uses (`Checkpoint.prompt`), so that what the
model is trained on and what it is asked later are the same tokens. The loss is on the completion
only, its end of turn included: that is where the model learns to stop.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from refute.errors import ContextTooLong, InputError
from refute.models.checkpoint import Checkpoint, find, reasons
from refute.models.contract import Message

T = TypeVar("T")

IGNORED = -100
"""The label of a token without loss, as in PyTorch and transformers."""


@dataclass(frozen=True, slots=True)
class Example:
    """One row of training data."""

    prompt: str
    """What the user says."""
    completion: str
    """What the assistant answers."""
    before: tuple[Message, ...] = ()
    """What was said before."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is asked."""
        return (*self.before, Message("user", self.prompt))


@dataclass(frozen=True, slots=True)
class Preference:
    """A pair of answers to one prompt."""

    chosen: Example
    rejected: Example


@dataclass(frozen=True, slots=True)
class Encoded:
    """One row as tokens."""

    input_ids: list[int]
    labels: list[int]
    """The token itself where it counts for the loss, `IGNORED` where it does not."""


def read_examples(path: Path) -> list[Example]:
    """The rows of a JSONL file with the fields `prompt` and `completion`, both texts; `before`,
    where it is there, holds the messages before the prompt (`role` and `content`).

    Raises `InputError`, with the line, for anything else and for a file without rows.
    """
    return _read(path, _example)


def read_preferences(path: Path) -> list[Preference]:
    """The pairs of a JSONL file with the fields `prompt`, `chosen` and `rejected`, in TRL's
    conversational form (lists of messages, of which each holds one) or as texts.

    Raises `InputError` as `read_examples`.
    """
    none = "holds no pairs; they are made of a model's attempts: refute train data --model"
    return _read(path, _preference, none)


def _read(
    path: Path, read: Callable[[dict[str, Any], str], T], none: str = "holds no rows"
) -> list[T]:
    rows = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    where = f"{path}:{number}"
                    rows.append(read(_object(line, where), where))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; `refute train data` makes it") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text") from None
    if not rows:
        raise InputError(f"{path}: {none}")
    return rows


def encode(example: Example, checkpoint: Checkpoint) -> Encoded:
    """The row as tokens. `checkpoint`: any with the tokenizer; its weights are not used.

    Raises `ContextTooLong`, `ModelUnavailable` where the chat template rejects the prompt, and
    `InputError` where it writes an answer in another way than it asks for one.
    """
    prompt = checkpoint.prompt(example.messages)
    whole = checkpoint.exchange(example.messages, example.completion)
    if whole[: len(prompt)] != prompt:
        raise InputError(
            "the tokenizer's chat template does not continue its own prompt with the answer; "
            "give the model a template that does"
        )
    answer, end = whole[len(prompt) :], checkpoint.tokenizer.eos_token_id
    if end in answer:  # what a template writes after the end of the turn is never generated
        answer = answer[: len(answer) - answer[::-1].index(end)]
    elif end is not None:
        answer.append(end)
    return Encoded([*prompt, *answer], [*[IGNORED] * len(prompt), *answer])


def encode_all(
    examples: Iterable[Example], checkpoint: Checkpoint, *, max_length: int
) -> tuple[list[Encoded], int]:
    """The rows of at most `max_length` tokens, and how many were longer."""
    rows, long = [], 0
    for example in examples:
        try:
            row = encode(example, checkpoint)
        except ContextTooLong:
            row = None
        if row is None or len(row.input_ids) > max_length:
            long += 1
        else:
            rows.append(row)
    return rows, long


def tokenizer_of(model: str) -> Checkpoint:
    """The tokenizer of a folder or id, ready for `encode`; without weights.

    Raises `ModelUnavailable` and `InputError`.
    """
    import transformers

    source = find(model)
    with reasons(f"{source.base}: its tokenizer cannot be loaded"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(source.base)
    has_template = bool(getattr(tokenizer, "chat_template", None))
    return Checkpoint(None, tokenizer, "cpu", None, has_template)


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise InputError(f"{where}: not a JSON object")
    return row


def _example(row: dict[str, Any], where: str) -> Example:
    prompt, completion = (_text(row.get(name), name, where) for name in ("prompt", "completion"))
    return Example(prompt, completion, tuple(_turns(row.get("before") or [], where)))


def _turns(before: Any, where: str) -> Iterator[Message]:
    for turn in before if isinstance(before, list) else [before]:
        if not isinstance(turn, dict) or turn.get("role") not in ("system", "user", "assistant"):
            raise InputError(f"{where}: before: must be messages with a role and a content")
        yield Message(turn["role"], _text(turn.get("content"), "before", where))


def _preference(row: dict[str, Any], where: str) -> Preference:
    prompt, chosen, rejected = (
        _text(_content(row.get(name)), name, where) for name in ("prompt", "chosen", "rejected")
    )
    return Preference(Example(prompt, chosen), Example(prompt, rejected))


def _content(messages: Any) -> Any:
    """The text of the only message."""
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], dict):
        return messages[0].get("content")
    return messages


def _text(found: Any, name: str, where: str) -> str:
    if not isinstance(found, str) or not found.strip():
        raise InputError(f"{where}: {name}: must be a text")
    return found
