"""Vote, refine, backtrack, rank and cross-check on plain values."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from refute.core.combinators import Ballot, backtrack, cross_check, refine, vote


def held(samples: Sequence[int | None], k: int) -> Ballot[int]:
    async def draw(first: int, n: int) -> Sequence[int | None]:
        return samples[first : first + n]

    return asyncio.run(vote(draw, k=k))


def test_a_vote_needs_half_and_stops_when_it_is_decided() -> None:
    clear = held([7, 7, 7, 7, 1, 1, 1, 1], 8)
    assert (clear.winner, clear.support, clear.asked, clear.saved) == (7, 4, 4, 4)
    assert clear.confidence == 5 / 6, "four of eight were asked: not certain"
    assert held([1, 2, 3, None, 4, 5, 6, 7], 8).winner is None
    assert held([1, 2, 1, 2], 4).winner == 1  # the first of equals
    assert held([None, 0], 2).winner == 0


def test_refine_goes_back_from_what_is_no_better() -> None:
    steps = {0: 3, 3: 2}
    refusals = []

    async def improve(state: int, refused: int) -> int | None:
        refusals.append(refused)
        return steps.get(state)

    states = asyncio.run(refine(0, improve, rounds=4, accept=backtrack(float)))
    assert states == [0, 3, 3, 3, 3]
    assert refusals == [0, 0, 1, 2]


def test_refine_ends_where_nothing_is_left_to_improve() -> None:
    async def improve(state: int, refused: int) -> int | None:
        return state + 1 if state < 2 else None

    assert asyncio.run(refine(0, improve, rounds=4)) == [0, 1, 2, 2, 2]
    assert asyncio.run(refine(0, improve, rounds=0)) == [0]


def test_cross_check_is_the_share_of_the_others_that_agree() -> None:
    assert cross_check([[1, 2], [1, 2], [1, 3]]) == [0.75, 0.75, 0.5]
    assert cross_check([[1, 2]]) == [0.0]
    assert cross_check([[], []]) == [0.0, 0.0]
