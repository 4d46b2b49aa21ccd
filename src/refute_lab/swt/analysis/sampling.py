"""What samples are worth: S over the number of samples, and what a run has cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

from refute_lab.figures import Figure, mean
from refute_lab.runs.records import ErrorRecord
from refute_lab.swt.analysis.runs import GradedRun


def pass_at(run: GradedRun) -> tuple[Figure, ...]:
    """pass@1 to pass@n of a run with n graded samples of each instance.

    The unbiased estimate of Chen et al. (arXiv 2107.03374): 1 - C(n - c, k) / C(n, k) for c
    successes. Over the instances with a grade for all samples.
    """
    n = len(run.samples)
    if n < 2:
        return ()
    common = set.intersection(*(set(records) for records in run.samples))
    counts = []
    for id in sorted(common):
        states = [records[id].status for records in run.samples]
        if "error" not in states:
            counts.append(states.count("success"))
    return tuple(
        mean(1 - math.comb(n - c, k) / math.comb(n, k) for c in counts) for k in range(1, n + 1)
    )


@dataclass(frozen=True, slots=True)
class RunCost:
    """What a run has asked of a model and of this machine."""

    instances: int
    samples: int
    """Of the model, those from its cache included (at their first price)."""
    tokens: int
    usd: float | None
    """None: no price is known."""
    seconds: float
    """Wall clock, added up over instances."""
    solved: int

    @property
    def usd_per_instance(self) -> float | None:
        return None if self.usd is None or not self.instances else self.usd / self.instances

    @property
    def usd_per_success(self) -> float | None:
        return None if self.usd is None or not self.solved else self.usd / self.solved


def cost(run: GradedRun, successes: int) -> RunCost | None:
    """The cost of a run of `refute bench`; None where the predictions came from elsewhere."""
    done = [record for record in run.work if not isinstance(record, ErrorRecord)]
    if not done:
        return None
    tallies = [record.tally for record in done if record.tally is not None]
    prices = [tally.usd for tally in tallies if tally.usd is not None]
    return RunCost(
        instances=len(done),
        samples=sum(tally.samples + tally.cached for tally in tallies),
        tokens=sum(tally.prompt_tokens + tally.completion_tokens for tally in tallies),
        usd=sum(prices) if len(prices) == len(tallies) else None,
        seconds=sum(record.seconds for record in done),
        solved=successes,
    )
