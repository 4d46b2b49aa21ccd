"""Which method is run: the named one, else the best that can be had; and with which options.

`--preset NAME` sets the options of the method and the settings of a bench that it names; whatever
is given besides wins.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from refute.core.methods import Level, MethodSpec, options_from
from refute.core.parameters import nearest, parameters_of, read_text, settable
from refute.core.registry import METHODS, entries, method_of
from refute.errors import InputError
from refute.models.asking import Asked


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


_DEFAULTS: dict[Level, tuple[str, str]] = {
    "function": ("search", "hybrid"),
    "issue": ("snippet", "redgreen"),
}
"""Without a model, and with one."""
_FOR_MODELS = {
    "tester": "--tester",
    "base_url": "--base-url",
    "record": "--record",
    "budget_usd": "--budget-usd",
    "budget_tokens": "--budget-tokens",
}
"""What says something about a model, which means nothing where none is asked."""


def default_method(level: Level, model: object) -> str:
    """The method where none is named; `model`: None where there is none."""
    return _DEFAULTS[level][model is not None]


def chosen_method(
    asked: Asked, level: Level, *, also: Collection[str] = ()
) -> MethodSpec[Any, Any]:
    """The method: the named one, else the default.

    `also`: options that mean something whatever the method. Raises `InputError` for an unknown
    name, and where method, model and options do not go together.
    """
    spec = method_of(asked.method or default_method(level, asked.model), level)
    if not spec.asks_model and asked.model is not None:
        raise InputError(f"--method {spec.name} asks no model; leave --model out")
    known = {one.name for one in parameters_of(spec.options)}
    for option in asked.set:
        if option not in known and option not in also:
            raise not_its_option(option, spec)
    if spec.asks_model and asked.model is None:
        missing = f"--method {spec.name} asks a model; name one with --model, e.g. openai:NAME"
        raise InputError(missing)
    for name, flag in _FOR_MODELS.items():
        if not spec.asks_model and getattr(asked, name) is not None:
            raise InputError(f"{flag} is for methods that ask a model: name one with --model")
    return spec


def options_of(spec: MethodSpec[Any, Any], asked: Asked, **more: Any) -> Any:
    """The method's options: those of the preset, or its own, where none was given. `more` is taken
    where the method has such an option. Raises `InputError`."""
    known = {one.name for one in parameters_of(spec.options)}
    preset = preset_of(asked.preset, spec.level)
    given = {**preset.for_method(spec), **asked.set, **more}
    return options_from(spec, {name: value for name, value in given.items() if name in known})


def read_options(
    texts: Mapping[str, str],
    specs: Sequence[MethodSpec[Any, Any]],
    more: Sequence[type[Any]] = (),
) -> dict[str, Any]:
    """The values of `--set NAME=VALUE`: fields of `more`, or options of one of the methods.

    Raises `InputError` for a name that is neither, and for a value that does not fit.
    """
    known = settable((*more, *(one.options for one in specs)))
    for name in texts:
        if name not in known and specs:
            raise not_its_option(name, specs[0], known)
        if name not in known:
            raise InputError(f"--set {name}: nothing has that name{nearest(name, known)}")
    return {name: read_text(known[name], text) for name, text in texts.items()}


def not_its_option(
    option: str, spec: MethodSpec[Any, Any], known: Collection[str] = ()
) -> InputError:
    """Why `spec` has no option of that name, and which methods have it, or which name is near."""
    same_level = [one for one in METHODS.all() if one.level == spec.level]
    having = [one for one in same_level if option in settable((one.options,))]
    if having and not spec.asks_model and all(one.asks_model for one in having):
        return InputError(f"{option} is for methods that ask a model: name one with --model")
    others = f", but of {', '.join(one.name for one in having)}" if having else ""
    hint = others or nearest(option, known or settable((spec.options,)))
    return InputError(f"{option} is not an option of {spec.name}{hint}")


def explained_flag(
    flag: str, value: str, own: Sequence[type[Any]], specs: Sequence[MethodSpec[Any, Any]]
) -> InputError | None:
    """What to write in place of a flag for what is set by name; None where nothing has that name.

    `own`: what the command sets besides. `specs`: the methods that it may run, whose levels'
    others are looked through as well.
    """
    levels: set[Level] = {one.level for one in specs}
    others = [method_of(default_method(level, "a model"), level) for level in sorted(levels)]
    others += [one for one in METHODS.all() if one.level in levels]
    whose = [("the command", one) for one in own]
    whose += [(f"the method {one.name}", one.options) for one in (*specs, *others)]
    for who, options in whose:
        for one in parameters_of(options):
            plain = f"--{one.name.replace('_', '-')}"
            if flag in (plain, *one.flags):
                yes = str(flag in (plain, one.flags[0])).lower()
                said = yes if one.kind is bool else value or "VALUE"
                return InputError(f"{flag} is an option of {who}: write --set {one.name}={said}")
    return None
