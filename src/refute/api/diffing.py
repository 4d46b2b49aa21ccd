"""`diff`: what does a change do?

>>> result = refute.diff("main", repo=".")
>>> result.differences[0].scenario.source, result.unexplained
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from refute.api.calling import Shown, apart, path_of
from refute.diffing.comparison import Effort, Settings
from refute.diffing.differences import Difference
from refute.diffing.pinning import Pin, PinnedTest, Side, pinned_tests
from refute.diffing.revisions import open_revisions
from refute.diffing.service import Compared, Diffed, compare, work_of
from refute.diffing.working import Comparer
from refute.errors import InputError
from refute.models.asking import Asked, open_sessions

__all__ = ["DiffResult", "diff"]

PATIENCE, COUNTED = 4, 400
"""Where a model is asked: times the budget of seconds, and scenarios for one function."""
Show = Callable[[Compared, int, int], None]
"""Is told of each function, how many are done, and how many there are."""


@dataclass(frozen=True, slots=True)
class DiffResult(Shown):
    """What a change does, as far as it was found out."""

    diffed: Diffed

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

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        from refute.report.diffs import diff_document

        return diff_document(self.diffed)

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
    HEAD against the working tree. `budget`: seconds a function. `python`: the project's
    interpreter, by default found as `hunt` finds it. `recorded`: what `pytest --refute-record`
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
    settings, effort = Settings(seconds=budget, seed=seed), Effort(rounds, calls)
    if asked is not None and asked.model is not None:
        settings = replace(settings, seconds=PATIENCE * budget, most=COUNTED, steady=True)

    def work() -> DiffResult:
        with open_revisions(Path(repo), spec) as revisions:
            calls = path_of(recorded) or recorded_calls(revisions.repo)
            how: dict[str, Any] = {"python": path_of(python), "recorded": calls}
            found = compare(revisions, settings, jobs=jobs, about=about, show=show, **how)
            if asked is not None and asked.model is not None and not found.interrupted:
                said = "\n\n".join(part for part in (about.strip(), *revisions.messages) if part)
                with Comparer(work_of(revisions, found.changes, settings, **how)) as comparer:
                    asking = _asked(found.functions, comparer, said, asked, effort)
                    found.functions = asyncio.run(asking)
        return DiffResult(found)

    return apart(work)


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
