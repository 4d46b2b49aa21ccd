"""What repository-level methods take and return (docs/architecture.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from refute.models.contract import Asker
from refute.problems import IssuePrediction, IssueProblem
from refute.workspace.contract import Workspace

__all__ = ["Bounds", "Reproducer", "Reproduction", "Spawn"]

Spawn = Callable[[], Workspace]
"""Opens one more private workspace of the same repository at the same commit."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one issue may cost. Calls are samples asked of the model."""

    calls: int = 60
    seconds: float = 1800.0
    """Wall clock, with the runs of tests, without the waiting for a batch's answers."""
    test_seconds: float = 300.0
    """For one run of tests."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A prediction with what led to it."""

    prediction: IssuePrediction
    steps: tuple[dict[str, Any], ...] = ()
    """The journal of the method: one JSON object per step (`kind`, and what was asked, run, seen);
    enough to show a reader why the prediction is what it is."""
    alternatives: tuple[IssuePrediction, ...] = ()
    """All samples, the prediction's own included, where a method drew several: what the oracle
    grader of pass@k chooses from. No method looks at grades."""


class Reproducer(Protocol):
    """From an issue and a repository to tests that fail now and pass once it is fixed.

    It never receives an answer key, and the workspace holds nothing later than the base commit.
    """

    async def __call__(
        self, problem: IssueProblem, spawn: Spawn, *, ask: Asker | None, bounds: Bounds
    ) -> Reproduction:
        """Work on one issue. `ask` is None where no model was given.

        Raises `ModelUnavailable`, `AnswersPending`, `BudgetExceeded`, `WorkspaceUnavailable`, and
        `ContextTooLong` where the issue fits into no question, however little is shown besides;
        whatever the model says or the tests do is no error.
        """
        ...
