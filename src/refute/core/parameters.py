"""Parameters: the fields of a frozen dataclass, which say themselves what they are.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class MineOptions:
        n: int = parameter(3, "Unit tests to look for.", at_least=1)

Of the fields of a method `--set NAME=VALUE` reads its values, a journal its header, `refute
methods` its list and a JSON schema; of those of a verb the command line makes flags, help and
settings. Every value is checked by them. A field with a plain default is a parameter without a
help text.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from refute.errors import InputError

Options = TypeVar("Options")
_KEY = "refute"
_NAMES = {bool: "boolean", int: "integer", float: "number", str: "string", Path: "string"}
_WORDS = {
    bool: "true or false", int: "an integer", float: "a number", str: "a text", Path: "a path"
}  # fmt: skip
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """Arguments of `parameter`."""

    help: str = ""
    flag: str = ""
    metavar: str = ""
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    positional: bool = False
    of_model: bool = False
    by_name: bool = False
    in_files: bool = False
    writes: bool = False
    text: bool = False
    for_agents: bool = False


def parameter(default: Any, help: str, **said: Any) -> Any:
    """A field of options: its default (`MISSING`: there is none), a line of help, its bounds.

    `flag`: its name on the command line, where that is not `--name` (`--name/--no-name` for a
    boolean one); `positional`: it has none. `metavar`: what stands for the value in the help.
    `of_model`: shown by `refute help model`. `by_name`: set by `--set` alone. `in_files`:
    `[tool.refute]` of a repository, which may be a stranger's, may set it. `for_agents`: over MCP,
    too. `writes`: it writes, a path is written to; agents have it only where they may. `text`: a
    file, in place of which agents give its text.
    """
    return field(default=default, metadata={_KEY: _Said(help=help, **said)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter(_Said):
    """One parameter: what its field says."""

    name: str
    kind: type[Any]
    """`bool`, `int`, `float`, `str` or `Path`; `object` where it is none of these."""
    default: Any
    choices: tuple[str, ...] = ()
    """The values, where they are few."""
    optional: bool = False
    """True if None is a value."""
    many: bool = False
    """True if it is a tuple of such values."""
    required: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """On the command line; the second one of a boolean says no."""
        if self.flag:
            return (self.flag,)
        dashed = self.name.replace("_", "-")
        return (f"--{dashed}", f"--no-{dashed}") if self.kind is bool else (f"--{dashed}",)

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
    """The parameters that the fields of a class of options are."""
    hints = get_type_hints(options)
    found = []
    for one in fields(options):
        said = one.metadata.get(_KEY, _Said())
        default = one.default if one.default is not MISSING else None
        told = {name: getattr(said, name) for name in _Said.__dataclass_fields__}
        told["required"] = one.default is one.default_factory is MISSING
        found.append(Parameter(name=one.name, default=default, **_kind(hints[one.name]), **told))
    return tuple(found)


def _kind(hint: Any) -> dict[str, Any]:
    """Type, choices, whether it may be None, and whether it is a tuple."""
    parts = [hint]
    if get_origin(hint) in (Union, types.UnionType):
        parts = [one for one in get_args(hint) if one is not types.NoneType]
    optional = types.NoneType in get_args(hint)
    if len(parts) == 1 and get_origin(parts[0]) is tuple and not optional:
        return {**_kind(get_args(parts[0])[0]), "many": True}
    if len(parts) == 1 and get_origin(parts[0]) is Literal:
        return {"kind": str, "choices": tuple(map(str, get_args(parts[0]))), "optional": optional}
    known = len(parts) == 1 and parts[0] in _NAMES
    return {"kind": cast("type[Any]", parts[0]) if known else object, "optional": optional}


def settable(classes: Iterable[type[Any]]) -> dict[str, Parameter]:
    """The parameters with a default, by name; of a name that several have, the first.

    Of a class some of whose fields are set by name, these alone.
    """
    found = {}
    for kind in reversed(tuple(classes)):
        every = parameters_of(kind)
        named = [one for one in every if one.by_name]
        found.update({one.name: one for one in named or every if not one.required})
    return found


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean temperature?`, or nothing where no name is near."""
    from difflib import get_close_matches  # for a message alone

    near = get_close_matches(name.replace("-", "_"), known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def pairs_of(texts: Sequence[str]) -> dict[str, str]:
    """Name -> text, of NAME=VALUE. Raises `InputError`."""
    for text in texts:
        if not text.partition("=")[1]:
            raise InputError(f"--set {text}: write NAME=VALUE")
    return {text.partition("=")[0]: text.partition("=")[2] for text in texts}


def read_text(one: Parameter, text: str) -> Any:
    """The value that a text stands for. Raises `InputError` for one that does not fit."""
    value: Any = text
    if one.many:
        value = tuple(part.strip() for part in text.split(",") if part.strip())
    elif one.optional and text == "none":
        value = None
    elif one.kind is bool:
        value = _TRUTH.get(text.lower(), text)
    elif one.kind in (int, float, Path):
        try:
            value = one.kind(text)
        except ValueError:
            pass
    return check_value(one, value)


def checked(options: type[Any], values: Mapping[str, Any]) -> None:
    """Raise `InputError` for a value that is not of its parameter's type or within its bounds."""
    by_name = {one.name: one for one in parameters_of(options)}
    for name, value in values.items():
        check_value(by_name[name], value)


def check_value(one: Parameter, value: Any) -> Any:
    """The value. Raises `InputError` where it is not of the parameter's type or in its bounds."""
    for part in value if one.many else () if value is None and one.optional else (value,):
        _check(one, part)
    return value


def _check(one: Parameter, value: Any) -> None:
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


def options_with(
    kind: type[Options],
    options: Options | None,
    values: Mapping[str, Any],
    targets: Sequence[str] = (),
) -> Options:
    """Options of a verb: `values` by name in place of those of `options`, or of the defaults.

    `targets`: in place of theirs, where there are any. Raises `TypeError` for a name that there is
    not, `InputError` for a value that does not fit.
    """
    known = {one.name: one for one in parameters_of(kind)}
    values = {**values, "targets": tuple(map(str, targets))} if targets else values
    for name in values:
        if name not in known:
            raise TypeError(f"{kind.__name__} has no {name}{nearest(name, known)}")
    values = {name: _as_told(known[name], value) for name, value in values.items()}
    made = kind(**values) if options is None else replace(cast("Any", options), **values)
    checked(kind, {name: getattr(made, name) for name in known})
    return cast(Options, made)


def _as_told(one: Parameter, value: Any) -> Any:
    """A value as its field has it: a path of a text, a tuple of a list."""
    if one.many and not isinstance(value, str):
        return tuple(Path(part) if one.kind is Path else part for part in value)
    return Path(value) if one.kind is Path and value is not None else value


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
