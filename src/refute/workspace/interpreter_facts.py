"""Facts about an interpreter: version, folders of packages, folders that its programs read.

An interpreter that lies in a checkout is the repository's code, as any `.pth` file beside it is. So
it is started in a jail only, and what it answers is data: nothing that it names becomes readable
for that. What has to be readable is read from the files of its environment, here.
"""

from __future__ import annotations

import json
import os
import site
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.core.storage import cache_folder
from refute.errors import WorkspaceUnavailable
from refute.sandbox.interpreter import inside, may_be_shown, read_path_files
from refute.workspace.contract import Base, Recipe
from refute.workspace.local import LocalBackend
from refute.workspace.rooted_files import take

_QUESTION = """
import json, site, sys, sysconfig
paths = sysconfig.get_paths()
sites = [paths["purelib"], paths["platlib"]] + getattr(site, "getsitepackages", list)()
print(json.dumps({"version": list(sys.version_info[:2]), "sites": sites}))
"""
_SECONDS = 60.0
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class InterpreterFacts:
    """Facts about one interpreter."""

    version: tuple[int, int]
    sites: tuple[str, ...]
    """Its folders of packages that there are, the one that pip installs to first."""
    readable: tuple[str, ...]
    """Folders that a program in it must be able to read."""


def interpreter_facts(python: Path, checkout: Path | None = None) -> InterpreterFacts:
    """The facts about an interpreter (an absolute path), which a jail asks it.

    Of an environment inside `checkout`, path files count for what lies in the checkout. Raises
    `WorkspaceUnavailable`, also where it does not run without what lies elsewhere.
    """
    homes = _homes(python)
    own = "" if checkout is None else os.path.realpath(checkout)
    if str(python) == os.path.abspath(sys.executable):  # this process knows itself
        paths = sysconfig.get_paths()
        answer: object = {
            "version": list(sys.version_info[:2]),
            "sites": [paths["purelib"], paths["platlib"], *site.getsitepackages()],
        }
    else:
        answer = _ask(python, homes)
    version, named = _checked(python, answer)
    sites = [path for path in named if inside(path, [*homes, "/usr"]) and os.path.isdir(path)]
    files = read_path_files(sites)
    added = list(dict.fromkeys((*files.folders, *files.mapped)))
    if own and inside(os.path.realpath(python.parent), [own]):
        added = [path for path in added if inside(os.path.realpath(path), [own])]
    readable = tuple(dict.fromkeys(path for path in (*homes, *sites, *added) if may_be_shown(path)))
    return InterpreterFacts(version, tuple(sites), readable)


def _homes(python: Path) -> list[str]:
    """The environment of an interpreter and those that it is built on: by links, and by the `home`
    of its pyvenv.cfg; only folders that look like an installation of Python."""
    found: list[str] = []
    todo = [python]
    while todo and len(found) < _MOST_LINKS:
        program = todo.pop(0)
        for _ in range(_MOST_LINKS):
            folder = os.path.normpath(program.parent.parent)
            if folder not in found and _is_environment(folder):
                found.append(folder)
                if home := _home_of(folder):
                    todo.append(Path(home) / "python")
            if not program.is_symlink():
                break
            program = program.parent / os.readlink(program)
        real = Path(os.path.realpath(program))  # the folders on the way may be links as well
        if real != program:
            todo.append(real)
    return [path for path in found if may_be_shown(path)]


def _home_of(environment: str) -> str:
    try:
        text = take(environment, "pyvenv.cfg").decode("utf-8", "replace")
    except OSError:
        return ""
    pairs = (line.partition("=") for line in text.splitlines())
    named = [value.strip() for name, _, value in pairs if name.strip().lower() == "home"]
    return named[-1] if named and os.path.isabs(named[-1]) else ""


def _is_environment(folder: str) -> bool:
    return os.path.isfile(f"{folder}/pyvenv.cfg") or any(Path(folder).glob("lib*/*/os.py"))


def _ask(python: Path, homes: Sequence[str]) -> object:
    nothing = cache_folder() / "nothing"  # the tree that it is asked in
    nothing.mkdir(parents=True, exist_ok=True)
    local = LocalBackend(Base("", "", Recipe(), nothing, python, tuple(homes), ""))
    try:
        done = local.execute((str(python), "-I", "-c", _QUESTION), timeout=_SECONDS)
    finally:
        local.close()
    lines = done.out.decode("utf-8", "replace").strip().splitlines()
    if done.status or not lines:
        told = done.err.decode("utf-8", "replace").strip().splitlines()
        why = done.cause or (told[-1][:300] if told else f"exit status {done.status}")
        raise WorkspaceUnavailable(f"{python} does not run: {why}")
    try:
        answer: object = json.loads(lines[-1])
    except (ValueError, RecursionError):
        return None
    return answer


def _checked(python: Path, answer: object) -> tuple[tuple[int, int], list[str]]:
    """Version and folders of packages, where the answer is one."""
    match answer:
        case {"version": [int(major), int(minor)], "sites": [*sites]}:
            if 2 <= major <= 9 and 0 <= minor <= 99 and len(sites) <= 100:
                texts = [s for s in sites if isinstance(s, str) and os.path.isabs(s)]
                paths = [os.path.normpath(s) for s in texts if "\0" not in s and len(s) < 4096]
                return (major, minor), list(dict.fromkeys(paths))
    raise WorkspaceUnavailable(f"{python} cannot be used as an interpreter: it does not answer")
