"""What repository-level methods return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from refute.core.problems import IssuePrediction

FixState = Literal["fixed", "proposed", "cannot tell"]
"""What is claimed about a fix: evidence that is independent of it agrees; it may be right, and a
reason not to call it so is known; nothing speaks for it."""


Verdict = Literal["fixed", "not fixed", "breaks tests", "does not apply", "cannot tell"]
"""What tests say of a fix."""


@dataclass(frozen=True, slots=True)
class DraftedFix:
    """A change of the code that a method drafted while it wrote tests, with what speaks for it."""

    patch: str
    """Unified diff of code files."""
    answers: int = 1
    """How many answers held just this change."""
    score: float = 0.0
    """The method's own order: more is better."""
    broken: tuple[str, ...] = ()
    """Existing tests near it that pass on the original code and fail with it."""
    near: tuple[str, ...] = ()
    """Existing test files that were run with it."""
    green: frozenset[str] = frozenset()
    """Tests of drafts that do not know it, none refused by a judge, that fail now and pass with it;
    each with the number of its draft in front, as in `3 tests/test_a.py::test_b`."""
    red: frozenset[str] = frozenset()
    """Those that fail with it."""


@dataclass(frozen=True, slots=True)
class FixClaim:
    """What is claimed about the fix in a prediction, and why."""

    state: FixState
    reasons: tuple[str, ...]
    """One-line reasons: of a fixed one the evidence, else what is wanting."""
    tests: str = ""
    """The test patch that fails now and passes with the fix; "": there is none."""
    failing: tuple[str, ...] = ()
    """Ids of its tests that fail now and pass with the fix."""
    rivals: tuple[str, ...] = ()
    """Other fixes of good standing, as unified diffs, the best first."""


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
    fixes: tuple[DraftedFix, ...] = ()
    """Changes of the code that were drafted on the way."""
    claim: FixClaim | None = None
    """About the fix that the prediction is; None: it is tests."""
