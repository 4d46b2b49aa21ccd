"""The settings of fine-tuning, each with where its value comes from.

What the user gives goes before what a preset says, that before what this machine offers, and that
before the paper's value (UTGen, arXiv 2502.01619, appendix B).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

from refute.errors import InputError

__all__ = ["PRESETS", "Packing", "Preset", "Resolved", "SftSettings", "resolve"]

Packing = Literal["none", "flat", "blocks"]

_LOWEST = {
    "lora_rank": 1,
    "lora_alpha": 1,
    "batch": 1,
    "micro_batch": 1,
    "epochs": 0,
    "max_length": 2,
    "max_steps": 0,
    "save_steps": 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SftSettings:
    """Everything that the result of fine-tuning depends on, besides the data and the versions."""

    model: str
    """A folder, or the id of a repository on the model hub."""
    lora_rank: int = 16
    lora_alpha: int = 32
    lora_dropout: float = 0.05
    learning_rate: float = 5e-6
    schedule: str = "cosine"
    warmup_ratio: float = 0.0
    """Share of the steps in which the learning rate rises, in [0, 1)."""
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    batch: int = 16
    """Rows in one optimizer step, over all devices (blocks of rows with packing `blocks`)."""
    epochs: float = 10.0
    max_steps: int = 0
    """Stop after so many optimizer steps; 0: as `epochs` says."""
    save_steps: int = 0
    """Optimizer steps between two checkpoints; 0: one for each epoch."""
    max_length: int = 4096
    """Tokens of a row; longer ones are left out, never cut."""
    seed: int = 0
    quantize: bool = False
    """QLoRA: the base model's weights in 4-bit NormalFloat."""
    micro_batch: int = 4
    """Rows on one device at a time; `batch` is reached by accumulating gradients."""
    packing: Packing = "none"
    """`none`: rows padded to the longest of a micro-batch. `flat`: the rows of a micro-batch one
    after the other in one sequence, without padding; a row sees itself only. `blocks`: rows put
    together into blocks of up to `max_length` tokens; a batch is then so many blocks."""
    bf16: bool = False
    """Weights and arithmetic in bfloat16 (the adapter's weights stay in float32)."""
    gradient_checkpointing: bool = True
    attention: str = "sdpa"
    """Of transformers: `sdpa`, `flash_attention_2`, `eager`."""

    def __post_init__(self) -> None:
        """Raises `InputError` for a value that makes no sense."""
        for name, low in _LOWEST.items():
            value = getattr(self, name)
            if value < low:
                raise InputError(f"{name} = {value}: must be at least {low}")
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate = {self.learning_rate}: must be above 0")
        for name in ("lora_dropout", "warmup_ratio"):
            value = getattr(self, name)
            if not 0 <= value < 1:
                raise InputError(f"{name} = {value}: must be at least 0 and below 1")
        if not self.epochs and not self.max_steps:
            raise InputError("epochs = 0 and max_steps = 0: nothing would be trained")
        if self.packing not in ("none", "flat", "blocks"):
            raise InputError(f"packing = {self.packing}: must be none, flat or blocks")

    def steps(self, rows: int) -> int:
        """Optimizer steps of a run over so many rows (with packing `blocks`, at most so many)."""
        epoch = math.ceil(rows / self.batch)
        steps = max(1, math.ceil(epoch * self.epochs))
        if not self.max_steps:
            return steps
        return min(steps, self.max_steps) if self.epochs else self.max_steps


@dataclass(frozen=True, slots=True)
class Resolved:
    """Settings, and for each where it comes from: a few words for people."""

    settings: SftSettings
    origins: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """One line for each setting: name, value, origin."""
        values = asdict(self.settings)
        width = max(map(len, values))
        return [
            f"{name:<{width}}  {value!s:<12} {self.origins.get(name, 'default')}"
            for name, value in values.items()
        ]


_PAPER = (
    "lora_rank", "lora_alpha", "lora_dropout", "learning_rate", "schedule", "batch", "epochs",
)  # fmt: skip


def resolve(model: str, given: Mapping[str, Any]) -> Resolved:
    """The settings for a model: the name of a preset, a folder, or an id.

    `given`: what the user set, by the names of `SftSettings`; None is as good as not given. Raises
    `InputError`.
    """
    own = {name: value for name, value in given.items() if value is not None}
    unknown = sorted(own.keys() - {f.name for f in fields(SftSettings)})
    if unknown:
        raise InputError(f"{unknown[0]}: no such setting of training")
    preset = PRESETS.get(model)
    settings = SftSettings(model=model if preset is None else preset.model)
    origins = {f.name: "the paper" if f.name in _PAPER else "default" for f in fields(SftSettings)}
    layers: list[tuple[str, Mapping[str, Any]]] = [("this machine", _machine())]
    if preset is not None:
        layers.append((f"preset {model}", {"model": preset.model, **preset.settings}))
    layers.append(("given", {"model": settings.model, **own} if preset is None else own))
    for origin, values in layers:
        settings = replace(settings, **values)
        origins.update(dict.fromkeys(values, origin))
    if settings.packing == "flat" and not settings.attention.startswith("flash"):
        # Without such kernels attention runs over the whole sequence and masks most of it out.
        if "packing" in own:
            raise InputError("packing = flat needs attention = flash_attention_2")
        settings = replace(settings, packing="none")
        origins["packing"] = "no flash attention"
    return Resolved(settings, origins)


def _machine() -> dict[str, Any]:
    """What the device offers. Needs torch."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        return {}  # a plan is made elsewhere than the training
    import torch

    if not torch.cuda.is_available():
        return {"bf16": False, "micro_batch": 4, "gradient_checkpointing": False}
    flash = importlib.util.find_spec("flash_attn") is not None
    return {
        "bf16": torch.cuda.is_bf16_supported(),
        "packing": "flat" if flash else "none",
        "attention": "flash_attention_2" if flash else "sdpa",
    }


# -- presets --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preset:
    """A model, and settings of training (names of `SftSettings`) that differ for it."""

    model: str
    settings: Mapping[str, Any] = field(default_factory=dict)


PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        "llama3-8b": Preset("meta-llama/Meta-Llama-3-8B-Instruct"),
        "llama3.1-8b": Preset("meta-llama/Meta-Llama-3.1-8B-Instruct"),
        "qwen2.5-coder-7b": Preset("Qwen/Qwen2.5-Coder-7B-Instruct"),
        # 4 bits: 64 GB of weights would leave no room on one GPU of 80 GB.
        "qwen2.5-coder-32b": Preset(
            "Qwen/Qwen2.5-Coder-32B-Instruct", {"quantize": True, "micro_batch": 1}
        ),
    }
)
