"""What repository-level methods return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refute.problems import IssuePrediction

__all__ = ["Reproduction"]


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
