"""Choose the interpreter and the packages of a repository at a commit.

Old code on a new interpreter means packages of that time without wheels for it, built from source
with compilers and build tools of today, and a standard library that has moved on. So a commit gets
an interpreter that was current when it was made, among those that its metadata allows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from refute.errors import EnvironmentBroken, WorkspaceUnavailable
from refute.workspace.infer import (
    Reader,
    Requirements,
    name_of,
    setup_argument,
    setup_cfg_option,
    toml_of,
)

RELEASED = {
    (3, 6): date(2016, 12, 23), (3, 7): date(2018, 6, 27), (3, 8): date(2019, 10, 14),
    (3, 9): date(2020, 10, 5), (3, 10): date(2021, 10, 4), (3, 11): date(2022, 10, 24),
    (3, 12): date(2023, 10, 2), (3, 13): date(2024, 10, 7), (3, 14): date(2025, 10, 7),
}  # fmt: skip
"""Release date of each version (python.org); the probe runs on 3.6 and newer."""
_SETTLED = timedelta(days=180)
"""Time that packages take to publish wheels for a new version: by half a year numpy and pandas had
theirs for each of 3.7 to 3.12."""


def find_interpreter(version: str) -> Path:
    """An interpreter of a version such as "3.9": pyenv's, one on PATH, uv's, or this one.

    Raises `WorkspaceUnavailable`.
    """
    if not re.fullmatch(r"\d+(\.\d+){1,2}", version):
        raise WorkspaceUnavailable(f"not a version of Python: {version!r}")
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    if root.is_dir():
        fits = [p for p in root.iterdir() if p.name == version or p.name.startswith(version + ".")]
        for folder in sorted(fits, key=_numbers, reverse=True):
            if os.access(folder / "bin" / "python", os.X_OK):
                return folder / "bin" / "python"
    short = ".".join(version.split(".")[:2])
    found = shutil.which(f"python{short}")
    if found and _is_version(found, version):
        return Path(os.path.realpath(found))
    if version == short == "{}.{}".format(*sys.version_info[:2]):
        return Path(os.path.realpath(sys.executable))
    uv = uv_command()
    if uv:
        try:
            done = subprocess.run(
                [*uv, "python", "find", "--offline", "--no-project", "--system", version],
                capture_output=True, text=True, timeout=60, check=False, cwd="/",
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            done = None
        if done is not None and done.returncode == 0 and os.access(done.stdout.strip(), os.X_OK):
            return Path(os.path.realpath(done.stdout.strip()))
    raise WorkspaceUnavailable(
        f"no Python {version} here; install one: uv python install {version}"
    )


def is_here(version: str) -> bool:
    """Return whether this machine has an interpreter of that version."""
    try:
        find_interpreter(version)
    except WorkspaceUnavailable:
        return False
    return True


def _numbers(path: Path) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", path.name))


def _is_version(program: str, version: str) -> bool:
    code = "import sys; print('.'.join(map(str, sys.version_info[:3])))"
    try:
        done = subprocess.run(
            [program, "-I", "-c", code], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    answer = done.stdout.strip()
    return answer == version or answer.startswith(version + ".")


def uv_command() -> list[str]:
    """Return the command that starts uv: the program, or the module of this interpreter; empty if
    neither is installed."""
    beside = Path(sys.executable).with_name("uv")
    if os.access(beside, os.X_OK):
        return [str(beside)]
    found = shutil.which("uv")
    return [found] if found else []


def candidates(read: Reader, before: str | None = None) -> tuple[str, ...]:
    """Versions of Python for a repository, the best first: the newest one that had been out for
    half a year at the date (None: today), then older ones, then newer ones.

    Left out is what `requires-python` excludes; where nothing is left, it says nothing we know,
    and all are given.
    """
    day = date.fromisoformat(before[:10]) if before else date.today()
    wanted = requires_python(read)
    allowed = [v for v in RELEASED if allows(wanted, v)] or list(RELEASED)
    settled = [v for v in allowed if RELEASED[v] + _SETTLED <= day]
    newer = [v for v in allowed if v not in settled]
    return tuple("{}.{}".format(*version) for version in (*reversed(settled), *newer))


def requires_python(read: Reader) -> str:
    """Return the version specifier for Python in the repository's metadata; "" for none."""
    project = toml_of(read("pyproject.toml"))
    table = project.get("project")
    tool = project.get("tool")
    poetry = tool.get("poetry") if isinstance(tool, dict) else None
    flit = tool.get("flit") if isinstance(tool, dict) else None
    said = [
        table.get("requires-python") if isinstance(table, dict) else None,
        _of_table(poetry, "dependencies", "python"),
        _of_table(flit, "metadata", "requires-python"),
        setup_cfg_option(read("setup.cfg"), "python_requires"),
        setup_argument(read("setup.py"), "python_requires"),
    ]
    return next((text for text in said if isinstance(text, str) and text.strip()), "")


def _of_table(table: object, *names: str) -> object:
    for name in names:
        table = table.get(name) if isinstance(table, dict) else None
    return table


_CLAUSE = re.compile(r"(~=|===|==|!=|<=|>=|<|>|\^|~)?\s*v?(\d+(?:\.\d+)*)(\.\*)?")


def allows(specifier: str, version: tuple[int, int]) -> bool:
    """Return whether some release of a minor version fits a specifier (also Poetry's `^3.8`,
    `~3.8`). What cannot be read allows everything."""
    for clause in specifier.split(","):
        match = _CLAUSE.fullmatch(clause.strip())
        if match is None:
            continue
        sign, numbers = match[1] or "==", [int(part) for part in match[2].split(".")]
        named = (numbers[0], numbers[1] if len(numbers) > 1 else 0)
        third = numbers[2] if len(numbers) > 2 else 0
        alone = len(numbers) == 1  # a major version, or all of it
        fits = {
            ">=": version >= named,
            ">": version > named or (version == named and len(numbers) > 2),
            "<=": version <= named,
            "<": version < named or (version == named and third > 0),
            "^": named <= version < (named[0] + 1, 0),
            "~=": version >= named and version[0] == named[0]
            and (len(numbers) < 3 or version == named),
            "~": version == named or (alone and version[0] == named[0]),
            "==": version == named or (alone and version[0] == named[0]),
            "===": version == named,
            "!=": version != named or not match[3],
        }[sign]  # fmt: skip
        if not fits:
            return False
    return True


_ATTEMPTS = 60
_LIFTED = ("pip",)
"""Taken without the date: what installs is no part of what is tested, and old ones know neither
the editable mode of today's back ends nor its options."""
_TOOLS = {"pip": "pip>=9,<25.3"}
"""pip from 25.3 on no longer knows the editable mode of setuptools before 64."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to the installer."""

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
    """Interpreter and packages that could be installed."""

    python: str
    """Version of the interpreter."""
    remarks: tuple[str, ...] = ()
    """Departures from what the repository asks for, one line each."""
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

    Nobody wrote a recipe, so requirements may contradict each other, packages of the time may have
    no wheel for an interpreter, and an index changes: a file that was uploaded again counts as new.
    The installer says what is wrong. Each kind of trouble has one way out, tried in this order:

    | what uv says | remedy |
    |---|---|
    | nothing of a package is left by the date | take it alone without the date |
    | a package cannot be built from source | another version of it, with a wheel |
    | requirements contradict each other | of the optional ones: any version; then without |
    | those of the build do | of them: any version |
    | an optional package is not in the index, or cannot be built | without it |
    | a required one cannot be had | the next version of Python |

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
            f"no Python {' or '.join(pythons)} is installed; "
            f"install one: uv python install {pythons[0]}"
        )
    raise EnvironmentBroken(first)


def _next(state: _State, said: str) -> _State | None:
    """Return the next attempt after a failed one; None: no other in this interpreter."""
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
