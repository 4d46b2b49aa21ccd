"""What an agent may say to each verb: the fields of the verb's options that are for agents.

Texts (an issue, a patch) are handed over as texts; files and targets are named relative to the
folder that the server works in, and must lie in it unless the server's user allowed otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import NODEFAULT, Meta, defstruct

from refute.core.parameters import Options, Parameter, options_with, parameters_of
from refute.errors import InputError
from refute.models.asking import Asked

_Seconds = Annotated[float, Meta(gt=0, le=86_400, description="Seconds at most.")]
_Detail = Annotated[bool, Meta(description="Return the whole JSON document.")]
_TARGETS = ("targets", "only")
"""The arguments that name files by more than a path."""


def arguments_of(options: type[Any], name: str, seconds: float = 300.0) -> type[Any]:
    """The arguments of a verb, as a type that JSON is checked by and described with. `seconds`: how
    long it may take where nothing is said."""
    of_verb = [_argument(one) for one in parameters_of(options) if one.for_agents]
    common = (("time_limit", _Seconds, seconds), ("detail", _Detail, False))
    how: dict[str, Any] = {
        "module": __name__,
        "kw_only": True,
        "frozen": True,
        "forbid_unknown_fields": True,
    }
    return defstruct(name, [*of_verb, *common], **how)


def writing(options: type[Any]) -> set[str]:
    """Arguments that write into the checkout: only a server that may write takes them."""
    return {one.name for one in parameters_of(options) if one.for_agents and one.writes}


def _argument(one: Parameter) -> tuple[str, Any, Any]:
    kind: Any = Literal[one.choices] if one.choices else str if one.kind is Path else one.kind
    limits = {"ge": one.at_least, "gt": one.above, "le": one.at_most}
    bounds: Any = {name: limit for name, limit in limits.items() if limit is not None}
    kind = Annotated[kind, Meta(**bounds)] if bounds else kind
    kind = list[kind] | kind if one.many else kind | None if one.optional else kind
    default = str(one.default) if one.kind is Path and one.default else one.default
    default = NODEFAULT if one.required else default
    help = f"{one.help} As text, not as a file." if one.text else one.help
    return one.name, Annotated[kind, Meta(description=help)], default


def options_for(
    kind: type[Options], arguments: Any, asked: Asked, texts: Path, *, outside: bool = False
) -> Options:
    """A verb's options: what an agent says of them, and the models that its user named.

    `texts`: a folder for the texts that were handed over. `outside`: paths outside of the folder
    that the server works in are allowed. Raises `InputError` for other paths.
    """
    values = {one.name: getattr(asked, one.name) for one in fields(asked)}
    for one in parameters_of(kind):
        if one.for_agents:
            values[one.name] = _value(one, getattr(arguments, one.name), texts)
            for path in () if outside or one.text else _paths(one, values[one.name]):
                inside(path, link=one.name == "python")
    return options_with(kind, None, values)


def _value(one: Parameter, value: Any, texts: Path) -> Any:
    if one.many:
        parts = [part for part in ([value] if isinstance(value, str) else value) if part.strip()]
        if not one.text:
            return tuple(parts)
        names = (f"{one.name}-{number}" for number in range(len(parts)))
        return tuple(map(text_file, (texts / name for name in names), parts))
    if one.kind is not Path:
        return value
    if not (value or "").strip():
        if one.required:
            raise InputError(f"{one.name}: is empty")
        return None
    return text_file(texts / one.name, value) if one.text else Path(value)


def _paths(one: Parameter, value: Any) -> Iterator[str]:
    if one.kind is Path and value is not None:
        yield str(value)
    for target in value if one.name in _TARGETS else ():
        yield target.partition("::")[0]  # of a module's name a path in the folder, too


def text_file(place: Path, text: str) -> Path:
    """A text that was handed over, as the file that the API reads."""
    place.write_bytes(text.encode("utf-8", "surrogateescape"))
    return place


def inside(path: Path | str, *, link: bool = False) -> None:
    """Raise `InputError` for a path outside of the folder that the server works in; `link`: what a
    link points to may lie outside, as a virtual environment's interpreter does."""
    place = Path(os.path.abspath(path)) if link else Path(path).resolve()
    if not place.is_relative_to(Path.cwd().resolve()):
        raise InputError(
            f"{path}: lies outside of {Path.cwd()}; the server's user can allow that with "
            "`refute mcp --allow outside`"
        )
