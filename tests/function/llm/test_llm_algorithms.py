"""Algorithms 1 and 2 against their transcription, on thousands of made-up models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from refute.core.combinators import Ballot, vote
from refute.core.methods import Context
from refute.core.registry import METHODS
from refute.function.contract import MethodResult
from refute.function.llm.options import Options
from refute.function.llm.results import Output
from refute.sandbox.pool import AsyncSandbox, SandboxPool

from .pseudocode import Trace, most_common, ut_debug
from .scripted import MadeUp, TrustingBox, asker, source, trace_of


def options_of(seed: int) -> Options:
    rng = Random(-seed - 1)
    return Options(
        n=rng.choice((1, 2, 3, 3, 5)),
        k=rng.choice((1, 2, 5, 8, 8, 8, 9)),
        m=rng.choice((0, 1, 3, 3, 4)),
        vote=rng.random() < 0.8,
        backtrack=rng.random() < 0.7,
    )


async def ours(model: MadeUp, options: Options, box: AsyncSandbox, method: str) -> MethodResult:
    ctx = Context(model=asker(model.answer), sandbox=box)
    found: MethodResult = await METHODS.get(method)(model.problem(), ctx=ctx, options=options)
    return found


def argument(call: Any) -> Any:
    return call.args[0]


def check(model: MadeUp, options: Options, result: MethodResult, right: Trace) -> None:
    suites = [
        [(argument(t.call), t.expected) for t in suite.tests] for suite in trace_of(result).suites
    ]
    assert suites == right.suites
    votes = [
        (argument(one.call), None if one.vote.winner is None else one.vote.winner.value)
        for suite in trace_of(result).suites
        for one in suite.attempts
        if one.vote is not None
    ]
    assert votes == right.votes
    assert [edit.accepted for edit in trace_of(result).edits] == right.accepted
    assert list(trace_of(result).codes) == [source(code) for code in right.codes]
    assert len(trace_of(result).codes) == options.m + 1
    assert bool(result.candidates) == (right.codes[-1] != model.code)


@pytest.mark.parametrize("part", range(2))
def test_same_tests_votes_and_edits_as_the_pseudocode(part: int) -> None:
    async def main() -> int:
        busy = 0
        for seed in range(150 * part, 150 * (part + 1)):
            model, options = MadeUp(seed), options_of(seed)
            right = ut_debug(
                model, options.n, options.k, options.m, options.vote, options.backtrack
            )
            result = await ours(model, options, TrustingBox(), "prompted")
            check(model, options, result, right)
            busy += any(right.accepted)
        return busy

    assert asyncio.run(main()) >= 15, "the made-up models must give the algorithm something to do"


def test_the_same_in_the_real_sandbox() -> None:
    async def main(box: SandboxPool) -> None:
        async def one(seed: int) -> None:
            model, options = MadeUp(seed), options_of(seed)
            right = ut_debug(
                model, options.n, options.k, options.m, options.vote, options.backtrack
            )
            check(model, options, await ours(model, options, box, "utgen"), right)

        await asyncio.gather(*(one(seed) for seed in range(5000, 5012)))

    with SandboxPool(2) as box:
        asyncio.run(main(box))


def held(outputs: Sequence[Any], k: int) -> tuple[int, Any]:
    """The vote on given samples: how many are asked for, and the winner."""
    asked = 0

    async def draw(first: int, n: int) -> Sequence[Any]:
        nonlocal asked
        assert first == asked
        assert 1 <= n <= k - asked
        asked += n
        return outputs[first:asked]

    with pytest.raises(StopIteration) as ended:  # nothing in it waits
        vote(draw, k=k).send(None)
    ballot: Ballot[Any] = ended.value.value
    assert ballot.asked == asked
    return asked, ballot.winner


def one_by_one(outputs: Sequence[Any], k: int) -> int:
    """How many samples one has to see until, whatever the others are, the winner is the same."""
    for asked in range(k + 1):
        known = [o for o in outputs[:asked] if o is not None]
        rest = k - asked
        futures = [[o] * rest for o in {*known, "new"}] + [[]]
        if len({repr(most_common([*known, *future], k)) for future in futures}) == 1:
            return asked
    raise AssertionError


def test_stopping_early_changes_no_vote_and_asks_no_more_than_one_by_one() -> None:
    rng = Random(7)
    for _ in range(1500):
        k = rng.randint(1, 12)
        kinds = [*range(rng.randint(1, 5)), None][: rng.randint(1, 6)]
        outputs = [rng.choice(kinds) for _ in range(k)]
        asked, winner = held(outputs, k)
        assert winner == most_common([o for o in outputs if o is not None], k), outputs
        assert asked <= one_by_one(outputs, k), (outputs, k)


def test_votes_that_were_saved_are_reported() -> None:
    model = MadeUp(3)
    model.agreement, model.spoiled = 1.0, 0.0
    result = asyncio.run(ours(model, Options(m=0, n=1), TrustingBox(), "prompted"))
    (vote,) = [one.vote for one in trace_of(result).suites[0].attempts]
    assert (vote.k, vote.asked, vote.saved, trace_of(result).saved) == (8, 4, 4, 4)
    assert isinstance(vote.winner, Output)
