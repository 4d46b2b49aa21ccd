"""UTGen (arXiv 2502.01619): training data, fine-tuning, and the choice of a checkpoint."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Literal, TypeVar, overload

from refute.core.parameters import checked, parameter
from refute.errors import InputError

Packing = Literal["none", "flat", "blocks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainSettings:
    """Settings that a training's result depends on, besides data and versions."""

    training: ClassVar[str]
    """Name of the command."""
    model: str
    """A folder, or the id of a repository on the model hub."""
    lora_rank: int = parameter(16, "", at_least=1)
    lora_alpha: int = parameter(32, "", at_least=1)
    lora_dropout: float = parameter(0.05, "", at_least=0)
    learning_rate: float = parameter(5e-6, "", above=0)
    schedule: str = "cosine"
    warmup_ratio: float = parameter(0.0, "", at_least=0)
    """Share of the steps in which the learning rate rises, in [0, 1)."""
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    batch: int = parameter(16, "", at_least=1)
    """Rows in one optimizer step, over all devices (`sft`: blocks with packing `blocks`; `dpo`:
    pairs; `grpo`: generated answers)."""
    epochs: float = parameter(10.0, "", at_least=0)
    max_steps: int = parameter(0, "", at_least=0)
    """Stop after so many optimizer steps; 0: as `epochs` says."""
    save_steps: int = parameter(0, "", at_least=0)
    """Optimizer steps between two checkpoints; 0: one for each epoch."""
    max_length: int = parameter(4096, "", at_least=2)
    """Tokens of a row; longer ones are left out, never cut."""
    seed: int = 0
    quantize: bool = False
    """QLoRA: the base model's weights in 4-bit NormalFloat."""
    micro_batch: int = parameter(4, "", at_least=1)
    """Rows on one device at a time; `batch` is reached by accumulating gradients."""
    bf16: bool = False
    """Weights and arithmetic in bfloat16 (the adapter's weights stay in float32)."""
    gradient_checkpointing: bool = True
    attention: str = "sdpa"
    """Of transformers: `sdpa`, `flash_attention_2`, `eager`."""

    def __post_init__(self) -> None:
        """Raises `InputError` for a value that makes no sense."""
        checked(type(self), {one.name: getattr(self, one.name) for one in fields(self)})
        for name in ("lora_dropout", "warmup_ratio", "attack_credit", "right_credit"):
            if getattr(self, name, 0) >= 1:
                raise InputError(f"{name} = {getattr(self, name)}: must be below 1")
        if not self.epochs and not self.max_steps:
            raise InputError("epochs = 0 and max_steps = 0: nothing would be trained")

    def steps_of_epoch(self, rows: int) -> int:
        """Optimizer steps in which so many rows are seen once."""
        return math.ceil(rows / self.batch)

    def steps(self, rows: int) -> int:
        """Optimizer steps of a run over so many rows (with packing `blocks`, at most so many)."""
        steps = max(1, math.ceil(self.steps_of_epoch(rows) * self.epochs))
        if not self.max_steps:
            return steps
        return min(steps, self.max_steps) if self.epochs else self.max_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class SftSettings(TrainSettings):
    """Of fine-tuning on rows."""

    training: ClassVar[str] = "sft"
    packing: Packing = "none"
    """`none`: rows padded to the longest of a micro-batch. `flat`: the rows of a micro-batch one
    after the other in one sequence, without padding; a row sees itself only. `blocks`: rows put
    together into blocks of up to `max_length` tokens; a batch is then so many blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnTop(TrainSettings):
    """Of trainings that come after the first: there is a reference model to stay near to."""

    lora_dropout: float = parameter(0.0, "", at_least=0)
    """Above 0, answers are likelier and less likely by chance, too."""
    epochs: float = parameter(1.0, "", at_least=0)
    adapter: str = ""
    """The folder of an adapter (of `sft`) that is trained further, and that the reference model
    has; "": a new one on the model as it is."""
    beta: float = parameter(0.1, "", at_least=0)
    """Cost of leaving the reference model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DpoSettings(_OnTop):
    """Of direct preference optimization (Rafailov et al., arXiv 2305.18290)."""

    training: ClassVar[str] = "dpo"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrpoSettings(_OnTop):
    """Of group relative policy optimization (Shao et al., arXiv 2402.03300)."""

    training: ClassVar[str] = "grpo"
    beta: float = parameter(0.0, "", at_least=0)
    """Above 0, the divergence from the reference model costs so much, and takes a pass more."""
    generations: int = parameter(8, "", at_least=2)
    """Answers to one prompt, which are compared with one another."""
    max_completion: int = parameter(1024, "", at_least=1)
    """Tokens of a generated answer; prompts that leave less of `max_length` are left out."""
    temperature: float = parameter(1.0, "", above=0)
    """Of the generated answers."""
    attack_credit: float = parameter(0.0, "", at_least=0)
    """Pay for a test that attacks, but whose output is wrong; one that is both is paid 1."""
    right_credit: float = parameter(0.0, "", at_least=0)
    """Pay of a test whose output is right, but that does not attack."""
    reward: Literal["verdict", "cure", "utrl"] = "verdict"
    """`verdict`: of one test, by the reference. `cure`, `utrl`: of a suite, by the field `programs`
    of each row (`refute_lab.rewards.suites`)."""

    def __post_init__(self) -> None:
        """Raises `InputError` for a value that makes no sense."""
        _OnTop.__post_init__(self)  # `super()` does not work in a class with slots
        if self.batch % self.generations:
            raise InputError(
                f"batch = {self.batch}: must be a multiple of generations = {self.generations}"
            )
        if self.max_completion >= self.max_length:
            raise InputError(
                f"max_completion = {self.max_completion}: must be below "
                f"max_length = {self.max_length}"
            )

    def steps_of_epoch(self, rows: int) -> int:
        """Steps in which each prompt is answered once; prompts that fill no step are left out."""
        return rows * self.generations // self.batch


S = TypeVar("S", bound=TrainSettings)


@dataclass(frozen=True, slots=True)
class Resolved(Generic[S]):
    """Settings, and for each where it comes from: a few words for people."""

    settings: S
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


KINDS: Mapping[str, type[TrainSettings]] = {
    one.training: one for one in (SftSettings, DpoSettings, GrpoSettings)
}
"""The settings of a training, by its name."""


@overload
def resolve(model: str, given: Mapping[str, Any]) -> Resolved[SftSettings]: ...
@overload
def resolve(model: str, given: Mapping[str, Any], kind: type[S]) -> Resolved[S]: ...
def resolve(
    model: str, given: Mapping[str, Any], kind: type[TrainSettings] = SftSettings
) -> Resolved[Any]:
    """The settings for a model: the name of a preset, a folder, or an id.

    `given`: what the user set, by the names of `kind`'s fields; None is as good as not given.
    Raises `InputError`.
    """
    own = {name: value for name, value in given.items() if value is not None}
    defaults = {f.name: f.default for f in fields(kind)}
    unknown = sorted(own.keys() - defaults.keys())
    if unknown:
        raise InputError(f"{unknown[0]}: unknown setting of training")
    preset = PRESETS.get(model)
    layers: list[tuple[str, Mapping[str, Any]]] = [("this machine", _machine())]
    if preset is not None:
        layers.append((f"preset {model}", {"model": preset.model, **preset.settings}))
    if adapter := own.get("adapter"):
        layers.append(("the adapter", _of_adapter(str(adapter), own)))
    chosen = model if preset is None else preset.model
    layers.append(("given", {"model": chosen, **own} if preset is None else own))
    values: dict[str, Any] = {"model": chosen}
    origins = {name: _origin(name, kind, default) for name, default in defaults.items()}
    for origin, layer in layers:
        known = {name: value for name, value in layer.items() if name in defaults}
        values.update(known)
        origins.update(dict.fromkeys(known, origin))
    if values.get("packing") == "flat" and not values.get("attention", "").startswith("flash"):
        # Without such kernels attention runs over the whole sequence and masks most of it out.
        if "packing" in own:
            raise InputError("packing = flat needs attention = flash_attention_2")
        values["packing"] = "none"
        origins["packing"] = "no flash attention"
    return Resolved(kind(**values), origins)


def _of_adapter(path: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that an adapter fixes when it is trained further. Raises `InputError`."""
    try:
        config = json.loads((Path(path) / "adapter_config.json").read_text(encoding="utf-8"))
        found = {"lora_rank": int(config["r"]), "lora_alpha": int(config["lora_alpha"])}
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"adapter = {path}: no folder of a LoRA adapter") from None
    for name, value in found.items():
        if own.get(name, value) != value:
            raise InputError(f"{name} = {own[name]}: the adapter has {value}")
    return found


def _origin(name: str, kind: type[TrainSettings], default: Any) -> str:
    """Return the origin of a setting's default."""
    if kind is SftSettings:
        return "the paper" if name in _PAPER else "default"
    shared = {f.name: f.default for f in fields(TrainSettings)}
    return "as sft" if name in shared and shared[name] == default else "default"


def _machine() -> dict[str, Any]:
    """Return the settings that the device allows. Needs torch."""
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
    """A model, and settings of training (names of `TrainSettings`) that differ for it."""

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


# -- train -----------------------------------------------------------------------------------------
