"""Rows of prompt and completion as tokens, written as `models/` writes a request at inference.

The prompt goes through the very function that `hf:` uses (`Checkpoint.prompt`), so that what the
model is trained on and what it is asked later are the same tokens. The loss is on the completion
only, its end of turn included: that is where the model learns to stop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from refute.errors import ContextTooLong, InputError
from refute.models.contract import Message
from refute_lab.datasets.rows import Row, read_rows
from refute_lab.models.checkpoint import Checkpoint, find, reasons
from refute_lab.train import GrpoSettings, TrainSettings

T = TypeVar("T")

IGNORED = -100
"""The label of a token without loss, as in PyTorch and transformers."""


@dataclass(frozen=True, slots=True)
class Example:
    """One row of training data."""

    prompt: str
    """Text of the user."""
    completion: str
    """Answer of the assistant."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""
        return (Message("user", self.prompt),)


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
    """The rows of a JSONL file with the fields `prompt` and `completion`, both texts.

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


def _read(path: Path, read: Callable[[Row], T], none: str = "holds no rows") -> list[T]:
    if not path.is_file():
        raise InputError(f"{path}: no such file; `refute train data` makes it")
    rows = [read(row) for row in read_rows(path)]
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


def _example(row: Row) -> Example:
    return Example(_text(row, "prompt"), _text(row, "completion"))


def _preference(row: Row) -> Preference:
    prompt = _text(row, "prompt")
    chosen, rejected = (Example(prompt, _text(row, name)) for name in ("chosen", "rejected"))
    return Preference(chosen, rejected)


def _text(row: Row, name: str) -> str:
    """A text, or that of the only message of a list."""
    found = row.fields.get(name)
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], dict):
        found = found[0].get("content")
    if not isinstance(found, str) or not found.strip():
        raise row.error(name, "must be a text")
    return found


# -- estimate --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Estimate:
    """Size, memory and steps of a training."""

    rows: int
    too_long: int
    steps: int
    tokens: int
    """Of all epochs, prompts included."""
    trained_tokens: int
    """Of those, the ones with loss."""
    memory_gib: float | None
    """Of each device; None: not known."""
    assumption: str = ""
    """Assumption behind the tokens, where they are not counted."""


def rows_seen(rows: int, steps: int, batch: int) -> int:
    """Count the rows that so many steps take, each row once an epoch; the last step of an epoch
    takes the rest."""
    epochs, more = divmod(steps, -(-rows // batch))
    return epochs * rows + min(more * batch, rows)


def at_most(rows: int, too_long: int, tokens: int, settings: GrpoSettings) -> Estimate:
    """Of `grpo`, whose answers nobody knows before. `tokens`: of all prompts."""
    steps = settings.steps(rows)
    answers = steps * settings.batch
    return Estimate(
        rows=rows,
        too_long=too_long,
        steps=steps,
        tokens=answers * settings.max_completion + answers * tokens // rows,
        trained_tokens=answers * settings.max_completion,
        memory_gib=None,
        assumption=f"{settings.max_completion} tokens an answer, the most there can be",
    )


_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Shape:
    """Dimensions of a model that its cost depends on."""

    parameters: int
    linear: int
    """Parameters in matrices that every token is multiplied with: all but the embedding table."""
    adapter: int
    """Parameters of the LoRA adapter."""
    layers: int
    hidden: int
    vocabulary: int


def shape_of(settings: TrainSettings) -> Shape:
    """Read a model's dimensions from its configuration alone, without weights. Raises
    `ModelUnavailable`."""
    import torch
    import transformers

    auto: Any = transformers.AutoConfig
    with reasons(f"{settings.model}: its configuration cannot be read"):
        config = auto.from_pretrained(find(settings.model).base)
        maker: Any = transformers.AutoModelForCausalLM
        with torch.device("meta"):
            model = maker.from_config(config)
    linears = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    head = model.get_output_embeddings()
    return Shape(
        parameters=sum(p.numel() for p in model.parameters()),
        linear=sum(module.weight.numel() for module in linears),
        adapter=settings.lora_rank
        * sum(m.in_features + m.out_features for m in linears if m is not head),
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        vocabulary=config.vocab_size,
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """The data of a run of `refute_lab.train.sft` or `dpo`, ready for the trainer."""

    rows: list[Any]
    """`Encoded`, or pairs of them."""
    long: int
    """Rows that were left out because they have more tokens than `max_length`."""
    digest: str
    """Of the data file."""

    @property
    def sequences(self) -> list[Encoded]:
        """Token sequences, as the model sees them: of a pair two."""
        return [one for row in self.rows for one in (row if isinstance(row, tuple) else (row,))]

    @property
    def tokens(self) -> int:
        """Tokens of all sequences, prompts included."""
        return sum(len(one.input_ids) for one in self.sequences)

    def facts(self) -> dict[str, Any]:
        """For `settings.json`."""
        return facts_of(self.digest, len(self.rows), self.long, self.tokens)


def facts_of(digest: str, rows: int, too_long: int, tokens: int) -> dict[str, Any]:
    """Describe the data of a run, for `settings.json`."""
    return {"sha256": digest, "rows": rows, "too_long": too_long, "tokens": tokens}


def digest_of(data: Path) -> str:
    """Return the SHA-256 of a file."""
    with data.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def estimate(prepared: Prepared, settings: TrainSettings) -> Estimate:
    """Steps and tokens exactly, memory roughly."""
    shape, sequences = shape_of(settings), prepared.sequences
    steps = settings.steps(len(prepared.rows))
    share = rows_seen(len(prepared.rows), steps, settings.batch) / len(prepared.rows)
    tokens = round(prepared.tokens * share)
    loss = sum(label >= 0 for row in sequences for label in row.labels)
    longest = max(len(row.input_ids) for row in sequences)
    at_once = settings.micro_batch * len(sequences) // len(prepared.rows)
    return Estimate(
        rows=len(prepared.rows),
        too_long=prepared.long,
        steps=steps,
        tokens=tokens,
        trained_tokens=round(loss * share),
        memory_gib=_memory(shape, settings, at_once * longest) / _GIB,
    )


def _memory(shape: Shape, settings: TrainSettings, tokens: int) -> float:
    """Bytes for weights, adapter with gradients and Adam's moments, and activations."""
    width = 2 if settings.bf16 else 4
    weights: float = shape.parameters * width
    if settings.quantize:  # 4 bits and half a bit of scales; all but matrices stay as they are
        weights = shape.linear * 4.5 / 8 + (shape.parameters - shape.linear) * width
    one_layer = 34 * tokens * shape.hidden * width / 2  # Korthikanti et al. 2022, without attention
    kept = shape.layers * tokens * shape.hidden * width
    activations = kept + one_layer if settings.gradient_checkpointing else shape.layers * one_layer
    return weights + 16 * shape.adapter + activations + tokens * shape.vocabulary * 4
