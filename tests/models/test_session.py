"""Sessions: what is asked, what is paid, what is remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from refute.errors import BudgetExceeded, ContextTooLong, InputError, ModelUnavailable
from refute.models.budget import Budget, Ledger, Price, Prices
from refute.models.cache import Recording, ReplayModel, SampleCache
from refute.models.contract import Completion, Message, Sampling, Usage
from refute.models.session import Session, SessionAsker
from refute.testing.models import ScriptedModel

HELLO = [Message("user", "hello")]
DOLLAR = Prices({}, {"scripted": Price(1.0, 2.0)})


def numbered(messages: Sequence[Message], number: int) -> Completion:
    """Ten tokens of prompt a request, five of each answer."""
    text = f"{messages[-1].content} {number}"
    return Completion(text, usage=Usage(10 if number % 4 == 0 else 0, 5))


class Slow(ScriptedModel):
    """Answers when `gate` is opened; knows how many requests were in it at once."""

    def __init__(self, answer: Callable[[Sequence[Message], int], Completion] = numbered) -> None:
        super().__init__(answer)
        self.gate = asyncio.Event()
        self.inside = 0
        self.most = 0

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.gate.wait()
            return await super().generate(messages, n=n, sampling=sampling, first=first)
        finally:
            self.inside -= 1


def texts(answers: list[Completion]) -> list[str]:
    return [answer.text for answer in answers]


async def settled() -> None:
    """Let every task go on as far as it can."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_more_samples_cost_only_the_new_ones() -> None:
    model = ScriptedModel(numbered)
    async with Session(model) as session:
        ask = session.asker("p")
        eight = await ask.ask(HELLO, n=8)
        twelve = await ask.ask(HELLO, n=12)
        assert texts(twelve) == [f"hello {i}" for i in range(12)]
        assert twelve[:8] == eight
        assert (model.requests, model.samples) == (2, 12)
        assert await ask.ask(HELLO, first=3, n=4) == twelve[3:7]
        assert model.samples == 12
    assert model.closed


async def test_what_is_being_asked_for_is_not_asked_twice() -> None:
    model = Slow()
    async with Session(model) as session:
        first, second = session.asker("p"), session.asker("q")
        asking = [
            asyncio.ensure_future(one)
            for one in (first.ask(HELLO, n=4), second.ask(HELLO, first=2, n=4))
        ]
        await settled()
        model.gate.set()
        here, there = await asyncio.gather(*asking)
        assert here[2:] == there[:2]
        assert model.samples == 6
        assert (first.tally.samples, first.tally.cached) == (4, 0)
        assert (second.tally.samples, second.tally.cached) == (2, 2)


async def test_what_is_paid_is_kept_though_nobody_waits() -> None:
    model = Slow()
    async with Session(model) as session:
        ask = session.asker("p")
        leaver = asyncio.ensure_future(ask.ask(HELLO))
        await settled()
        leaver.cancel()
        model.gate.set()
        await settled()
        assert texts(await ask.ask(HELLO)) == ["hello 0"]
        assert model.samples == 1


async def test_bounded_at_once() -> None:
    model = Slow()
    async with Session(model, concurrency=3) as session:
        asking = [
            asyncio.ensure_future(session.asker(str(i)).ask([Message("user", str(i))]))
            for i in range(10)
        ]
        await settled()
        assert model.inside == 3
        model.gate.set()
        assert len(await asyncio.gather(*asking)) == 10
        assert model.most == 3


async def test_a_failure_reaches_all_who_wait_and_is_not_remembered() -> None:
    failures: list[Exception] = [ModelUnavailable("down"), ContextTooLong("long")]

    def answer(messages: Sequence[Message], number: int) -> Completion:
        if failures:
            raise failures.pop(0)
        return numbered(messages, number)

    async with Session(ScriptedModel(answer)) as session:
        ask = session.asker("p")
        both = await asyncio.gather(ask.ask(HELLO), ask.ask(HELLO), return_exceptions=True)
        assert [type(one) for one in both] == [ModelUnavailable, ModelUnavailable]
        with pytest.raises(ContextTooLong):
            await ask.ask(HELLO)
        assert texts(await ask.ask(HELLO)) == ["hello 0"]
        assert session.tally.samples == 1


def test_tallies_of_first_and_repeated_runs(tmp_path: Path) -> None:
    """But for where the samples came from, a repeated run has the tally of the first."""

    async def once() -> tuple[SessionAsker, Session]:
        cache = SampleCache(tmp_path / "samples.sqlite3")
        async with Session(ScriptedModel(numbered), cache=cache, prices=DOLLAR) as session:
            ask = session.asker("p")
            await ask.ask(HELLO, n=8)
            await ask.ask(HELLO, n=2)  # the same samples again cost nothing and count once
            return ask, session

    first, paid = asyncio.run(once())
    again, free = asyncio.run(once())
    assert (first.tally.samples, first.tally.cached, first.tally.requests) == (8, 0, 1)
    assert (again.tally.samples, again.tally.cached, again.tally.requests) == (0, 8, 1)
    for tally in (first.tally, again.tally, paid.tally):
        assert (tally.prompt_tokens, tally.completion_tokens) == (20, 40)
        assert tally.usd == pytest.approx((20 + 80) / 1e6)
    assert again.tally.seconds == pytest.approx(first.tally.seconds, abs=1e-3)
    assert (free.tally.requests, free.tally.samples, free.tally.usd) == (0, 0, 0.0)
    assert free.tally.cached == 10


async def test_a_price_that_is_not_known() -> None:
    async with Session(ScriptedModel(numbered, name="openai:x")) as session:
        ask = session.asker("p")
        await ask.ask(HELLO)
        assert session.tally.usd is None
        assert ask.tally.usd is None
        assert ask.tally.prompt_tokens == 10
    with pytest.raises(InputError, match="no price is known"):
        Session(ScriptedModel(numbered, name="openai:x"), budget=Budget(usd=1.0))


@pytest.mark.parametrize(
    ("budget", "most"),
    [(Budget(calls=20), 20), (Budget(tokens=300), 30), (Budget(usd=300e-6), 20)],
)
async def test_the_budget_stops_cleanly(budget: Budget, most: int) -> None:
    """64 at once: no more is paid than the limit allows; what is cached still comes."""

    model = ScriptedModel(lambda messages, number: Completion("x", usage=Usage(5, 5)))
    async with Session(model, budget=budget, prices=DOLLAR) as session:
        ask = session.asker("p")
        sampling = Sampling(max_tokens=5)
        requests = [[Message("user", f"{i:3}")] for i in range(200)]
        asking = [ask.ask(one, sampling=sampling) for one in requests]
        answers = await asyncio.gather(*asking, return_exceptions=True)
        paid = [one for one in answers if isinstance(one, list)]
        assert 0.5 * most <= len(paid) <= most
        assert {type(one) for one in answers} == {list, BudgetExceeded}
        assert model.samples == len(paid)
        assert await ask.ask(requests[0], sampling=sampling) == paid[0]
        with pytest.raises(BudgetExceeded, match="is used up"):
            await ask.ask(requests[0], n=2, sampling=sampling)
        assert model.samples == len(paid)


async def test_one_budget_for_two_models() -> None:
    """Whichever model asks: what one has spent, the other has not."""
    ledger = Ledger(Budget(calls=5))
    one, other = ScriptedModel(numbered, "one"), ScriptedModel(numbered, "other")
    async with Session(one, budget=ledger) as first, Session(other, budget=ledger) as second:
        await first.asker("p").ask(HELLO, n=3)
        await second.asker("p").ask(HELLO, n=2)
        for session in (second, first):
            with pytest.raises(BudgetExceeded, match="budget of 5 calls is used up"):
                await session.asker("p").ask(HELLO, n=4)
    assert (one.samples, other.samples) == (3, 2)


def test_what_is_used_is_recorded_once(tmp_path: Path) -> None:
    """From the model or from the cache, now or by an earlier run into the same file."""
    path, cache = tmp_path / "answers.jsonl", tmp_path / "c.sqlite3"

    async def ask(n: int, recording: Recording | None) -> int:
        model = ScriptedModel(numbered)
        async with Session(model, cache=SampleCache(cache), recording=recording) as session:
            await session.asker("p").ask(HELLO, n=n)
            await session.asker("q").ask(HELLO, n=n)
        return model.samples

    assert asyncio.run(ask(2, None)) == 2
    for n, paid in ((3, 1), (3, 0), (4, 1)):
        with closing(Recording(path)) as recording:
            assert asyncio.run(ask(n, recording)) == paid
        assert len(path.read_text().splitlines()) == n

    async def replay() -> list[str]:
        said = await ReplayModel(path).generate(HELLO, n=4, sampling=Sampling())
        return [answer.text for answer in said]

    assert asyncio.run(replay()) == [f"hello {number}" for number in range(4)]


async def test_nothing_is_left_open_when_a_session_ends_early() -> None:
    model = Slow()
    session = Session(model)
    async with session:
        asking = asyncio.ensure_future(session.asker("p").ask(HELLO))
        await settled()
        assert model.inside == 1
    assert model.inside == 0
    assert model.closed
    await session.close()
    results = await asyncio.gather(asking, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
