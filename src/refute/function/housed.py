"""A sandbox for one module of a project: programs load under the module's own name and file."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from refute.errors import InputError
from refute.function.show import describe
from refute.function.target import Module
from refute.problems import Expression, Invocation
from refute.sandbox import (
    Limits,
    Outcome,
    Program,
    Raised,
    Returned,
    Sandbox,
)

__all__ = ["HousedSandbox", "check_loads"]

_DEFAULT = Limits()
_LOADING = Limits(cpu=5.0)


class HousedSandbox:
    """Runs every program as if it were the module, so that relative imports find its package.

    Implements `refute.sandbox.Sandbox` on top of another, which must be able to read the project.
    """

    def __init__(self, box: Sandbox, module: Module) -> None:
        self._box = box
        self._name = module.surroundings.name
        self._file = str(module.source.path.resolve())

    def _housed(self, program: Program) -> Program:
        return replace(program, filename=self._file, module=self._name)

    def run(
        self, program: Program, calls: Sequence[Invocation], limits: Limits = _DEFAULT
    ) -> list[Outcome]:
        """See `Sandbox.run`."""
        return self._box.run(self._housed(program), calls, limits)

    def run_variants(
        self, programs: Sequence[Program], calls: Sequence[Invocation], limits: Limits = _DEFAULT
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        return self._box.run_variants([self._housed(p) for p in programs], calls, limits)

    def protections(self) -> dict[str, bool]:
        """See `Sandbox.protections`."""
        return self._box.protections()

    def close(self) -> None:
        """See `Sandbox.close`."""
        self._box.close()

    def __enter__(self) -> HousedSandbox:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def check_loads(module: Module, box: Sandbox) -> None:
    """Raise `InputError` when the module itself cannot be loaded in the sandbox."""
    program = Program(module.source.text, module.functions[0])
    (outcome,) = box.run(program, [Expression("None")], _LOADING)
    if isinstance(outcome, Returned):
        return
    path = module.source.path
    if isinstance(outcome, Raised):
        line = "" if outcome.line is None else f":{outcome.line}"
        hint = ""
        closed = [p for p in module.surroundings.import_path if not _open_to_all(p)]
        if outcome.type == "ModuleNotFoundError" and closed and os.geteuid() == 0:
            hint = f"; the sandbox runs as nobody, who cannot read {closed[0]}: chmod o+rx it"
        elif outcome.type == "ModuleNotFoundError":
            hint = "; install it beside refute, or run refute from the project's environment"
        elif outcome.type == "PermissionError":
            hint = "; the sandbox allows no writes, no network and no files outside the project"
        error = f"{outcome.type}: {outcome.message}" if outcome.message else outcome.type
        raise InputError(f"{path}{line}: cannot be loaded: {' '.join(error.split())}{hint}")
    raise InputError(f"{path}: cannot be loaded: it {describe(outcome)}")


def _open_to_all(folder: Path) -> bool:
    mode = folder.stat().st_mode
    return bool(mode & stat.S_IROTH and mode & stat.S_IXOTH)
