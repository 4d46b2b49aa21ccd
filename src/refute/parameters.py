"""Parameters of methods: the fields of a frozen dataclass, which say themselves what they are.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class MineOptions:
        n: int = parameter(3, "Unit tests to look for.", at_least=1)

Of these fields the command line makes its options and their help, a journal its header, `refute
methods` its list and a JSON schema, and every value is checked by them. A field with a plain
default is a parameter without a help text.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from refute.errors import InputError

_KEY = "refute"
_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string"}
_WORDS = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}


@dataclass(frozen=True, slots=True)
class _Said:
    """What `parameter` was told."""

    help: str = ""
    flag: str = ""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None


def parameter(
    default: Any,
    help: str,
    *,
    flag: str = "",
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
) -> Any:
    """A field of a method's options: its default, a line of help, its bounds.

    `flag`: its name on the command line, where that is not `--name` (`--name/--no-name` for a
    boolean one).
    """
    said = _Said(help, flag, at_least, above, at_most)
    return field(default=default, metadata={_KEY: said})


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a method."""

    name: str
    kind: type[Any]
    """`bool`, `int`, `float` or `str`; `object` where it is none of these."""
    default: Any
    help: str
    flags: tuple[str, ...]
    """On the command line; the second one of a boolean says no."""
    choices: tuple[str, ...] = ()
    """The values, where they are few."""
    optional: bool = False
    """Whether None is a value."""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None

    @property
    def bounds(self) -> str:
        """For people: "from 1 to 15", "above 0"; "" where there are none."""
        if self.at_least is not None and self.at_most is not None:
            return f"from {self.at_least} to {self.at_most}"
        low = f"at least {self.at_least}" if self.at_least is not None else ""
        low = f"above {self.above}" if self.above is not None else low
        high = f"at most {self.at_most}" if self.at_most is not None else ""
        return " and ".join(filter(None, (low, high)))


def parameters_of(options: type[Any]) -> tuple[Parameter, ...]:
    """The parameters of a method, from its options' class."""
    hints = get_type_hints(options)
    found = []
    for one in fields(options):
        kind, choices, optional = _kind(hints[one.name])
        said = one.metadata.get(_KEY, _Said())
        default = one.default if one.default is not MISSING else None
        found.append(
            Parameter(
                one.name,
                kind,
                default,
                said.help,
                _flags(one.name, kind, said.flag),
                choices,
                optional,
                said.at_least,
                said.above,
                said.at_most,
            )
        )
    return tuple(found)


def _kind(hint: Any) -> tuple[type[Any], tuple[str, ...], bool]:
    """Type, choices, and whether it may be None."""
    parts = [hint]
    if get_origin(hint) in (Union, types.UnionType):
        parts = [one for one in get_args(hint) if one is not types.NoneType]
    optional = types.NoneType in get_args(hint)
    if len(parts) == 1 and get_origin(parts[0]) is Literal:
        return str, tuple(map(str, get_args(parts[0]))), optional
    known = len(parts) == 1 and parts[0] in _NAMES
    return (cast("type[Any]", parts[0]) if known else object), (), optional


def _flags(name: str, kind: type[Any], flag: str) -> tuple[str, ...]:
    if flag:
        return (flag,)
    dashed = name.replace("_", "-")
    return (f"--{dashed}", f"--no-{dashed}") if kind is bool else (f"--{dashed}",)


def checked(options: type[Any], values: Mapping[str, Any]) -> None:
    """Raise `InputError` for a value that is not of its parameter's type or within its bounds."""
    by_name = {one.name: one for one in parameters_of(options)}
    for name, value in values.items():
        _check(by_name[name], value)


def _check(one: Parameter, value: Any) -> None:
    if value is None and one.optional:
        return
    fits = isinstance(value, one.kind) and (one.kind is bool or not isinstance(value, bool))
    if one.kind is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits and one.kind is not object:
        kind = "one of " + ", ".join(one.choices) if one.choices else _WORDS[one.kind]
        raise InputError(f"{one.name} = {value!r:.40}: must be {kind}")
    if one.choices and value not in one.choices:
        raise InputError(f"{one.name} = {value:.40}: must be one of {', '.join(one.choices)}")
    low = one.at_least is None or value >= one.at_least
    high = one.at_most is None or value <= one.at_most
    if not (low and high and (one.above is None or value > one.above)):
        raise InputError(f"{one.name} = {value!s:.40}: must be {one.bounds}")


def schema_of(options: type[Any]) -> dict[str, Any]:
    """JSON Schema (2020-12) of a method's options."""
    return {
        "type": "object",
        "properties": {one.name: _schema(one) for one in parameters_of(options)},
        "additionalProperties": False,
    }


def _schema(one: Parameter) -> dict[str, Any]:
    kind: Any = _NAMES.get(one.kind)
    found = {
        "type": [kind, "null"] if one.optional and kind else kind,
        "description": one.help,
        "enum": list(one.choices) if one.choices else None,
        "minimum": one.at_least,
        "exclusiveMinimum": one.above,
        "maximum": one.at_most,
    }
    return {
        **{key: value for key, value in found.items() if value not in (None, "")},
        "default": one.default,
    }
