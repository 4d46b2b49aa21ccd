"""What `hunt` and `debug` share: targets opened, functions worked on, progress, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from refute.cli.options import (
    ModelOptions,
    budget_option,
    description_option,
    gathering,
    seed_option,
    tests_option,
)
from refute.cli.output import consoles, warn
from refute.cli.subject import given_tests

if TYPE_CHECKING:
    from refute.function.contract import Ask
    from refute.function.parallel import Found, Searching, Tests, Unit
    from refute.function.targets import Skipped, Targets
    from refute.report.terminal import Working

__all__ = ["Subject", "find", "open_subject", "report", "subject_options", "summary"]

Result = TypeVar("Result")


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


_OPTIONS = (
    click.argument("targets", metavar="TARGET...", nargs=-1, required=True),
    tests_option,
    description_option,
    budget_option,
    seed_option,
    click.option(
        "--jobs", type=click.IntRange(1), metavar="N", help="Worker processes (all cores)."
    ),
)


def subject_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the targets and the options about them, as one argument `subject`."""
    return gathering(command, "subject", Subject, _OPTIONS)


def open_subject(subject: Subject) -> tuple[Targets, list[Tests]]:
    """The targets and the tests given for each module; what is left out is said on stderr.

    Raises `InputError`, also where none of the modules has a test in `--tests`.
    """
    from refute.errors import InputError
    from refute.function.targets import open_targets

    found = open_targets(subject.targets)
    given: list[Tests] = []
    reasons: list[InputError] = []
    for module in found.modules:
        try:
            given.append(given_tests(module, subject.tests, quiet=found.broad))
        except InputError as error:
            given.append({})
            reasons.append(error)
    if len(reasons) == len(found.modules):
        raise reasons[0]
    return found, given


def find(
    subject: Subject,
    found: Targets,
    given: Sequence[Tests],
    asked: ModelOptions,
    shown: Working,
    *,
    fixing: bool,
    ask: Callable[[str], Ask] | None = None,
    proposed: bool = False,
) -> Iterator[tuple[Unit, Found | Skipped]]:
    """What is found out about each function, as it is found out; progress goes to `shown`.

    Raises `InputError` where the only module that was named does not load.
    """
    from refute.cli.asking import chosen_method
    from refute.errors import InputError
    from refute.function.parallel import Searching, units_of, work_on
    from refute.function.targets import Skipped
    from refute.function.verbs import Fix, read_description
    from refute.runs.pool import cores

    settings = Searching(
        fixing=fixing,
        budget=subject.budget,
        seed=subject.seed,
        count=asked.n or 3,
        description=read_description(subject.description),
        proposed=proposed,
    )
    units = units_of(found.modules, given, fixing=fixing)
    total = sum(len(module.functions) for module in found.modules)
    shown.say(f"{total} functions" if total > 1 else units[0].where)
    stream: Iterator[tuple[Unit, Found | Skipped]]
    if chosen_method(asked, counted=not fixing) == "search" and ask is None:
        jobs = subject.jobs or cores()
        stream = work_on(units, settings, jobs=jobs, opened=lambda box: warn(consoles()[1], box))
    else:
        stream = _one_by_one(found, given, asked, settings, ask)
    wrong = 0
    for done, (unit, one) in enumerate(stream, 1):
        if isinstance(one, Skipped):
            if not found.broad and (total == 1 or one.kind == "cannot be loaded"):
                raise InputError(one.reason)
        else:
            wrong += one.hunt.found if isinstance(one, Fix) else one.found
        if total > 1:
            shown.say(f"{done} of {total} functions, {wrong} wrong; last {unit.where}")
        yield unit, one


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
            rounds = None if settings.fixing else 0
            how = {"budget": settings.budget, "seed": settings.seed, "m": rounds}
            with solver_of(asked, here.module, box, **how) as solver:
                for one in solved(here, settings, solver, ask):
                    yield here, one


def report(
    found: Targets,
    results: Sequence[tuple[Path, Result]],
    skipped: Sequence[Skipped],
    document: Callable[[list[Result], Path], dict[str, Any]],
) -> dict[str, Any] | None:
    """The JSON document: of one file as it is, of folders and several targets with all files.

    `document` makes that of one file. None where nothing was looked at.
    """
    from refute.report.documents import broad_document

    files: dict[Path, list[Result]] = {}
    for path, one in results:
        files.setdefault(path, []).append(one)
    documents = {str(path): document(ones, path) for path, ones in files.items()}
    if found.broad:
        return broad_document(documents, skipped)
    return next(iter(documents.values()), None)


def summary(states: Sequence[str], skipped: Sequence[Skipped]) -> str:
    """`40 passes, 12 wrong; not looked at: 2 cannot be loaded, 1 no function`."""
    line = ", ".join(f"{count} {state}" for state, count in Counter(states).most_common())
    reasons = Counter(one.kind for one in skipped).most_common()
    left = ", ".join(f"{count} {kind}" for kind, count in reasons)
    return "; not looked at: ".join(part for part in (line or "no function", left) if part)
