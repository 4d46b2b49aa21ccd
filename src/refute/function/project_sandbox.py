"""A sandbox for one module of a project: programs load under the module's own name and file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from refute.core.problems import DoctestSession, Expression, Invocation
from refute.errors import InputError
from refute.function.formatting import describe
from refute.function.target import Module
from refute.sandbox import (
    Limits,
    NotRun,
    Outcome,
    Program,
    Raised,
    Returned,
    Sandbox,
)
from refute.sandbox.contract import takes_code
from refute.sandbox.interpreter import this_interpreter
from refute.source.syntax import functions_in, readable_module, unbuilt

LOADING = 10.0
"""CPU seconds that a module may take to load, with all that it imports."""
_DEFAULT = Limits()
_ANY_FILE = Program.__dataclass_fields__["filename"].default


class ProjectSandbox(Sandbox):
    """Runs every program as if it were the module, so that relative imports find its package.

    Only a program with a `filename` of its own is run as it is.

    Implements `refute.sandbox.Sandbox` on top of another, which must be able to read the project.
    """

    def __init__(self, box: Sandbox, module: Module) -> None:
        self._box = box
        self._name = module.surroundings.name
        self._around = replace(module.surroundings, name="")
        self._file = str(module.source.path.resolve())
        self._kinds: dict[tuple[str, str], Outcome] = {}
        self._known: dict[tuple[object, DoctestSession, Limits], Outcome] = {}
        self._ahead: set[str] = set()

    def kinds(self, module: Module) -> list[Outcome]:
        """Of which type each function of the module is once it is loaded; what became of the load.

        It is loaded once for all functions of its text, whichever are asked for first.
        """
        text = module.source.text
        if any((text, name) not in self._kinds for name in module.functions):
            names = list(dict.fromkeys((*module.functions, *functions_in(readable_module(text)))))
            asked = [Expression(_KIND.format(names=name.split("."))) for name in names]
            outcomes = self.run(Program(text, "__name__"), asked)
            self._kinds |= {
                (text, name): outcome for name, outcome in zip(names, outcomes, strict=True)
            }
        return [self._kinds[text, name] for name in module.functions]

    def serving(self, module: Module) -> ProjectSandbox | None:
        """The same sandbox for another module, if that lies in the same project."""
        if replace(module.surroundings, name="") != self._around:
            return None
        return ProjectSandbox(self._box, module)

    def look_ahead(
        self,
        module: Module,
        sessions: Callable[[], Sequence[DoctestSession]],
        limits: Limits,
        seconds: float,
    ) -> None:
        """Replay sessions of the module, which is loaded once for all of them, and remember what
        they showed: `run` with the same limits gives that. What there is no time for in so many
        seconds is left to `run`. Does nothing the second time."""
        text = module.source.text
        if text in self._ahead:
            return
        self._ahead.add(text)
        asked = list(dict.fromkeys(sessions()))
        bounded = replace(limits, run_wall=seconds)
        outcomes = self.run(Program(text, "__name__"), asked, bounded)
        for call, outcome in zip(asked, outcomes, strict=True):
            if not isinstance(outcome, NotRun):
                self._known[text, call, limits] = outcome

    @property
    def takes_code(self) -> bool:
        """See `Sandbox.takes_code`."""
        return takes_code(self._box)

    def _placed(self, program: Program) -> Program:
        if program.filename != _ANY_FILE:  # one of our own, which must not take the module's place
            return program
        return replace(program, filename=self._file, module=self._name)

    def run_variants(
        self, programs: Sequence[Program], calls: Sequence[Invocation], limits: Limits = _DEFAULT
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        if self._known and len(programs) == 1:
            asked = replace(limits, run_wall=None)
            known = [
                self._known.get((programs[0].code, call, asked))
                for call in calls
                if isinstance(call, DoctestSession)  # others cannot be hashed
            ]
            if len(known) == len(calls) and None not in known:
                return [[one for one in known if one is not None]]
        placed = [self._placed(program) for program in programs]
        return self._box.run_variants(placed, calls, _with_time_to_load(limits))

    def protections(self) -> dict[str, bool]:
        """See `Sandbox.protections`."""
        return self._box.protections()

    def close(self) -> None:
        """See `Sandbox.close`."""
        self._box.close()


def _with_time_to_load(limits: Limits) -> Limits:
    """A package takes long to import, whatever is allowed for a call of one of its functions."""
    return replace(limits, loading=LOADING) if limits.loading is None else limits


def open_box(module: Module, before: ProjectSandbox | None = None) -> ProjectSandbox:
    """A sandbox in which the module loads. `before`: one of another module, which serves this one,
    too, if it can, and is closed if not. Raises `InputError` when the module does not load."""
    from refute.sandbox.local import LocalSandbox

    box = None if before is None else before.serving(module)
    if box is None:
        if before is not None:
            before.close()
        around = module.surroundings
        local = LocalSandbox(
            readable=around.readable,
            import_path=around.import_path,
            interpreter=around.interpreter,
        )
        box = ProjectSandbox(local, module)
    try:
        check_loads(module, box)
    except BaseException:
        box.close()
        raise
    return box


def check_loads(module: Module, box: ProjectSandbox) -> None:
    """Raise `InputError` when the module itself cannot be loaded in the sandbox, or when it holds
    none of the functions asked for once it is loaded."""
    there = present(module, box)
    if not there.functions:
        raise InputError(f"{module.source.path}::{there.skipped[len(module.skipped)]}")


def present(module: Module, box: ProjectSandbox) -> Module:
    """The module with those functions only that it holds, written in Python, once it is loaded.

    A function may be deleted at the module's end, or give way to a twin written in C: what would
    run is then not the text. A line about each goes to `skipped`. Raises `InputError` when the
    module cannot be loaded.
    """
    kept: list[str] = []
    skipped: list[str] = []
    for name, outcome in zip(module.functions, box.kinds(module), strict=True):
        if not isinstance(outcome, Returned) and getattr(outcome, "on_import", True):
            raise InputError(_why_not_loaded(module, outcome))
        reason = _REASONS.get(outcome.value) if isinstance(outcome, Returned) else None
        if reason is None:
            kept.append(name)
        else:
            skipped.append(f"{name}: {reason}")
    return replace(module, functions=tuple(kept), skipped=(*module.skipped, *skipped))


_KIND = (
    "type(__import__('functools').reduce(lambda space, name: "
    "(getattr(space, '__dict__', space) or {{}}).get(name), {names!r}, globals())).__name__"
)
"""As what it lies in its module, or in its class itself: no descriptor is asked."""
_REASONS = {
    "NoneType": "is not there once the module has been loaded (deleted, or defined under a "
    "condition)",
    "builtin_function_or_method": "gives way to a twin written in C when the module is loaded, so "
    "that what runs is not this text",
}


def _why_not_loaded(module: Module, outcome: Outcome) -> str:
    path = module.source.path
    if not isinstance(outcome, Raised):
        return f"{path}: cannot be loaded: it {describe(outcome)}"
    line = "" if outcome.line is None else f":{outcome.line}"
    error = f"{outcome.type}: {outcome.message}" if outcome.message else outcome.type
    hint = ""
    if outcome.type == "ModuleNotFoundError":
        hint = _why_not_found(module, outcome.message)
    elif outcome.type == "PermissionError":
        hint = "; the sandbox allows no writes, no network and no files outside the project"
    return f"{path}{line}: cannot be loaded: {' '.join(error.split())}{hint}"


def _why_not_found(module: Module, message: str) -> str:
    """Say where a missing import was looked up, and what may help."""
    missing = message.partition("'")[2].partition("'")[0].partition(".")[0]
    if missing in sys.stdlib_module_names:
        return "; this Python's standard library has no such module here"
    closed = [p for p in module.surroundings.import_path if not _open_to_all(p)]
    if closed and os.geteuid() == 0:
        return f"; the sandbox runs as nobody, who cannot read {closed[0]}: chmod o+rx it"
    if hint := unbuilt(message, module.surroundings.name):
        return hint
    around = module.surroundings
    python = around.interpreter or this_interpreter()
    places = ", ".join(map(str, (*around.import_path, *python.site)))
    other = "name the project's interpreter with --python" if python.own else "name another one"
    return f"; looked for in {places}: install it for {python.name}, or {other}"


def _open_to_all(folder: Path) -> bool:
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IROTH and mode & stat.S_IXOTH)
