"""`hunt` and `debug` over many functions: in this process, or in several worker processes.

A unit of work is one function for `hunt`, and all functions of a file for `debug`, whose fixes
build on one another. One unit's trouble never ends the others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.problems import UnitTest
from refute.core.registry import METHODS
from refute.errors import InputError
from refute.function import verbs
from refute.function.contract import Ask, Seen, Skipped
from refute.function.examples import first_looks
from refute.function.examples.replayed import LOOKING
from refute.function.project_sandbox import ProjectSandbox, open_box, present
from refute.function.target import Module
from refute.function.verbs import Fix, Hunt, Solver, inline
from refute.sandbox import Sandbox

if TYPE_CHECKING:
    from refute.function.search.backwards import ProjectRepair

LEAST = 1.0
"""Seconds for one function, at least: with less a look is of no use."""
FEW = 3
"""So many units are done in this process: workers take a while to start."""

Found = Hunt | Fix
Tests = dict[str, tuple[UnitTest, ...]]
Solving = Callable[[Module, Sandbox], AbstractContextManager[Solver]]
"""Opens what the method needs for a module, which loads in the sandbox."""


@dataclass(frozen=True, slots=True)
class FunctionUnit:
    """Functions of one module that are looked at together, with the tests given for them."""

    module: Module
    tests: Tests
    seen: Mapping[str, Seen] = field(default_factory=dict)
    """Observations of the project's own runner of each function."""
    beside: tuple[str, ...] = ()
    """The functions of the module that other units look at."""
    share: float = 1.0
    """Of the time that is left when it is begun, the part that each of its functions may take."""

    @property
    def where(self) -> str:
        """`FILE.py::FUNCTION`, or the file where there are several functions."""
        path = str(self.module.source.path)
        names = self.module.functions
        return f"{path}::{names[0]}" if len(names) == 1 else path


@dataclass(frozen=True, slots=True)
class Searching:
    """Settings of a run, the same for every unit."""

    fixing: bool
    """`debug`; else `hunt`."""
    budget: float
    """Seconds for one function."""
    method: str = "search"
    """Its name: a worker process finds the method itself."""
    options: Any = None
    """The method's own; None: its defaults."""
    seed: int = 0
    count: int = 3
    """Failing tests of one function to look for (`hunt`)."""
    description: str | None = None
    proposed: bool = False
    """`debug`: each function is looked at on top of what is only proposed for others, too."""
    end: float = math.inf
    """End of the time for all (`refute.sandbox.pool.end_after`)."""

    def seconds(self, share: float) -> float:
        """For one function, of which this is the share in the time that is left; 0: none is."""
        left = self.end - time.monotonic()
        return min(self.budget, max(LEAST, share * left)) if left > 0 else 0.0


def units_of(
    modules: Sequence[Module],
    tests: Sequence[Tests],
    seen: Sequence[Mapping[str, Seen]],
    *,
    fixing: bool,
) -> list[FunctionUnit]:
    """The units of work in order; `tests` are those given for each module, `seen` those of its
    project that were run."""
    units: list[FunctionUnit] = []
    for module, given, known in zip(modules, tests, seen, strict=True):
        if fixing:
            units.append(FunctionUnit(module, given, known))
            continue
        for name in module.functions:
            one = {name: known[name]} if name in known else {}
            alone = replace(module, functions=(name,))
            units.append(FunctionUnit(alone, given, one, module.functions))
    return units


def shared(units: Sequence[FunctionUnit], jobs: int | None) -> list[FunctionUnit]:
    """The units, each with its functions' share in the time that is left when it is begun: what
    ends early leaves more to those behind it."""
    from refute.core.processes import cores

    workers = 1 if len(units) <= FEW else jobs or cores()
    rest = sum(len(unit.module.functions) for unit in units)
    found = []
    for unit in units:
        found.append(replace(unit, share=min(1.0, workers / max(1, rest))))
        rest -= len(unit.module.functions)
    return found


def work_on(
    units: Sequence[FunctionUnit],
    settings: Searching,
    *,
    jobs: int | None,
    opened: Callable[[Sandbox], None] | None = None,
    solving: Solving | None = None,
    ask: Callable[[str], Ask] | None = None,
    repairing: Callable[[Module], ProjectRepair] | None = None,
) -> Iterator[tuple[FunctionUnit, Found | Skipped]]:
    """Yield the result for each function, in the order in which they finish.

    `jobs`: worker processes; None: one for each core. A unit that cannot be worked on (its module
    does not load) is `Skipped`. `opened` is told of the first sandbox that this process opens. With
    `solving` (a method that asks a model), `ask` (a person who is asked) or `repairing` (the
    project's own runner, which is warm) all is done in this process. Raises `SandboxUnavailable`.
    """
    here = any(one is not None for one in (solving, ask, repairing))
    if jobs == 1 or len(units) <= FEW or here:
        with _Worker(settings, opened, solving, ask, repairing) as worker:
            for unit in units:
                for one in worker.each(unit):
                    yield unit, one
        return
    from refute.core.processes import Failed, cores, run_tasks  # seldom needed for a single target

    start = partial(_Worker, settings)
    for unit, done in run_tasks(units, start=start, jobs=jobs or cores()):
        if isinstance(done, Failed):
            yield unit, Skipped(unit.where, "trouble of refute's own", done.reason)
            continue
        for one in done:
            yield unit, one


def _present(unit: FunctionUnit, box: ProjectSandbox) -> tuple[FunctionUnit, list[Skipped]]:
    """The unit with the functions that its module holds once it is loaded, and the others."""
    known = len(unit.module.skipped)
    module = present(unit.module, box)
    path = module.source.path
    left = [line.partition(": ") for line in module.skipped[known:]]
    gone = [Skipped(f"{path}::{name}", "not there as written", why) for name, _, why in left]
    return replace(unit, module=module), gone


def _too_late(unit: FunctionUnit, begun: int = 0) -> Iterator[Skipped]:
    """The functions of a unit for which no time is left: all but the first `begun`."""
    path = unit.module.source.path
    for name in unit.module.functions[begun:]:
        yield Skipped(f"{path}::{name}", "no time left", "the time for all targets was up")


class _Worker:
    """Does one unit after the other; the sandbox of the last module stays open for the next."""

    def __init__(
        self,
        settings: Searching,
        opened: Callable[[Sandbox], None] | None = None,
        solving: Solving | None = None,
        ask: Callable[[str], Ask] | None = None,
        repairing: Callable[[Module], ProjectRepair] | None = None,
    ) -> None:
        self._settings = settings
        self._repairing = repairing
        self._opened = opened
        self._solving = solving or self._inline
        self._brief = solving is None and not settings.fixing and settings.description is None
        self._ask = ask
        self._path: Path | None = None
        self._box: ProjectSandbox | None = None
        self._refusal = ""

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *exc: object) -> None:
        self._close()

    def __call__(self, unit: FunctionUnit) -> tuple[Found | Skipped, ...]:
        """All that `each` yields: the task of a worker process."""
        return tuple(self.each(unit))

    def each(self, unit: FunctionUnit) -> Iterator[Found | Skipped]:
        """Yield the result for each function of a unit, one after the other."""
        start, settings = time.monotonic(), self._settings
        seconds = settings.seconds(unit.share)
        if not seconds:
            yield from _too_late(unit)
            return
        box = self._open(unit.module)
        if box is None:
            yield Skipped(unit.where, "cannot be loaded", self._refusal)
            return
        here, left = _present(unit, box)
        spent = time.monotonic() - start
        yield from left
        if self._brief and unit.beside:
            looks = partial(first_looks, unit.module.source.text, unit.beside)
            together = min(seconds * len(unit.beside), settings.end - start)
            box.look_ahead(unit.module, looks, LOOKING, together)
        with self._solving(here.module, box) as solver:
            for done, one in enumerate(self._looked_at(here, solver, box, seconds, spent), 1):
                yield one
                if not settings.seconds(unit.share):
                    yield from _too_late(here, done)
                    return

    def _looked_at(
        self, unit: FunctionUnit, solver: Solver, box: Sandbox, seconds: float, spent: float
    ) -> Iterator[Found]:
        """The result for each function. The unit's module loads in `box`, which took the seconds
        `spent`; `seconds` for one function."""
        settings, module = self._settings, unit.module
        how: dict[str, Any] = {
            "solver": solver, "box": box, "budget": seconds, "spent": spent, "tests": unit.tests,
            "description": settings.description, "seen": unit.seen,
        }  # fmt: skip
        if not settings.fixing:
            return verbs.hunt(module, count=settings.count, brief=self._brief, **how)
        project = None if self._repairing is None else self._repairing(module)
        return verbs.debug(
            module, ask=self._ask, proposed=settings.proposed, project=project, **how
        )

    def _inline(self, module: Module, box: Sandbox) -> AbstractContextManager[Solver]:
        settings = self._settings
        spec = METHODS.get(settings.method)
        return nullcontext(inline(spec, settings.options, box, seed=settings.seed))

    def _open(self, module: Module) -> ProjectSandbox | None:
        """A sandbox in which the module loads; None where it does not, for `_refusal`."""
        if self._path == module.source.path:
            return self._box
        before, self._box = self._box, None
        self._path = module.source.path
        try:
            self._box = open_box(module, before)
        except InputError as error:
            self._refusal = str(error)
            return None
        if self._opened is not None:
            self._opened(self._box)
            self._opened = None
        return self._box

    def _close(self) -> None:
        if self._box is not None:
            self._box.close()
        self._box = self._path = None
