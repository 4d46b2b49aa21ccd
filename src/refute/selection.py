"""Which method is run: the named one, else the best that can be had; and with which options."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from refute.errors import InputError
from refute.methods import Level, MethodSpec, options_from
from refute.models.asking import Asked
from refute.parameters import parameters_of
from refute.presets import preset_of
from refute.registry import METHODS, method_of

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
    for option in asked.options:
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
    given = {**preset.for_method(spec), **asked.options, **more}
    return options_from(spec, {name: value for name, value in given.items() if name in known})


def not_its_option(option: str, spec: MethodSpec[Any, Any]) -> InputError:
    """Why `spec` has no option of that name or flag, and which methods have it."""
    having, flag = [], option if option.startswith("-") else "--" + option.replace("_", "-")
    for other in METHODS.all():
        for one in parameters_of(other.options) if other.level == spec.level else ():
            if option == one.name or option in one.flags:
                having.append(other)
                flag = one.flags[0]
    if having and not spec.asks_model and all(one.asks_model for one in having):
        return InputError(f"{flag} is for methods that ask a model: name one with --model")
    others = f", but of {', '.join(one.name for one in having)}" if having else ""
    return InputError(f"{flag} is no option of {spec.name}{others}")
