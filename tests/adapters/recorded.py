"""What of the frameworks the adapters touch, written down.

Each was read off the release that is named beside it; the real ones cannot be installed together.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class Model:
    """Stands for a pydantic model: fields by keyword, defaults of the class."""

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)

    def __class_getitem__(cls, item: Any) -> type[Model]:
        return cls


def install(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make a framework importable as it was recorded, and its adapter imported anew."""
    for name, members in RECORDED[package].items():
        module = ModuleType(name)
        module.__dict__.update(members)
        monkeypatch.setitem(sys.modules, name, module)
    for name in RECORDED[package]:  # `import a.b as c` reads an attribute
        parent, _, child = name.rpartition(".")
        if parent:
            monkeypatch.setattr(sys.modules[parent], child, sys.modules[name], raising=False)
    for name in [*sys.modules]:
        if name.startswith(f"refute_lab.adapters.{package}"):
            monkeypatch.delitem(sys.modules, name)


@dataclass
class Signal:
    """rLLM at 9beb6e0, `rllm/eval/types.py`."""

    name: str
    value: float
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class EvalOutput:
    """rLLM at 9beb6e0, `rllm/eval/types.py`."""

    reward: float
    is_correct: bool
    signals: list[Signal] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


def _same(function: Any) -> Any:
    return function


def _decorator(**how: Any) -> Any:
    return _same


RECORDED: dict[str, dict[str, dict[str, Any]]] = {
    "rllm": {  # 0.3.0.pre, 9beb6e0
        "rllm": {},
        "rllm.eval": {},
        "rllm.eval.reward_fns": {},
        "rllm.eval.reward_fns._helpers": {
            "extract_answer_text": lambda episode: str(episode.artifacts["answer"])
        },
        "rllm.eval.types": {"EvalOutput": EvalOutput, "Signal": Signal},
    },
    "nemo_gym": {  # 0.4.0
        "nemo_gym": {},
        "nemo_gym.base_resources_server": {
            "BaseResourcesServerConfig": Model,
            "BaseVerifyRequest": Model,
            "BaseVerifyResponse": Model,
            "SimpleResourcesServer": Model,
        },
    },
    "verifiers": {  # 0.4.0
        "verifiers": {},
        "verifiers.v1": {
            "State": Model,
            "Task": type("Task", (Model,), {"__init__": lambda self, data, config: Model.__init__(
                self, data=data, config=config)}),
            "TaskConfig": Model,
            "TaskData": Model,
            "Taskset": type("Taskset", (Model,), {"__init__": lambda self, config: Model.__init__(
                self, config=config)}),
            "TasksetConfig": Model,
            "Trace": Model,
            "reward": _same,
        },
    },
    "inspect_ai": {  # 0.3.285
        "inspect_ai": {
            "Task": lambda data, **how: SimpleNamespace(data=data, **how),
            "task": _same,
        },
        "inspect_ai.dataset": {
            "MemoryDataset": list,
            "Sample": lambda **fields: SimpleNamespace(**fields),
        },
        "inspect_ai.scorer": {
            "Score": lambda **fields: SimpleNamespace(**fields),
            "Target": Model, "accuracy": Model, "mean": Model, "stderr": Model,
            "scorer": _decorator,
        },
        "inspect_ai.solver": {"TaskState": Model, "generate": Model},
    },
}  # fmt: skip
