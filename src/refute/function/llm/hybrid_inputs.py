"""Which inputs are worth a question: those on which the programs do not agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refute.function.llm.generate import Proposal
from refute.function.llm.record import Attempt
from refute.function.search.choose import behaviour, differs
from refute.problems import Invocation
from refute.sandbox import NotRun, Outcome, Returned

__all__ = ["Input", "distinguishing"]


@dataclass(slots=True)
class Input:
    """An input that the programs are run on, and what became of it."""

    call: Invocation
    proposal: Proposal
    own: bool
    """Whether the model proposed it; else it is a neighbour that the engine made."""
    attempt: Attempt | None = None
    """The vote on its output, where there was one."""


def distinguishing(
    rows: Sequence[Sequence[Outcome]],
    mutants: Sequence[Sequence[Outcome]],
    *,
    own: int,
    taken: set[int],
    count: int,
) -> list[int]:
    """At most `count` numbers of inputs to ask about, most telling first.

    `rows`: what each program did on each input, the code under test first; `mutants`: the same for
    mutants of it. The first `own` inputs were proposed by the model and come first among equals.
    `taken`: inputs that were asked about before.

    An input on which the programs disagree comes before one that only mutants tell apart; inputs
    that part the programs in different ways come before a second one of the same kind; inputs on
    which all agree, mutants included, are not asked about.
    """
    given = rows[0] if rows else ()
    left = [i for i in range(len(given)) if i not in taken]
    parts = {i: _partition([row[i] for row in rows]) for i in left}
    noticed = {i: sum(differs(row[i], given[i]) for row in mutants) for i in left}
    chosen: list[int] = []
    used: list[tuple[int, ...]] = []
    while len(chosen) < count:
        worth = [i for i in left if i not in chosen and (max(parts[i]) or noticed[i])]
        if not worth:
            break

        def cost(i: int) -> tuple[int, ...]:
            part = parts[i]
            ended = sum(isinstance(row[i], Returned) for row in rows)
            return (-(max(part) > 0), used.count(part), -max(part), i >= own, -ended, -noticed[i])

        best = min(worth, key=cost)
        chosen.append(best)
        used.append(parts[best])
    return chosen


def _partition(outcomes: Sequence[Outcome]) -> tuple[int, ...]:
    """For each program the number of the first different behaviour that it shows: (0, 1, 0).

    What was not run is taken to agree with the first program.
    """
    kinds: list[object] = []
    numbers = []
    for outcome in outcomes:
        if isinstance(outcome, NotRun):
            numbers.append(0)
            continue
        kind = behaviour([outcome])
        if kind not in kinds:
            kinds.append(kind)
        numbers.append(kinds.index(kind))
    return tuple(numbers)
