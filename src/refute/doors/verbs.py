"""The verbs that agents call: each is a verb of the command line, with its name and its options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import NODEFAULT, Meta, defstruct

from refute.core.parameters import Options, Parameter, options_with, parameters_of
from refute.errors import InputError
from refute.models.asking import Asked

if TYPE_CHECKING:
    from refute.function.service import Opened


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


WITHIN = 0.9
"""Part of a call's time that a verb over issues takes for itself: it ends before it is ended."""
Tell = Callable[[str], None]
"""Is told in a line how far the work is."""


@dataclass(frozen=True)
class Verb:
    """A verb, the text that a model reads of it, and its reports of progress.

    Its module is loaded on the first use: a call pays for no other verb.
    """

    name: str
    text: str
    progress: Callable[[Tell, bool], dict[str, Any]]
    """Arguments for `run`, of the receiver and whether files outside of the folder are allowed."""
    function: str = ""
    """Name of the function where it is not the verb's."""

    @cached_property
    def run(self) -> Any:
        """The function of the verb."""
        return self._named(self.function or self.name)

    @cached_property
    def options(self) -> Any:
        """The dataclass of its options."""
        return self._named(f"{self.name.title()}Options")

    def _named(self, name: str) -> Any:
        return getattr(import_module(f"refute.verbs.{self.name}"), name)

    @property
    def _on_issues(self) -> bool:
        return any(one.__name__ == "IssueOptions" for one in self.options.__mro__)

    @cached_property
    def arguments(self) -> type[Any]:
        """The type of its arguments."""
        return arguments_of(self.options, self.run.__name__, 900.0 if self._on_issues else 300.0)

    def limits(self, seconds: float) -> dict[str, Any]:
        """Return the fields of `set` that bound a verb's work to some seconds."""
        return {"seconds": WITHIN * seconds} if self._on_issues else {}


def _functions(tell: Tell, outside: bool) -> dict[str, Any]:
    def opened(found: Opened) -> None:
        for module in () if outside else found.targets.modules:
            inside(module.source.path)
        tell(f"functions to look at: {found.functions}")

    return {"opened": opened, "show": lambda module, one, how_far: tell(how_far)}


def _changes(tell: Tell, outside: bool) -> dict[str, Any]:
    return {
        "show": lambda one, done, total: tell(
            f"{done} of {total} functions, last {one.function.qualname}"
        )
    }


def _issue(tell: Tell, outside: bool) -> dict[str, Any]:
    return {"chosen": lambda method: tell(f"reproducing the issue ({method})")}


def _silent(tell: Tell, outside: bool) -> dict[str, Any]:
    tell("running tests on the old code and on the new")
    return {}


_VERBS = (
    Verb(
        "hunt",
        "Is this function wrong? Finds inputs on which it fails its docstring, doctests or tests. "
        "Next: debug.",
        _functions,
    ),
    Verb(
        "debug",
        "Finds a small fix of a wrong function, as a diff. `fixed` means that given examples show "
        "it, `proposed` that you must check it. Next: apply the diff, then gate.",
        _functions,
    ),
    Verb(
        "reproduce",
        "Writes a test that fails now for the reason that an issue describes. Next: fix the code, "
        "then vet or gate.",
        _issue,
    ),
    Verb(
        "vet",
        "Does this patch resolve the issue, and does it break anything near? Several patches are "
        "ranked. Next: apply it, or change it.",
        _silent,
        "judge_fixes",
    ),
    Verb(
        "diff",
        "On which inputs does my change behave otherwise than before? For refactorings and "
        "reviews. Next: gate.",
        _changes,
    ),
    Verb(
        "gate",
        "Is my change shown to be done? Its tests must fail on the old code and pass on the new, "
        "and nothing near may break. Call it before you say that you are done.",
        _silent,
    ),
)
VERBS = {one.name: one for one in _VERBS}
"""By the name of the command."""
