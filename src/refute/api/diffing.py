"""`diff`: what does a change do?

>>> result = refute.diff("main", repo=".")
>>> result.differences[0].scenario.source, result.unexplained
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from refute.api.calling import Reported, apart, path_of
from refute.api.since import chosen_among
from refute.diffing.comparison import Effort, Settings
from refute.diffing.differences import Difference
from refute.diffing.pinning import Pin, PinnedTest, Side, pinned_tests
from refute.diffing.revisions import open_revisions
from refute.diffing.service import Compared, Diffed, compare, work_of
from refute.diffing.working import Comparer
from refute.errors import InputError
from refute.models.asking import Asked, open_sessions
from refute.remarks import remark
from refute.sandbox.deadline import end_after

if TYPE_CHECKING:
    from refute.report.formats.contract import Report
    from refute.results.changes import Diff

PATIENCE, COUNTED = 4, 400
"""Where a model is asked: times the budget of seconds, and scenarios for one function."""
Show = Callable[[Compared, int, int], None]
"""Is told of each function, how many are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class DiffResult(Reported):
    """What a change does, as far as it was found out."""

    diffed: Diffed
    known: int = 0
    """Functions of which only what the baseline knows differs; they are not here."""

    @property
    def functions(self) -> tuple[Compared, ...]:
        """What came of each changed function."""
        return tuple(self.diffed.functions)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Inputs on which the revisions differ, of all functions."""
        return tuple(d for one in self.functions for d in one.comparison.differences)

    @property
    def unexplained(self) -> bool:
        """Whether a function behaves otherwise and no changed test, docstring, change log or
        message names it."""
        return self.diffed.unexplained

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it; what was done by then is here."""
        return self.diffed.interrupted

    def tests(
        self, pin: Pin | Side, *, hypothesis: bool = False, placed: bool = True
    ) -> list[PinnedTest]:
        """A test for each difference, that pins one side, or for each the side that `pin` says.

        `hypothesis`: as properties to fill in. `placed`: in the style of the project's tests.
        """
        chosen: Pin = (lambda one, difference: pin) if isinstance(pin, str) else pin
        root = self.diffed.repo
        return list(pinned_tests(self.diffed, chosen, root, hypothesis=hypothesis, placed=placed))

    def document(self) -> Diff:
        """The result as `diff/1`."""
        from refute.results.changes import Diff, comparison

        return Diff(**asdict(comparison(self.diffed)), known=self.known)

    def report(self) -> Report:
        """What there is to report."""
        from refute.function.contract import Skipped
        from refute.report.diffs import summary_line
        from refute.report.formats.changes import case_of_change
        from refute.report.formats.contract import Report

        left = tuple(
            Skipped(
                f"{one.path}:{one.line}" if one.line else one.path, "cannot be read", one.reason
            )
            for one in self.diffed.changes.unreadable
        )
        cases = tuple(map(case_of_change, self.functions))
        line = summary_line(self.diffed)
        return Report("diff", cases, left, line, self.known, self.interrupted)

    def write_baseline(self, file: Path | str) -> int:
        """Write the differences as known; what the file knows of other functions stays. Returns how
        many problems it knows then. Raises `InputError`."""
        from refute.report.baselines import OF_CHANGES, write_baseline

        return write_baseline(Path(file), self.report(), OF_CHANGES)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.diffs import print_diffed

        print_diffed(self.diffed, console)


def diff(
    spec: str | None = None,
    *,
    repo: Path | str = ".",
    python: Path | str | None = None,
    budget: float = 5.0,
    total_budget: float | None = None,
    only: Sequence[str] | None = None,
    baseline: Path | str | None = None,
    seed: int = 0,
    recorded: Path | str | None = None,
    about: str = "",
    jobs: int | None = None,
    asked: Asked | None = None,
    rounds: int = 3,
    calls: int = 60,
    show: Show = lambda one, done, total: None,
) -> DiffResult:
    """Find inputs on which the functions that changed between two revisions behave otherwise.

    `spec`: BASE (against the working tree), BASE..HEAD, BASE...HEAD (from the merge base); None:
    HEAD against the working tree. `budget`: seconds a function; `total_budget`: for all of them,
    after which nothing can be told of the rest. `only`: targets as of `hunt`; what changed
    elsewhere is left out (None: nothing is). `baseline`: a file of `DiffResult.write_baseline`;
    what it knows is not looked upon as a difference. `python`: the project's interpreter, by
    default found as `hunt` finds it. `recorded`: what `pytest --refute-record`
    wrote; by default the repository's `.refute/recorded.jsonl`, where there is one. `about`: what
    the change is for, besides its commit messages (an issue's text). `jobs`: worker processes, each
    with a sandbox on both sides; None: half as many as there are cores, and one where few functions
    changed. `asked`: a model. Of functions of which no difference was
    found, or of which changed lines were not executed, it writes inputs, in up to `rounds` rounds
    with feedback, no more than `calls` samples for all functions; and it says
    of each difference whether it is stated, contradicted or not mentioned; without one the function
    is looked for by name. With a model scenarios are counted rather than timed, so that the same
    is asked another time. `show` is told of each function. Nothing of the repository runs outside
    the sandbox, and nothing in it is written. Raises `InputError`, `Unavailable`.
    """
    if not budget > 0:
        raise InputError(f"budget = {budget}: must be above 0 seconds")
    if total_budget is not None and not total_budget > 0:
        raise InputError(f"total budget = {total_budget}: must be above 0 seconds")
    settings = Settings(seconds=budget, seed=seed, end=end_after(total_budget))
    effort = Effort(rounds, calls)
    fresh = _fresh(path_of(baseline))

    def show_fresh(one: Compared, done: int, total: int) -> None:
        new = fresh(one)
        if new is not None:
            show(new, done, total)

    if asked is not None and asked.model is not None:
        settings = replace(settings, seconds=PATIENCE * budget, most=COUNTED, steady=True)

    def work() -> DiffResult:
        with open_revisions(Path(repo), spec) as revisions:
            calls = path_of(recorded) or recorded_calls(revisions.repo)
            how: dict[str, Any] = {"python": path_of(python), "recorded": calls}
            chosen = chosen_among(only, revisions.repo)
            told: dict[str, Any] = {"about": about, "chosen": chosen, "show": show_fresh}
            found = compare(revisions, settings, jobs=jobs, **told, **how)
            if asked is not None and asked.model is not None and not found.interrupted:
                said = "\n\n".join(part for part in (about.strip(), *revisions.messages) if part)
                with Comparer(work_of(revisions, found.changes, settings, **how)) as comparer:
                    asking = _asked(found.functions, comparer, said, asked, effort)
                    found.functions = asyncio.run(asking)
        looked_at = len(found.functions)
        if only is not None and not looked_at and not found.interrupted:
            remark([f"nothing that changed lies in {', '.join(only) or 'an empty list'}"])
        found.functions = [new for one in found.functions if (new := fresh(one)) is not None]
        return DiffResult(found, looked_at - len(found.functions))

    return apart(work)


def _fresh(baseline: Path | None) -> Callable[[Compared], Compared | None]:
    """What came of a function without what the baseline knows; None where nothing is left of what
    differed."""
    if baseline is None:
        return lambda one: one
    from refute.report.baselines import read_baseline
    from refute.report.formats.changes import without_known

    return partial(without_known, read_baseline(baseline))


async def _asked(
    functions: Sequence[Compared], comparer: Comparer, said: str, asked: Asked, effort: Effort
) -> list[Compared]:
    """The functions, with further inputs and with what a model says of the differences."""
    from refute.diffing.intent import with_intents
    from refute.diffing.written import with_written_inputs

    async with open_sessions(asked) as models:
        ask = models["model"].asker
        found = await with_written_inputs(functions, comparer, ask, effort)
        return await with_intents(found, said or "(nothing)", ask)


def recorded_calls(repo: Path) -> Path | None:
    """Where a project's recorded calls are, if there are any."""
    place = repo / ".refute" / "recorded.jsonl"
    return place if place.is_file() and not place.is_symlink() else None
