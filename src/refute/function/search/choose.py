"""Choice among the edited programs that pass every trusted test."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass

from refute.function.search.trial import Result, Trial
from refute.problems import Call
from refute.sandbox import NotRun, Outcome, Raised, Returned

__all__ = ["Cluster", "clustered", "distinct", "vote"]

MOST = 80
"""Survivors that are compared by behaviour, likeliest first."""
PER_DOUBLING = 0.15
"""Log score of a cluster twice as large: size only breaks ties of the prior."""


@dataclass(slots=True)
class Cluster:
    """Survivors that behave alike on all probing inputs."""

    members: list[Result]
    outcomes: tuple[Outcome, ...]
    score: float = 0.0

    @property
    def best(self) -> Result:
        return self.members[0]


def distinct(trial: Trial, survivors: Sequence[Result]) -> list[Result]:
    """Survivors without repetitions of the same program text, likeliest first."""
    seen: set[str] = set()
    kept: list[Result] = []
    for result in sorted(survivors, key=lambda r: -r.weight):
        text = ast.dump(trial.mutated(result.edits))
        if text not in seen:
            seen.add(text)
            kept.append(result)
        if len(kept) >= MOST:
            break
    return kept


def behaviour(outcomes: Sequence[Outcome]) -> tuple[object, ...]:
    """What counts as the same behaviour: values by their bytes, exceptions by their type."""
    return tuple(o.type if isinstance(o, Raised) else o for o in outcomes)


def clustered(
    trial: Trial, survivors: Sequence[Result], inputs: Sequence[Call]
) -> list[Cluster]:
    """Group survivors by what they do on `inputs`, best cluster first."""
    rows = trial.behaviours([result.edits for result in survivors], inputs)
    groups: dict[tuple[object, ...], Cluster] = {}
    for result, outcomes in zip(survivors, rows, strict=True):
        key = behaviour(outcomes)
        if key in groups:
            groups[key].members.append(result)
        else:
            groups[key] = Cluster([result], tuple(outcomes))
    for cluster in groups.values():
        size = math.log2(len(cluster.members))
        cluster.score = cluster.best.weight + PER_DOUBLING * size
    return sorted(groups.values(), key=lambda c: -c.score)


def vote(clusters: Sequence[Cluster], index: int) -> float:
    """Share of the survivors' weight that agrees with the first cluster on input `index`."""
    top = max(c.score for c in clusters)
    winner = behaviour(clusters[0].outcomes[index : index + 1])
    agree = total = 0.0
    for cluster in clusters:
        mass = math.exp(cluster.score - top)
        total += mass
        if behaviour(cluster.outcomes[index : index + 1]) == winner:
            agree += mass
    return agree / total


def differs(a: Outcome, b: Outcome) -> bool:
    """Whether two outcomes are different and both were observed."""
    if isinstance(a, NotRun) or isinstance(b, NotRun):
        return False
    return behaviour([a]) != behaviour([b])


def is_value(outcome: Outcome) -> bool:
    return isinstance(outcome, Returned)
