"""The interpreter of the project that functions are looked at in."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from refute.errors import InputError
from refute.function.target import Module
from refute.sandbox.interpreter import OLDEST, Interpreter, inside, may_be_shown, read_path_files
from refute.workspace.infer import own_interpreter

if TYPE_CHECKING:
    from refute.workspace.local import InterpreterFacts


def with_interpreter(module: Module, python: Path | None) -> Module:
    """The module, to be run by the interpreter of its project (see `interpreter_of`)."""
    around = module.surroundings
    root = around.readable[0] if around.readable else None
    return replace(module, surroundings=replace(around, interpreter=interpreter_of(root, python)))


@lru_cache
def interpreter_of(root: Path | None, python: Path | None = None) -> Interpreter | None:
    """`python`, else the one that is active in the shell or lies in the project's folder, as
    `reproduce` finds it; None: the one that runs refute.

    What it is asked, it is asked in a jail; and what is started later is not a file of the project
    but the installation that its environment is built on. Raises `InputError`, and
    `WorkspaceUnavailable` where it does not run.
    """
    named = python is not None
    if python is None:
        python = own_interpreter(Path.cwd() if root is None else root)
    python = python.absolute()
    if not os.access(python, os.X_OK) or not python.is_file():
        raise InputError(f"{python}: cannot be run as an interpreter")
    if os.path.normpath(python.parent.parent) == os.path.normpath(sys.prefix):
        return None
    _check_version(python, _named_version(python))  # the oldest do not even take the question
    from refute.workspace.local import interpreter_facts  # seldom needed

    facts = interpreter_facts(python, root)
    _check_version(python, facts.version)
    own = "" if root is None else os.path.realpath(root)
    program = _program(python, facts, "" if named else own)
    if program is None:
        raise InputError(
            f"{python}: no installation of Python {_told(facts.version)} outside of the project "
            f"that it is built on; if you trust it: --python {python}"
        )
    files = read_path_files(facts.sites)
    shown = [path for path in (*files.folders, *files.mapped) if may_be_shown(path)]
    if own and inside(os.path.realpath(python.parent), [own]):  # it may name what it likes
        shown = [path for path in shown if inside(os.path.realpath(path), [own])]
    return Interpreter(
        program=program,
        version=facts.version,
        name=str(python),
        site=tuple(dict.fromkeys((*facts.sites, *(p for p in files.folders if p in shown)))),
        code=files.code,
        readable=(*facts.readable, *shown),
    )


def _program(python: Path, facts: InterpreterFacts, own: str) -> str | None:
    """The program behind an interpreter: an installation's, outside of folder `own`."""
    name = f"python{_told(facts.version)}"
    for home in (os.path.realpath(python), *(f"{path}/bin/{name}" for path in facts.readable)):
        program = os.path.realpath(home)
        library = Path(program).parent.parent
        installed = any(library.glob(f"lib*/{name}/os.py"))
        outside = not own or not inside(program, [own])
        if installed and outside and os.path.basename(program) in (name, "python3", "python"):
            return program
    return None


def _named_version(python: Path) -> tuple[int, int]:
    """The version that the file's name says; `OLDEST` where it says none."""
    match = re.fullmatch(r"python(\d)\.(\d+)", os.path.basename(os.path.realpath(python)))
    return (int(match[1]), int(match[2])) if match else OLDEST


def _check_version(python: Path, version: tuple[int, int]) -> None:
    if version < OLDEST:
        raise InputError(
            f"{python}: is Python {_told(version)}; functions run on {_told(OLDEST)} and newer: "
            "name another interpreter with --python"
        )


def _told(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
