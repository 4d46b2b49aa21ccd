"""What `hunt` and `debug` share: targets opened, functions worked on, progress, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.options import (
    ModelOptions,
    budget_option,
    description_option,
    gathering,
    python_option,
    seed_option,
    tests_option,
)
from refute.cli.output import consoles, remark, warn
from refute.cli.status import status_of_states
from refute.cli.subject import given_tests, share_read

if TYPE_CHECKING:
    from refute.function.contract import Ask, State
    from refute.function.parallel import Found, Searching, Tests, Unit
    from refute.function.target import Module
    from refute.function.targets import Skipped, Targets

__all__ = [
    "Collected",
    "Subject",
    "collect",
    "conclude",
    "open_subject",
    "report",
    "subject_options",
]


@dataclass(frozen=True, slots=True)
class Subject:
    """What the options say about the functions and about the search."""

    targets: tuple[str, ...]
    tests: Path | None
    description: Path | None
    budget: float
    seed: int
    jobs: int | None
    """None: as many as there are cores."""
    python: Path | None
    """What the functions run on; None: the active environment's interpreter, or the project's."""


_OPTIONS = (
    click.argument("targets", metavar="TARGET...", nargs=-1, required=True),
    tests_option,
    description_option,
    budget_option,
    seed_option,
    python_option,
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Worker processes (all cores)."
    ),
)


def subject_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the targets and the options about them, as one argument `subject`."""
    return gathering(command, "subject", Subject, _OPTIONS)


def open_subject(subject: Subject) -> tuple[Targets, list[Tests], float | None]:
    """The targets, the tests given for each module, and which part of the file of tests was read
    (see `share_read`); what is left out is said on stderr.

    Raises `InputError`, also where none of the modules has a test in `--tests`.
    """
    from refute.errors import InputError
    from refute.function.interpreters import interpreter_of, with_interpreter
    from refute.function.targets import open_targets
    from refute.function.verbs import Given

    python = None if subject.python is None else interpreter_of(None, subject.python)
    found = open_targets(subject.targets, python_path=() if python is None else python.site)
    modules = [with_interpreter(module, subject.python) for module in found.modules]
    found = replace(found, modules=tuple(modules))
    given: list[Given] = []
    reasons: list[InputError] = []
    for module in found.modules:
        try:
            given.append(given_tests(module, subject.tests, quiet=found.broad))
        except InputError as error:
            given.append(Given())
            reasons.append(error)
    if len(reasons) == len(found.modules):
        raise reasons[0]
    return found, [one.tests for one in given], share_read(subject.tests, given)


@dataclass(slots=True)
class Collected:
    """What was found out, as far as it went."""

    results: list[tuple[Module, Found]]
    skipped: list[Skipped]
    interrupted: bool = False
    """By Ctrl-C: what is done is printed and written all the same."""

    @property
    def states(self) -> list[State]:
        """What is claimed about each function."""
        return [one.state for _, one in self.results]

    @property
    def troubles(self) -> int:
        """On how many functions the method broke."""
        return sum(one.trouble for _, one in self.results)


def collect(
    subject: Subject,
    found: Targets,
    given: Sequence[Tests],
    asked: ModelOptions,
    show: Callable[[Module, Found], None],
    *,
    fixing: bool,
    ask: bool = False,
    proposed: bool = False,
) -> Collected:
    """Work on every function; `show` is told of each result as it is found out.

    Raises `InputError` where the only module or function that was named cannot be looked at.
    """
    from refute.errors import InputError
    from refute.function.parallel import Searching
    from refute.function.targets import Skipped
    from refute.function.verbs import read_description
    from refute.report import terminal

    settings = Searching(
        fixing=fixing,
        budget=subject.budget,
        seed=subject.seed,
        count=asked.n or 3,
        description=read_description(subject.description),
        proposed=proposed,
    )
    total = sum(len(module.functions) for module in found.modules)
    got = Collected([], list(found.skipped))
    counted: Counter[State] = Counter()
    left = Counter(one.kind for one in got.skipped)
    err = consoles()[1]
    with terminal.working(f"looking at {total} function{'s' * (total > 1)}", err) as shown:
        asking = terminal.asking(err, shown) if ask else None
        try:
            for unit, one in _stream(subject, found, given, asked, settings, asking):
                if isinstance(one, Skipped):
                    got.skipped.append(one)
                    left[one.kind] += 1
                    if one.kind == "cannot be loaded" and not found.broad:
                        raise InputError(one.reason)
                    continue
                got.results.append((unit.module, one))
                with shown.paused():
                    show(unit.module, one)
                counted[one.state] += 1
                counts = summary(counted, left)
                shown.say(f"{len(got.results)} of {total} functions, last {unit.where}: {counts}")
        except KeyboardInterrupt:
            got.interrupted = True
    if not got.results and got.skipped and not (found.broad or got.interrupted):
        raise InputError(f"{got.skipped[0].where}: {got.skipped[0].reason}")
    return got


def conclude(got: Collected, *, mending: bool = False) -> int:
    """Say how it all came out, and return the exit status."""
    if len(got.results) + len(got.skipped) > 1 or (got.interrupted and got.results):
        lines = [summary(Counter(got.states), Counter(one.kind for one in got.skipped))]
        if got.troubles:
            lines.append(f"of these {got.troubles} given up, for trouble of refute's own")
        remark(consoles()[1], lines)
    if got.interrupted:
        raise KeyboardInterrupt
    return status_of_states(got.states, mending=mending)


def _stream(
    subject: Subject,
    found: Targets,
    given: Sequence[Tests],
    asked: ModelOptions,
    settings: Searching,
    ask: Callable[[str], Ask] | None,
) -> Iterator[tuple[Unit, Found | Skipped]]:
    from refute.cli.asking import chosen_method
    from refute.function.parallel import units_of, work_on
    from refute.runs.pool import cores

    chosen = chosen_method(asked, counted=not settings.fixing)
    if chosen.name != "search" or ask is not None:
        return _one_by_one(found, given, asked, settings, ask)
    units = units_of(found.modules, given, fixing=settings.fixing)
    jobs = subject.jobs or cores()
    return work_on(units, settings, jobs=jobs, opened=lambda box: warn(consoles()[1], box))


def _one_by_one(
    found: Targets,
    given: Sequence[Tests],
    asked: ModelOptions,
    settings: Searching,
    ask: Callable[[str], Ask] | None,
) -> Iterator[tuple[Unit, Found | Skipped]]:
    """With a model, or with a person who is asked: in this process, module after module."""
    from refute.cli.asking import solver_of
    from refute.errors import InputError
    from refute.function import verbs
    from refute.function.parallel import Unit, present, solved
    from refute.function.targets import Skipped

    warned = False
    for module, tests in zip(found.modules, given, strict=True):
        unit = Unit(module, tests)
        try:
            box = verbs.open_box(module)
        except InputError as error:
            yield unit, Skipped(unit.where, "cannot be loaded", str(error))
            continue
        with box:
            if not warned:
                warn(consoles()[1], box)
                warned = True
            here, left = present(unit, box)
            for skipped in left:
                yield unit, skipped
            seed, fixing = settings.seed, settings.fixing
            with solver_of(asked, here.module, box, seed=seed, fixing=fixing) as solver:
                for one in solved(here, settings, solver, box, ask):
                    yield here, one


def report(
    found: Targets,
    got: Collected,
    document: Callable[[list[Any], Path], dict[str, Any]],
    share: float | None,
) -> dict[str, Any] | None:
    """The JSON document: of one file as it is, of folders and several targets with all files.

    `document` makes that of one file from its results; `share`, where it is known, is added as
    `tests_read`. None where nothing was looked at.
    """
    from refute.report.documents import broad_document

    files: dict[Path, list[Found]] = {}
    for module, one in got.results:
        files.setdefault(module.source.path, []).append(one)
    documents = {str(path): document(ones, path) for path, ones in files.items()}
    whole = next(iter(documents.values()), None)
    if found.broad:
        whole = broad_document(documents, got.skipped)
    return whole if whole is None or share is None else {**whole, "tests_read": share}


def summary(counted: Counter[State], reasons: Counter[str]) -> str:
    """`12 wrong, 40 passes; not looked at: 2 cannot be loaded, 1 no function`."""
    from refute.function.contract import State

    line = ", ".join(f"{counted[state]} {state}" for state in State if counted[state])
    left = ", ".join(f"{count} {kind}" for kind, count in reasons.most_common())
    return "; not looked at: ".join(part for part in (line or "no function", left) if part)
