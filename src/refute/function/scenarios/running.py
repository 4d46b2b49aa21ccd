"""Describe a module's callables in the sandbox and run proposals on them, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from refute.function.scenarios.observation import LIMITS, Observation, observe
from refute.function.scenarios.proposing import Proposal, Proposer
from refute.sandbox import Program, Sandbox


@dataclass(frozen=True, slots=True)
class Shown:
    """A proposal and what it showed."""

    proposal: Proposal
    seen: Observation


def explore(
    proposer: Proposer,
    run: Callable[[Sequence[Proposal]], Sequence[Observation]],
    *,
    most: int,
    batch: int = 32,
    seconds: float | None = None,
) -> Iterator[Shown]:
    """Run up to `most` proposals in batches and tell the proposer what each showed.

    `run` gives an observation for each; `seconds` bounds the whole.
    """
    end = None if seconds is None else time.monotonic() + seconds
    left = most
    while left > 0 and (end is None or time.monotonic() < end):
        proposals = proposer.batch(min(batch, left))
        if not proposals:
            return
        left -= len(proposals)
        for proposal, seen in zip(proposals, run(proposals), strict=True):
            proposer.learn(proposal, seen)
            yield Shown(proposal, seen)


def runner(box: Sandbox, program: Program) -> Callable[[Sequence[Proposal]], list[Observation]]:
    """What runs proposals on a program, in one process image a batch."""
    return lambda proposals: observe(box, program, [one.scenario for one in proposals], LIMITS)


def reader_of(*folders: Path) -> Callable[[str], str | None]:
    """Reads files that lie in the folders, by the path that the sandbox names; None for others."""
    roots = [folder.resolve() for folder in folders]

    @lru_cache(maxsize=256)
    def read(name: str) -> str | None:
        path = Path(name)
        try:
            if not any(path.resolve().is_relative_to(root) for root in roots):
                return None
            return path.read_text("utf-8")
        except (OSError, ValueError):
            return None

    return read
