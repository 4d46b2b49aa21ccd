"""Vote, refine, backtrack, best of N, cross-check: plain functions that methods are composed of.

They know no model, no sandbox and no level; what is drawn, improved or compared is the caller's:

    answers = await vote(draw, k=8)                                     # self-consistency
    versions = await refine(code, edit, rounds=3, accept=backtrack(passed))

`refute_lab.baselines.methods.utgen` is Algorithm 2 of UTGen (arXiv 2502.01619) in these words.
"""

from __future__ import annotations

import operator
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, zip_longest
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def in_turn(sources: Iterable[Iterable[T]]) -> Iterator[T]:
    """One of each source, then a second one of each, and so on while they last."""
    over: Any = object()
    for row in zip_longest(*sources, fillvalue=over):
        yield from (one for one in row if one is not over)


def succession(hits: float, of: int) -> float:
    """Laplace's rule of succession: of `of` trials `hits` went well, so the next one does with this
    probability, in (0, 1). Two of two are not certain, none of none is a half."""
    return (hits + 1) / (of + 2)


@dataclass(frozen=True, slots=True)
class Ballot(Generic[T]):
    """Result of a vote."""

    k: int
    asked: int
    """Samples that were drawn: the first ones; fewer than `k` where the outcome was clear."""
    counts: tuple[tuple[T, int], ...]
    """Distinct values with their votes, in the order in which they were first seen."""

    @property
    def winner(self) -> T | None:
        """The value with the most votes, the first of equals; None: it has less than half of k."""
        best = max(self.counts, key=lambda one: one[1], default=None)
        return best[0] if best is not None and best[1] >= _needed(self.k) else None

    @property
    def support(self) -> int:
        """Votes that the winner got among the samples drawn; 0 without one."""
        most = max((votes for _, votes in self.counts), default=0)
        return most if most >= _needed(self.k) else 0

    @property
    def confidence(self) -> float:
        """Return the trust in the winner, in (0, 1): `succession`.

        Four of four, where the vote stopped early, are not eight of eight, and neither is
        certainty.
        """
        return succession(self.support, self.asked)

    @property
    def saved(self) -> int:
        """Samples that did not have to be drawn."""
        return self.k - self.asked


async def vote(
    draw: Callable[[int, int], Awaitable[Sequence[T | None]]],
    *,
    k: int,
    same: Callable[[T, T], bool] = operator.eq,
) -> Ballot[T]:
    """Self-consistency (Wang et al. 2023; UTGen, section 3.3): the most common of k samples wins,
    if it has at least half of the k votes.

    `draw(first, n)` gives samples number `first` to `first + n - 1`; None is a vote for nothing. Of
    two values with as many votes the one seen first wins. Sampling stops as soon as no further
    sample can change the outcome; at every step exactly the fewest are drawn after which it could
    stop, so that it never draws more than one by one would, and yet asks in few requests.
    """
    kinds: list[T] = []
    votes: list[int] = []
    asked = 0
    while not decided(votes, k - asked, _needed(k)):
        more = fewest(votes, k - asked, _needed(k))
        for one in await draw(asked, more):
            if one is None:
                continue
            known = next((at for at, kind in enumerate(kinds) if same(one, kind)), None)
            if known is None:
                kinds.append(one)
                votes.append(1)
            else:
                votes[known] += 1
        asked += more
    return Ballot(k, asked, tuple(zip(kinds, votes, strict=True)))


def always(before: T, after: T) -> bool:
    """For `refine`: every proposal is taken."""
    return True


async def refine(
    start: T,
    improve: Callable[[T, int], Awaitable[T | None]],
    *,
    rounds: int,
    accept: Callable[[T, T], bool] = always,
) -> list[T]:
    """The state after each round, 0 to `rounds`: what `improve` makes of it, where `accept` takes
    that; else the state stays (see `backtrack`).

    `improve(state, refused)` gives a new state, or None where there is nothing left to improve,
    which ends it; `refused`: how often in a row its proposals for this state were not taken.
    """
    states, refused = [start], 0
    for _ in range(rounds):
        proposed = await improve(states[-1], refused)
        if proposed is None:
            break
        accepted = accept(states[-1], proposed)
        refused = 0 if accepted else refused + 1
        states.append(proposed if accepted else states[-1])
    return states + [states[-1]] * (rounds + 1 - len(states))


def backtrack(passed: Callable[[T], float], *, ties: bool = False) -> Callable[[T, T], bool]:
    """For `refine`: go back from what does not pass more of the whole suite than the state before
    it (UTDebug, section 3.3). `passed`: how many tests, or what share of them, a state passes.
    `ties`: as much is enough (the released code of UTDebug)."""
    better = operator.ge if ties else operator.gt
    return lambda before, after: bool(better(passed(after), passed(before)))


def best_of(candidates: Iterable[T], key: Callable[[T], Any], default: T) -> T:
    """Best of N: the candidate with the largest key, the first of equals; `default` of none."""
    return max(candidates, key=key, default=default)


def rank(candidates: Iterable[T], key: Callable[[T], Any]) -> list[tuple[int, T]]:
    """Best of N with the others: by `key`, the smallest first, with ranks from 1. Equals share a
    rank, keep their order, and the next one's counts them all."""
    ranked: list[tuple[int, T]] = []
    for place, one in zip(count(1), sorted(candidates, key=key), strict=False):
        same = bool(ranked) and key(ranked[-1][1]) == key(one)
        ranked.append((ranked[-1][0] if same else place, one))
    return ranked


def cross_check(
    rows: Sequence[Sequence[T]], same: Callable[[T, T], bool] = operator.eq
) -> list[float]:
    """Return for each row the mean share, over its columns, of the other rows that hold the same
    there, in [0, 1]: how far the others vouch for a program.

    A row is what one program did on each of the inputs. Right programs agree with one another,
    wrong ones rarely do (CodeT, Chen et al. 2022, with shares for its consensus sets).
    """
    if len(rows) < 2 or not rows[0]:
        return [0.0] * len(rows)
    totals = [0.0] * len(rows)
    for column in zip(*rows, strict=True):
        for number, one in enumerate(column):
            alike = sum(same(one, other) for at, other in enumerate(column) if at != number)
            totals[number] += alike / (len(rows) - 1)
    return [total / len(rows[0]) for total in totals]


def _needed(k: int) -> int:
    """Half of the votes."""
    return (k + 1) // 2


def decided(counts: Sequence[int], left: int, needed: int) -> bool:
    """True if `left` more samples can no longer change the outcome of a vote.

    `counts`: votes of the distinct values, in the order in which they were first seen. The outcome
    is the value with the most votes, the first seen of equals, if it has `needed`; else none.
    """
    most = max(counts, default=0)
    if most + left < needed:
        return True  # none will have enough
    if most < needed:
        return False
    leader = list(counts).index(most)
    rivals = [*counts, 0]  # the last: a value that was not seen yet
    for number, votes in enumerate(rivals):
        reach = votes + left
        if number != leader and (reach > most or (reach == most and number < leader)):
            return False
    return True


def fewest(counts: Sequence[int], left: int, needed: int) -> int:
    """The least number of further samples after which the outcome could be certain, at least 1.

    The outcome becomes certain soonest when all of them agree on one value, or none is readable.
    """
    for more in range(1, left):
        rest = left - more
        if decided(counts, rest, needed):
            return more
        for number in range(len(counts) + 1):
            grown = [*counts, 0]
            grown[number] += more
            if decided(grown, rest, needed):
                return more
    return max(left, 1)
