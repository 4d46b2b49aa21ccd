"""Presets: named sets of option values, each declared here and nowhere else.

`--preset NAME` sets the options of the method and the settings of a bench that it names; whatever
is given besides wins. docs/utgen.md says row by row what each stands for.

- `paper`: what the text of UTGen (arXiv 2502.01619) says, and where it is silent what its released
  code does;
- `released`: the released code (archiki/UTGenDebug), where that differs;
- `released-intrinsic`: its scripts for attack rate and output accuracy, without debugging.

For issues `paper` is the first version of SWT-Bench (arXiv 2406.12952v1): docs/swt-methods.md.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from refute.errors import InputError
from refute.methods import Level, MethodSpec
from refute.parameters import parameters_of


@dataclass(frozen=True, slots=True)
class Preset:
    """Values by name."""

    name: str
    summary: str
    """One line for people."""
    options: Mapping[str, Any]
    """Of methods, by the name of the field; those that a method lacks are passed over."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of a bench, and for issues of grading."""

    def for_method(self, spec: MethodSpec[Any, Any]) -> dict[str, Any]:
        """The options that the method has."""
        known = {one.name for one in parameters_of(spec.options)}
        return {name: value for name, value in self.options.items() if name in known}


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


def preset_of(name: str | None, level: Level) -> Preset:
    """The preset by its name; None: one that sets nothing. Raises `InputError`."""
    if name is None:
        return Preset("", "", {})
    known = PRESETS[level]
    if name not in known:
        there = f"there are {', '.join(known)}" if known else f"methods for an {level} have none"
        raise InputError(f"--preset {name}: no such preset; {there}")
    return known[name]


def departures(
    preset: Preset, spec: MethodSpec[Any, Any], given: Collection[str], settings: Mapping[str, Any]
) -> str:
    """What a preset sets that is not the default, in one line: "--no-guard, --shown last...".

    `given`: what the user gave, which the preset leaves alone. `settings`: the defaults of a
    bench's settings.
    """
    mine, parts = preset.for_method(spec), []
    for one in parameters_of(spec.options):
        if one.name in mine and one.name not in given and mine[one.name] != one.default:
            value = mine[one.name]
            flag = one.flags[0]
            if one.kind is bool:
                parts.append(flag if value else one.flags[-1])
            else:
                parts.append(f"{flag} {value} (default {_shown(one.default)})")
    for name, value in preset.settings.items():
        if name in settings and name not in given and value != settings[name]:
            flag = "--" + name.replace("_", "-")
            parts.append(f"{flag} {value} (default {_shown(settings[name])})")
    return ", ".join(parts)


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
