"""Choice among the edited programs that pass every trusted test."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass

from refute.function.contract import Question
from refute.function.search.inputs import Tier
from refute.function.search.trial import Result, Trial
from refute.problems import Call, Invocation, UnitTest
from refute.sandbox import NotRun, Outcome, Raised, Returned
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.values import MalformedValue

__all__ = [
    "MOST",
    "Cluster",
    "Hints",
    "behaviour",
    "believable",
    "clustered",
    "differs",
    "distinct",
    "question_for",
    "vote",
]

MOST = 80
"""Survivors that are compared by behaviour, likeliest first."""
PER_DOUBLING = 0.15
"""Log score of a cluster twice as large: size only breaks ties of the prior."""

CRASHES = -3.0
"""Log weight per share of in-domain inputs on which only the candidate crashes."""
ODD_TYPE = -3.0
"""Log weight per share of in-domain inputs with an output of a type that no test expects."""
CONSTANT = -3.0
"""The output is the same whatever the input."""
HINT_LOST = -3.0
"""A self-test of the code that it passes and the candidate does not."""
HINT_WON = 0.7


@dataclass(slots=True)
class Cluster:
    """Survivors that behave alike on all probing inputs."""

    members: list[Result]
    outcomes: tuple[Outcome, ...]
    score: float = 0.0

    @property
    def best(self) -> Result:
        """The likeliest member."""
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


@dataclass(frozen=True, slots=True)
class Hints:
    """Tests that the code states about itself: they rank candidates, no more."""

    tests: tuple[UnitTest, ...] = ()


def clustered(
    trial: Trial,
    survivors: Sequence[Result],
    inputs: Sequence[tuple[Call, Tier]],
    hints: Hints = Hints(),
) -> list[Cluster]:
    """Group survivors by what they do on `inputs`, best cluster first."""
    if not survivors:
        return []
    calls: list[Invocation] = [call for call, _ in inputs]
    calls += [test.call for test in hints.tests]
    rows = trial.behaviours([(), *[result.edits for result in survivors]], calls)
    count = len(inputs)
    before = rows[0]
    groups: dict[tuple[object, ...], Cluster] = {}
    for result, outcomes in zip(survivors, rows[1:], strict=True):
        key = behaviour(outcomes)
        if key in groups:
            groups[key].members.append(result)
        else:
            groups[key] = Cluster([result], tuple(outcomes[:count]))
            groups[key].score = _plausibility(trial, before, outcomes, inputs, hints)
    for cluster in groups.values():
        size = math.log2(len(cluster.members))
        cluster.score += cluster.best.weight + PER_DOUBLING * size
    return sorted(groups.values(), key=lambda c: -c.score)


def _plausibility(
    trial: Trial,
    before: Sequence[Outcome],
    after: Sequence[Outcome],
    inputs: Sequence[tuple[Call, Tier]],
    hints: Hints,
) -> float:
    """Log weight of a behaviour: a fix crashes on nothing, and keeps what the author had tried."""
    score = 0.0
    inside = [i for i, (_, tier) in enumerate(inputs) if tier == Tier.IN_DOMAIN]
    if inside:
        crashes = sum(
            not isinstance(after[i], Returned) and isinstance(before[i], Returned) for i in inside
        )
        score += CRASHES * crashes / len(inside)
        kinds = {type(t.expected).__name__ for t in trial.tests if t.raises is None}
        odd = sum(_kind(after[i]) not in (None, *kinds) for i in inside)
        score += ODD_TYPE * odd / len(inside)
        varied = len({behaviour([after[i]]) for i in inside})
        if len(inside) >= 6 and varied == 1:
            score += CONSTANT
    for test, old, new in zip(
        hints.tests, before[len(inputs) :], after[len(inputs) :], strict=True
    ):
        expected = expect_test(test)
        was, now = matches(old, expected), matches(new, expected)
        score += HINT_LOST * (was and not now) + HINT_WON * (now and not was)
    return score


def _kind(outcome: Outcome) -> str | None:
    """Name of the type of what was returned; None where nothing was."""
    if not isinstance(outcome, Returned):
        return None
    try:
        return type(outcome.value).__name__
    except MalformedValue:
        return "?"


def question_for(
    clusters: Sequence[Cluster], inputs: Sequence[tuple[Call, Tier]]
) -> tuple[Question | None, int]:
    """The input that tells `clusters` best apart, with its index; short calls are preferred."""
    best: tuple[tuple[int, int, int], int] | None = None
    for index, (call, tier) in enumerate(inputs):
        outputs = [c.outcomes[index] for c in clusters]
        kinds = len({behaviour([o]) for o in outputs})
        if kinds < 2 or any(isinstance(o, NotRun) for o in outputs):
            continue
        rank = (-kinds, tier + sum(not isinstance(o, Returned) for o in outputs), len(repr(call)))
        if best is None or rank < best[0]:
            best = (rank, index)
    if best is None:
        return None, -1
    index = best[1]
    return Question(inputs[index][0], tuple(c.outcomes[index] for c in clusters)), index


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


def believable(
    clusters: Sequence[Cluster],
    tests: Sequence[UnitTest],
    inputs: Sequence[tuple[Call, Tier]],
) -> bool:
    """Whether the first cluster may be proposed: one example alone fits many wrong programs.

    How much one example says depends on its output: a truth value is met by accident half of the
    time, a number now and then, a long list hardly ever. A fix that still crashes on inputs like
    the example's is none. Thresholds from the development data and other programs like them.
    """
    if len(tests) > 1:
        return True
    first = clusters[0]
    inside = [o for o, (_, tier) in zip(first.outcomes, inputs, strict=True) if not tier]
    if sum(not isinstance(o, Returned) for o in inside) > 0.3 * len(inside):
        return False
    share = 1.0 / sum(math.exp(c.score - first.score) for c in clusters)
    expected = tests[0].expected
    if expected is None or isinstance(expected, bool):
        return share >= 0.9 and first.score >= -3.5
    if isinstance(expected, int | float):
        return share >= 0.45 and first.score >= -1.0 and len(clusters) <= 6
    return share >= 0.45 and first.score >= -6.0


def differs(a: Outcome, b: Outcome) -> bool:
    """Whether two outcomes are different and both were observed."""
    if isinstance(a, NotRun) or isinstance(b, NotRun):
        return False
    return behaviour([a]) != behaviour([b])
