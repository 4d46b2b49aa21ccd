"""What a run of fine-tuning would take, before it starts: steps, tokens, memory.

Time is not stated: nobody has measured a step on the card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from refute.core import extras
from refute.errors import InputError
from refute.models.checkpoint import find, reasons
from refute_lab.train.settings import DpoSettings, GrpoSettings, TrainSettings
from refute_lab.train.tokens import Encoded, Example, read_examples, read_preferences

# -- rough -----------------------------------------------------------------------------------------


CHARACTERS = 4
"""Of a token, by and large."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """See `refute_lab.train.estimate`, and `rough_estimate`."""

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
    """Of a rough one, what the tokens rest on."""


def rows_seen(rows: int, steps: int, batch: int) -> int:
    """How many rows so many steps take, each row once in an epoch: the last step of an epoch takes
    what is left."""
    epochs, more = divmod(steps, -(-rows // batch))
    return epochs * rows + min(more * batch, rows)


def rough_estimate(data: Path, settings: TrainSettings) -> Estimate:
    """Rows and steps from the data alone, tokens by characters. Raises `InputError`."""
    if isinstance(settings, GrpoSettings):
        return _rough_grpo(data, settings)
    rows: list[tuple[Example, ...]]
    if isinstance(settings, DpoSettings):
        rows = [(pair.chosen, pair.rejected) for pair in read_preferences(data)]
    else:
        rows = [(one,) for one in read_examples(data)]
    kept = [row for row in rows if all(_whole(one) <= settings.max_length for one in row)]
    if not kept:
        raise InputError(f"{data}: all rows are longer than {settings.max_length} tokens, about")
    steps = settings.steps(len(kept))
    share = rows_seen(len(kept), steps, settings.batch) / len(kept)
    return Estimate(
        rows=len(kept),
        too_long=len(rows) - len(kept),
        steps=steps,
        tokens=round(share * sum(_whole(one) for row in kept for one in row)),
        trained_tokens=round(share * sum(_tokens(one.completion) for row in kept for one in row)),
        memory_gib=None,
        assumption=_ROUGH,
    )


def at_most(
    rows: int, too_long: int, tokens: int, settings: GrpoSettings, besides: str = ""
) -> Estimate:
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
        assumption=f"{settings.max_completion} tokens an answer, the most there can be{besides}",
    )


def _rough_grpo(data: Path, settings: GrpoSettings) -> Estimate:
    from refute_lab.train.grpo import read_problems, request

    sizes = [_tokens(request(item)) for item in read_problems(data).values()]
    kept = [size for size in sizes if size <= settings.max_length - settings.max_completion]
    if not kept:
        raise InputError(f"{data}: no prompt leaves room for an answer, about")
    return at_most(len(kept), len(sizes) - len(kept), sum(kept), settings, f"; {_ROUGH}")


_ROUGH = f"{CHARACTERS} characters a token; {extras.install('train')} tells more"


def _whole(one: Example) -> int:
    asked = sum(len(message.content) for message in one.messages)
    return -(-(asked + len(one.completion)) // CHARACTERS)


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS)


_PEAKS = (("H200", 989e12), ("H100", 989e12), ("A100", 312e12), ("L40", 181e12), ("4090", 165e12))
"""Dense bfloat16 floating-point operations a second, by part of the device's name."""
_GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Shape:
    """What the cost of a model depends on."""

    parameters: int
    linear: int
    """Parameters in matrices that every token is multiplied with: all but the embedding table."""
    adapter: int
    """Parameters of the LoRA adapter."""
    layers: int
    hidden: int
    vocabulary: int


def shape_of(settings: TrainSettings) -> Shape:
    """From the model's configuration alone; no weights are read. Raises `ModelUnavailable`."""
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


class Rows(Protocol):
    """What `refute_lab.train.sft` and `refute_lab.train.dpo` prepare."""

    @property
    def rows(self) -> Sequence[Any]: ...
    @property
    def long(self) -> int: ...
    @property
    def sequences(self) -> Sequence[Encoded]: ...
    @property
    def tokens(self) -> int: ...


def estimate(prepared: Rows, settings: TrainSettings) -> Estimate:
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


def lora_flops(shape: Shape, settings: TrainSettings) -> float:
    """Floating-point operations for one token, attention's own products left out.

    Forward two for each weight, and two more backward for the activations' gradients: frozen
    weights have none of their own. Checkpointing runs the forward pass once more.
    """
    passes = 3 if settings.gradient_checkpointing else 2
    if isinstance(settings, DpoSettings):  # the reference model's forward pass
        passes += 1
    return 2.0 * passes * shape.linear + 6.0 * shape.adapter


def _memory(shape: Shape, settings: TrainSettings, tokens: int) -> float:
    """Bytes for weights, adapter with gradients and Adam's moments, and activations."""
    width = 2 if settings.bf16 else 4
    weights: float = shape.parameters * width
    if settings.quantize:  # 4 bits and half a bit of scales; what is no matrix stays as it is
        weights = shape.linear * 4.5 / 8 + (shape.parameters - shape.linear) * width
    one_layer = 34 * tokens * shape.hidden * width / 2  # Korthikanti et al. 2022, without attention
    kept = shape.layers * tokens * shape.hidden * width
    activations = kept + one_layer if settings.gradient_checkpointing else shape.layers * one_layer
    return weights + 16 * shape.adapter + activations + tokens * shape.vocabulary * 4


def device_peak() -> float | None:
    """Dense bfloat16 operations a second of this machine's GPU; None: none, or not known."""
    import torch

    name = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return next((peak for part, peak in _PEAKS if part in name), None)
