"""The models that the paper trains (UTGen, arXiv 2502.01619), by short names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["PRESETS", "Preset"]


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
