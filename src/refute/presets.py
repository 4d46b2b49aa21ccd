"""Presets: named sets of option values, so that a run is what a paper or its released code ran.

`--preset NAME` gives these values to options that are not given themselves. Ours stay the defaults:
where they differ, the paper's way is known to be worse, or cannot be had everywhere. Which row of
a paper needs which option is said in docs/utgen.md and docs/swt-methods.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refute.errors import InputError

__all__ = ["PRESETS", "preset_values"]

PRESETS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "paper": {
        # SWT-Bench, arXiv 2406.12952v1
        "zeroshot": {"strict_diff": True, "given_alone": True},
        "zeroshotplus": {"given_alone": True},
        "libro": {"given_alone": True},
        "issues": {"patch_may_be_wrong": True},
        "grading": {"executable": "printed", "columns": "v1"},
    },
}
"""Preset -> method, or part of refute -> option -> value. `issues`: settings of a bench over
issues; `grading`: of grading them and of the tables made of grades."""


def preset_values(preset: str | None, of: str) -> dict[str, Any]:
    """What a preset says of a method or a part, by option; {} without a preset.

    Raises `InputError` for a preset that is none.
    """
    if preset is None:
        return {}
    if preset not in PRESETS:
        raise InputError(f"--preset {preset}: must be one of {', '.join(PRESETS)}")
    return dict(PRESETS[preset].get(of, {}))
