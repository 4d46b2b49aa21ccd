"""What an agent may say to each verb: declared once, for the schema, the check and the call.

Text (an issue, a patch) is handed over as text, so that nothing need be written for it; files are
named relative to the folder that the server was started in.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import NODEFAULT, Meta, Struct, defstruct

from refute.core.parameters import Options, Parameter, options_with, parameters_of
from refute.errors import InputError
from refute.models.asking import Asked
from refute.verbs.debug import DebugOptions
from refute.verbs.diff import DiffOptions
from refute.verbs.hunt import HuntOptions
from refute.verbs.reproduce import ReproduceOptions

_DERIVED: tuple[type[Any], ...] = (HuntOptions, DebugOptions, DiffOptions, ReproduceOptions)
WRITING = frozenset({one.name for kind in _DERIVED for one in parameters_of(kind) if one.writes})
"""Arguments that write into the checkout: taken only by a server that was told to take them."""

_Seconds = Annotated[float, Meta(gt=0, le=86_400)]
_Repo = Annotated[
    str, Meta(description="Folder of the git checkout, relative to the server's folder.")
]
_Python = Annotated[
    str,
    Meta(
        description="The project's interpreter, such as .venv/bin/python; empty: the active one, "
        "or .venv's."
    ),
]
_Limit = Annotated[
    _Seconds,
    Meta(
        description="Seconds that the call may take. Where time is up, verbs over functions return "
        "what they found by then and say `complete: false`."
    ),
]


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What all verbs take."""

    time_limit: _Limit = 300.0
    python: _Python = ""


def arguments_of(options: type[Any], name: str, seconds: float = 300.0) -> type[Any]:
    """The arguments of a verb: the fields of its options that are for agents, and how many seconds
    it may take."""
    of_verb = [_argument(one) for one in parameters_of(options) if one.for_agents]
    how: dict[str, Any] = {
        "module": __name__,
        "kw_only": True,
        "frozen": True,
        "forbid_unknown_fields": True,
    }
    return defstruct(name, [*of_verb, ("time_limit", _Limit, seconds)], **how)


def _argument(one: Parameter) -> tuple[str, Any, Any]:
    kind: Any = Literal[one.choices] if one.choices else str if one.kind is Path else one.kind
    limits = {"ge": one.at_least, "gt": one.above, "le": one.at_most}
    bounds: Any = {name: limit for name, limit in limits.items() if limit is not None}
    kind = Annotated[kind, Meta(**bounds)] if bounds else kind
    kind = kind | list[kind] if one.many else kind | None if one.optional else kind
    default = (
        NODEFAULT
        if one.required
        else str(one.default)
        if one.kind is Path and one.default
        else one.default
    )
    return one.name, Annotated[kind, Meta(description=one.help)], default


def options_for(
    kind: type[Options], arguments: Any, asked: Asked, texts: Path, **more: Any
) -> Options:
    """A verb's options: what an agent says of them, and the models that its user named.

    `texts`: a folder for those that were handed over. Raises `InputError` for a path to write that
    lies outside of the folder that the server works in.
    """
    values = {
        one.name: _value(one, arguments, texts) for one in parameters_of(kind) if one.for_agents
    }
    return options_with(kind, None, {**models_of(asked, **more), **values})


def models_of(asked: Asked, **more: Any) -> dict[str, Any]:
    """The fields of `asked` by name, and `more` in place of theirs."""
    return {**{one.name: getattr(asked, one.name) for one in fields(asked)}, **more}


def _value(one: Parameter, arguments: Any, texts: Path) -> Any:
    value = getattr(arguments, one.name)
    if one.many:
        return tuple(
            part for part in ([value] if isinstance(value, str) else value) if part.strip()
        )
    if one.kind is not Path:
        return value
    if not (value or "").strip():
        if one.required:
            raise InputError(f"{one.name}: is empty")
        return None
    if one.text:
        return text_file(texts, one.name, value)
    return inside(value) if one.writes else Path(value)


def text_file(folder: Path, name: str, text: str) -> Path:
    """A text that was handed over, as the file that the API reads."""
    place = folder / name
    place.write_bytes(text.encode("utf-8", "surrogateescape"))
    return place


def inside(path: Path | str) -> Path:
    """A path that may be written to: below the folder that the server works in."""
    place = Path(path)
    if not place.resolve().is_relative_to(Path.cwd().resolve()):
        raise InputError(f"{path}: lies outside of {Path.cwd()}; only what is in it is written")
    return place


class VetPatch(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `vet_patch`."""

    patch: Annotated[
        str,
        Meta(
            min_length=1,
            description="The fix as a unified diff (git diff) against the checkout as it is now, "
            "or against the commit that `against` names; it is not applied to the checkout.",
        ),
    ]
    issue: Annotated[
        str, Meta(min_length=1, description="The issue's text: what the fix is to mend.")
    ]
    tests: Annotated[
        str | dict[str, str],
        Meta(
            description="Tests that reproduce the issue: a unified diff against the checkout, or "
            "the text of whole test files by their path from the root of the repository; empty: "
            "they are written as `reproduce_issue` does."
        ),
    ] = ""
    against: Annotated[
        str,
        Meta(
            description="The commit that the patch is a diff of: HEAD where you have edited the "
            "files already and the patch is what `git diff HEAD` prints; empty: the checkout as it "
            "is."
        ),
    ] = ""
    neighbours: Annotated[
        int, Meta(ge=0, le=100, description="Existing test files to run for regressions.")
    ] = 5
    behaviour: Annotated[
        bool, Meta(description="Also look for what else the fix changes in behaviour.")
    ] = True
    repo: _Repo = "."
    time_limit: _Limit = 900.0


class CheckTestsRedGreen(Arguments, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `check_tests_red_green`."""

    tests: Annotated[
        str | list[str],
        Meta(
            description="Test files or ids (tests/test_x.py::test_a), relative to the root of the "
            "repository; empty: the test files that the change adds or edits."
        ),
    ] = ""
    base: Annotated[
        str,
        Meta(
            description="The commit before the change; empty: HEAD where the working tree has "
            "changes that are not committed, else where the branch left the main one."
        ),
    ] = ""
    head: Annotated[
        str, Meta(description="The commit after the change; empty: the working tree as it is.")
    ] = ""
    repo: _Repo = "."
    time_limit: _Limit = 900.0


class CheckFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an editor asks about one file."""

    file: str
    python: str = ""
    seconds_per_function: float = 5.0
    time_limit: float = 300.0
