"""From what a repository asks for to what can be installed: interpreter and packages of its time.

Nobody wrote a recipe, so requirements may contradict each other, packages of the time may have no
wheel for an interpreter, and an index changes: a file that was uploaded again counts as new. The
installer says what is wrong, and each kind of trouble has one way out, tried in this order:

| what uv says | what is done |
|---|---|
| nothing of a package is left by the date | it alone is taken without the date |
| a package cannot be built from source | another version of it, with a wheel |
| requirements contradict each other | of those that are only wanted: any version; then without |
| those of the build do | of them: any version |
| a wanted package is not in the index, or cannot be built | without it |
| what is needed cannot be had | the next version of Python |

What came of it is data: the interpreter and every package with its version, as a row can hold it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from refute.errors import EnvironmentBroken, WorkspaceUnavailable
from refute.workspace.interpreters import find_interpreter
from refute.workspace.requirements import Requirements, name_of

_ATTEMPTS = 60
_LIFTED = ("pip",)
"""Taken without the date: what installs is no part of what is tested, and old ones know neither
the editable mode of today's back ends nor its options."""
_TOOLS = {"pip": "pip>=9,<25.3"}
"""From 25.3 on pip no longer knows the editable mode of setuptools before 64."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the installer, once."""

    python: Path
    requirements: tuple[str, ...]
    before: str | None
    lifted: tuple[str, ...] = ()
    """Packages that are taken without the date."""
    wheels: tuple[str, ...] = ()
    """Packages that are not built from source."""


Attempt = Callable[[Asked], str]
"""Installs; returns "" or what the installer said where it failed."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What could be installed."""

    python: str
    """Version of the interpreter."""
    remarks: tuple[str, ...] = ()
    """What is not as the repository asks for it, one line each."""
    pins: tuple[str, ...] = ()
    """Every package with its version."""


@dataclass(frozen=True, slots=True)
class _State:
    build: tuple[str, ...]
    needed: tuple[str, ...]
    wanted: tuple[str, ...]
    lifted: tuple[str, ...] = _LIFTED
    wheels: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def asked(self, python: Path, before: str | None) -> Asked:
        together = tuple(dict.fromkeys((*self.build, *self.needed, *self.wanted)))
        lifted = self.lifted if before else ()
        return Asked(python, together, before, lifted, self.wheels)


def settle(
    asked: Requirements, pythons: Sequence[str], before: str | None, attempt: Attempt
) -> Settled:
    """Install what `asked` says in the first interpreter in which it can be.

    `pythons`: versions, the best first; those that this machine lacks are passed over. Raises
    `WorkspaceUnavailable` where it has none of them, else `EnvironmentBroken` with what stands in
    the way in the first of them.
    """
    build = tuple(_TOOLS.get(one, one) for one in asked.build)
    start = _State(build, asked.needed, asked.wanted)
    first = ""
    missing: list[str] = []
    for version in pythons:
        try:
            python = find_interpreter(version)
        except WorkspaceUnavailable:
            missing.append(version)
            continue
        state: _State | None = start
        for _ in range(_ATTEMPTS):
            if state is None:
                break
            said = attempt(state.asked(python, before))
            if not said:
                passed = (f"Python {pythons[0]} is not here",) if pythons[0] in missing else ()
                return Settled(version, (*passed, *state.remarks))
            first = first or f"Python {version}: {trouble(said)}"
            state = _next(state, said)
    if not first:
        raise WorkspaceUnavailable(
            f"none of Python {', '.join(pythons)} is here; "
            f"install one: uv python install {pythons[0]}"
        )
    raise EnvironmentBroken(first)


def _next(state: _State, said: str) -> _State | None:
    """What to try after the installer failed; None: nothing else in this interpreter."""
    for name in undated(said):
        if name not in state.lifted:
            told = f"{name}: nothing of it is left by the date, so the date is not asked of it"
            return replace(state, lifted=(*state.lifted, name), remarks=(*state.remarks, told))
    name = unbuilt(said)
    if name and name not in state.wheels:
        return replace(state, wheels=(*state.wheels, name))
    if name:
        return _without(state, {name, *_wanting(said)}, "cannot be built")
    return _yielding(state, said)


def _yielding(state: _State, said: str) -> _State | None:
    """A conflict: requirements that it names, and that are only wanted, ask for less, else those of
    the build."""
    text = " ".join(said.split())
    named = {name for one in state.wanted if (name := name_of(one)) and _says(text, name)}
    wanted, strict = _loosened(state.wanted, named)
    if strict:
        return replace(state, wanted=wanted, remarks=(*state.remarks, _told(strict)))
    without = _without(state, named, "cannot be had")
    if without is not None:
        return without
    named = {name for one in state.build if (name := name_of(one)) and _says(text, name)}
    build, strict = _loosened(state.build, named - _TOOLS.keys())
    return replace(state, build=build, remarks=(*state.remarks, _told(strict))) if strict else None


def _loosened(given: Sequence[str], names: set[str]) -> tuple[tuple[str, ...], list[str]]:
    """The requirements, those of the names without their versions; and which these were."""
    strict = [one for one in given if name_of(one) in names and _bare(one) != one]
    return tuple(dict.fromkeys(_bare(one) if one in strict else one for one in given)), strict


def _told(strict: Sequence[str]) -> str:
    return f"{', '.join(sorted(strict))}: cannot be had together, so any version is taken"


def _without(state: _State, names: set[str], why: str) -> _State | None:
    """Without the wanted requirements of these names; None where there are none."""
    gone = [one for one in state.wanted if name_of(one) in names]
    if not gone:
        return None
    kept = tuple(one for one in state.wanted if one not in gone)
    told = f"{', '.join(sorted(gone))}: {why}, left out"
    return replace(state, wanted=kept, remarks=(*state.remarks, told))


def _bare(requirement: str) -> str:
    """The requirement without its versions; extras and markers stay."""
    match = re.match(r"\s*([\w.-]+\s*(?:\[[^\]]*\])?)[^;]*(;.*)?$", requirement)
    return (match[1].strip() + (match[2] or "")) if match else requirement


def _says(text: str, name: str) -> bool:
    pattern = re.escape(name).replace(r"\-", "[-_.]+")
    return re.search(rf"(?<![\w.-]){pattern}(?![\w-])", text, re.IGNORECASE) is not None


# -- what uv says ---------------------------------------------------------------------------------


def undated(said: str) -> list[str]:
    """Packages of which nothing is left by the date."""
    return re.findall(r"`([\w.-]+)` was filtered by `exclude-newer`", said)


def unbuilt(said: str) -> str:
    """The package whose build failed, or went on for too long; ""."""
    failed = re.search(
        r"Failed to (?:build|download and build|prepare distributions[\s\S]*?build) `([\w.-]+?)==",
        said,
    )
    if failed:
        return name_of(failed[1])
    if "timed out after" in said:
        begun = re.findall(r"Building ([\w.-]+?)==", said)
        ended = re.findall(r"Built ([\w.-]+?)==", said)
        left = [name for name in begun if name not in ended]
        return name_of(left[0]) if left else ""
    return ""


def _wanting(said: str) -> list[str]:
    """Packages on whose account the installer took the one that failed."""
    return [name_of(name) for name in re.findall(r"`([\w.-]+)` \([^)]*\) (?:was|which)", said)]


def trouble(said: str) -> str:
    """The one line of an installer's output that says what is wrong."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for sign in (r"^(cause: )?Because ", r"^error: Failed to", r"^(×|error:|ERROR:)", r"Error: "):
        found = next((line for line in lines if re.search(sign, line)), None)
        if found:
            return re.sub(r"^(cause|error|ERROR): ", "", found)[:300]
    return (lines or ["no output"])[-1][:300]
