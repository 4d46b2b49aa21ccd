"""`diff`: what does a change do?

>>> result = refute.diff("main", repo=".")
>>> result.differences[0].scenario.source, result.unexplained
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.api.calling import Shown, apart, path_of
from refute.diffing.comparison import Settings
from refute.diffing.differences import Difference
from refute.diffing.pinning import Pin, PinnedTest, Side, pinned_tests
from refute.diffing.revisions import open_revisions
from refute.diffing.service import Compared, Diffed, compare
from refute.errors import InputError
from refute.models.asking import Asked, open_sessions

__all__ = ["DiffResult", "diff"]

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
    show: Show = lambda one, done, total: None,
) -> DiffResult:
    """Find inputs on which the functions that changed between two revisions behave otherwise.

    `spec`: BASE (against the working tree), BASE..HEAD, BASE...HEAD (from the merge base); None:
    HEAD against the working tree. `budget`: seconds a function. `python`: the project's
    interpreter, by default found as `hunt` finds it. `recorded`: what `pytest --refute-record`
    wrote; by default the repository's `.refute/recorded.jsonl`, where there is one. `about`: what
    the change is for, besides its commit messages (an issue's text). `jobs`: worker processes, each
    with a sandbox on both sides; None: half as many as there are cores, and one where few functions
    changed. `asked`: a model, which says
    of each difference whether it is stated, contradicted or not mentioned; without one the function
    is looked for by name. `show` is told of each function. Nothing of the repository runs outside
    the sandbox, and nothing in it is written. Raises `InputError`, `Unavailable`.
    """
    if not budget > 0:
        raise InputError(f"budget = {budget}: must be above 0 seconds")
    settings = Settings(seconds=budget, seed=seed)

    def work() -> DiffResult:
        with open_revisions(Path(repo), spec) as revisions:
            calls = path_of(recorded) or recorded_calls(revisions.repo)
            how: dict[str, Any] = {"python": path_of(python), "recorded": calls, "about": about}
            found = compare(revisions, settings, jobs=jobs, show=show, **how)
            said = "\n\n".join(part for part in (about.strip(), *revisions.messages) if part)
        if asked is not None and asked.model is not None and found.counts["differs"]:
            found.functions = asyncio.run(_with_intents(found.functions, said, asked))
        return DiffResult(found)

    return apart(work)


async def _with_intents(functions: Sequence[Compared], said: str, asked: Asked) -> list[Compared]:
    from refute.diffing.intent import with_intents

    async with open_sessions(asked) as models:
        about = said or "(nothing)"
        return await with_intents(functions, about, models["model"].asker)


def recorded_calls(repo: Path) -> Path | None:
    """Where a project's recorded calls are, if there are any."""
    place = repo / ".refute" / "recorded.jsonl"
    return place if place.is_file() and not place.is_symlink() else None
