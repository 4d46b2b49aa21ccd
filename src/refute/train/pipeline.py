"""Fine-tune, then choose the checkpoint: what `refute train all` does once the data is there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.train.select import Selection, select
from refute.train.settings import Resolved
from refute.train.sft import Prepared, Trained, train

__all__ = ["Outcome", "train_and_select"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the two stages made."""

    trained: Trained
    selection: Selection


def train_and_select(
    prepared: Prepared,
    validation: Path,
    resolved: Resolved,
    output: Path,
    *,
    n: int = 3,
    limit: int | None = None,
    max_tokens: int = 2048,
    report_to: Sequence[str] = (),
    report: Callable[[dict[str, Any]], None] = lambda record: None,
    progress: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Train on the rows, choose by the problems of `validation`; each goes on where it was killed.

    Raises what `train` and `select` raise.
    """
    trained = train(prepared, resolved, output, report=report, report_to=report_to)
    selection = select(
        output, validation, n=n, limit=limit, max_tokens=max_tokens, progress=progress
    )
    return Outcome(trained, selection)
