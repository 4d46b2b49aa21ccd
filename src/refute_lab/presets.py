"""The papers' values, as presets. docs/utgen.md says row by row what each stands for.

- `paper`: what the text of UTGen (arXiv 2502.01619) says, and where it is silent what its released
  code does;
- `released`: the released code (archiki/UTGenDebug), where that differs;
- `released-intrinsic`: its scripts for attack rate and output accuracy, without debugging.

For issues `paper` is the first version of SWT-Bench (arXiv 2406.12952v1): docs/swt-methods.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from refute.core.methods import Level
from refute.core.registry import Preset

_PAPER = Preset(
    "paper",
    "UTGen as its paper has it",
    {
        "guard": False,
        "raises": False,
        "shown": "last",
        "vote_by": "continuation",
        "max_tokens": 8192,
        "vote_tokens": 2048,
    },
    {"evaluation": "paper", "subset": "extractable", "editor_tests": 1},
)
_RELEASED = replace(
    _PAPER,
    name="released",
    summary="UTGen as its released code has it",
    options={
        **_PAPER.options,
        "shown": "first",
        "ties": True,
        "tries_per_test": 4,
        "vote_temperature": 0.8,
    },
)
_INTRINSIC = Preset(
    "released-intrinsic",
    "attack rate and output accuracy as the released scripts compute them",
    {
        "m": 0,
        "vote": False,
        "raises": False,
        "guard": False,
        "temperature": 0.8,
        "max_tokens": 2560,
    },
    {"evaluation": "paper"},
)
PRESETS: Mapping[Level, Mapping[str, Preset]] = {
    "function": {one.name: one for one in (_PAPER, _RELEASED, _INTRINSIC)},
    "issue": {
        "paper": Preset(
            "paper",
            "SWT-Bench as the first version of its paper has it",
            {"strict_diff": True, "given_alone": True},
            {"patch_may_be_wrong": True, "executable": "printed", "columns": "v1"},
        )
    },
}
