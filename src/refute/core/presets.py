"""Presets: named sets of option values.

`--preset NAME` sets the options of the method and the settings of a bench that it names; whatever
is given besides wins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from refute.core.methods import Level, MethodSpec
from refute.core.parameters import parameters_of
from refute.core.registry import entries
from refute.errors import InputError


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


@cache
def presets_of(level: Level) -> dict[str, Preset]:
    """The presets for methods of a level, by name: entry points `refute.presets`, each a mapping
    by level, then by name."""
    given = [point.load().get(level, {}) for point in entries("refute.presets")]
    return {name: one for presets in given for name, one in presets.items()}


def preset_of(name: str | None, level: Level) -> Preset:
    """The preset by its name; None: one that sets nothing. Raises `InputError`."""
    if name is None:
        return Preset("", "", {})
    known = presets_of(level)
    if name not in known:
        there = f"there are {', '.join(known)}" if known else f"methods for an {level} have none"
        raise InputError(f"--preset {name}: no such preset; {there}")
    return known[name]


def departures(
    preset: Preset, spec: MethodSpec[Any, Any], given: Collection[str], settings: Mapping[str, Any]
) -> str:
    """What a preset sets that is not the default, in one line: "guard=false (default true), ...".

    `given`: what the user gave, which the preset leaves alone. `settings`: the defaults of a
    bench's settings.
    """
    mine, parts = preset.for_method(spec), []
    for one in parameters_of(spec.options):
        if one.name in mine and one.name not in given and mine[one.name] != one.default:
            parts.append(f"{one.name}={_shown(mine[one.name])} (default {_shown(one.default)})")
    for name, value in preset.settings.items():
        if name in settings and name not in given and value != settings[name]:
            parts.append(f"{name}={_shown(value)} (default {_shown(settings[name])})")
    return ", ".join(parts)


def _shown(value: Any) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
