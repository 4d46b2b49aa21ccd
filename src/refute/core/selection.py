"""Which method is run: the named one, else the best that can be had; and with which options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from refute.core.methods import Level, MethodSpec, options_from
from refute.core.parameters import nearest, parameters_of, read_text, settable
from refute.core.presets import preset_of
from refute.core.registry import METHODS, method_of
from refute.errors import InputError
from refute.models.asking import Asked

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
    return InputError(f"{option} is no option of {spec.name}{hint}")


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
