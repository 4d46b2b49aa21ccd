"""Asking a model: from the cache where it can, within the budget, each sample paid once.

    async with Session(model, cache=SampleCache(cache_path()), budget=Budget(usd=5.0)) as session:
        ask = session.asker("HumanEval/0")
        answers = await ask.ask(messages, n=8)
        more = await ask.ask(messages, first=8, n=4)  # samples 8 to 11 of the same request

What is in the cache is never asked again; what is being asked for is not asked twice at once; and
a sample is in the cache before anybody sees it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType

from refute.errors import ModelUnavailable
from refute.models.budget import Budget, Ledger, Price, Prices
from refute.models.cache import Recording, Sample, SampleCache
from refute.models.contract import Completion, Message, Model, Sampling, Tally, digest

USUAL = Sampling()


@dataclass(eq=False, slots=True)
class _Request:
    """Samples that are being asked for, and how many calls wait for them."""

    key: str
    messages: tuple[Message, ...]
    sampling: Sampling
    first: int
    n: int
    waiting: int = 0
    sent: bool = False
    task: asyncio.Task[list[Sample]] = field(init=False)

    def numbers(self) -> range:
        return range(self.first, self.first + self.n)


class Session:
    """A model in use. An async context manager: closes the model and the cache at its end."""

    def __init__(
        self,
        model: Model,
        *,
        cache: SampleCache | None = None,
        budget: Budget | Ledger | None = None,
        concurrency: int = 64,
        prices: Prices | None = None,
        recording: Recording | None = None,
    ) -> None:
        """`cache` None: samples are remembered for as long as the session lasts.

        `budget`: a ledger is shared with the other sessions that have it. `concurrency`: requests
        sent at once. `prices` None: the usual table and REFUTE_PRICES.
        `recording` gets every sample that is used, from the model or from the cache; whoever opened
        it closes it. Raises `InputError` for a budget in dollars where the model's price is not
        known.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}: at least 1")
        self._model = model
        self._cache = SampleCache(None) if cache is None else cache
        self._price = (Prices.load() if prices is None else prices).of(model)
        ledger = budget if isinstance(budget, Ledger) else Ledger(budget or Budget())
        self._account = ledger.account(self._price)
        self._recording = recording
        self._slots = asyncio.Semaphore(concurrency)
        self._asked: dict[tuple[str, int], _Request] = {}
        self._tasks: set[asyncio.Task[list[Sample]]] = set()
        self._tally = Tally(usd=0.0 if self._price else None)

    @property
    def model(self) -> str:
        """The model's name."""
        return self._model.name

    @property
    def waiting(self) -> int | None:
        """Samples that somebody has yet to answer; None: the model answers at once."""
        return getattr(self._model, "waiting", None)

    @property
    def tally(self) -> Tally:
        """Return the cost of this session, and the number of its samples from the cache."""
        return replace(self._tally)

    def asker(self, problem: str) -> SessionAsker:
        """An asker on behalf of one problem."""
        return SessionAsker(self, problem)

    async def close(self) -> None:
        """Give up what is still being asked for; close the model and the cache. Idempotent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._model.close()
        self._cache.close()

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _samples(
        self, messages: tuple[Message, ...], sampling: Sampling, first: int, n: int, tally: _Charged
    ) -> list[Completion]:
        """The samples, by number, charged to `tally`."""
        key = digest(messages, sampling, self._model.name)
        found = self._cache.get(key, first, n)
        for number, sample in found.items():
            self._tally.cached += 1
            tally.charge(key, number, sample, self._price, cached=True)
        missing = [number for number in range(first, first + n) if number not in found]
        joined = {self._asked[key, i]: False for i in missing if (key, i) in self._asked}
        unasked = [number for number in missing if (key, number) not in self._asked]
        if unasked:
            self._account.check()
        for start, count in _runs(unasked):
            joined[self._launch(_Request(key, messages, sampling, start, count))] = True
        for request in joined:
            request.waiting += 1
        try:
            answers = await asyncio.gather(*(asyncio.shield(one.task) for one in joined))
        finally:
            for request in joined:
                self._leave(request)
        for (request, ours), samples in zip(joined.items(), answers, strict=True):
            for number, sample in zip(request.numbers(), samples, strict=True):
                if first <= number < first + n and number not in found:
                    found[number] = sample
                    self._tally.cached += not ours
                    tally.charge(key, number, sample, self._price, cached=not ours)
        completions = [found[number].completion for number in range(first, first + n)]
        if self._recording is not None:
            self._recording.keep(messages, sampling, first, completions)
        return completions

    def _launch(self, request: _Request) -> _Request:
        """Ask, in a task of its own: whoever waits may go away without losing what is paid for."""
        request.task = asyncio.create_task(self._send(request))
        for number in request.numbers():
            self._asked[request.key, number] = request
        self._tasks.add(request.task)
        request.task.add_done_callback(lambda _: self._ended(request))
        return request

    def _ended(self, request: _Request) -> None:
        self._forget(request)
        if not request.task.cancelled():
            request.task.exception()  # seen, also where nobody waits for it any more

    def _leave(self, request: _Request) -> None:
        """One call waits no more. A request for nobody is dropped while it costs nothing."""
        request.waiting -= 1
        if not request.waiting and not request.sent and not request.task.done():
            request.task.cancel()
            self._forget(request)

    def _forget(self, request: _Request) -> None:
        self._tasks.discard(request.task)
        for number in request.numbers():
            if self._asked.get((request.key, number)) is request:
                del self._asked[request.key, number]

    async def _send(self, request: _Request) -> list[Sample]:
        """Ask the model and keep what it says."""
        messages, sampling, n = request.messages, request.sampling, request.n
        answers: list[Completion] = []
        async with self._slots:
            reserved = await self._account.reserve(messages, sampling, n)
            request.sent = True
            started = time.monotonic()
            try:
                answers = await self._model.generate(
                    messages, n=n, sampling=sampling, first=request.first
                )
                if len(answers) != n:
                    raise ModelUnavailable(
                        f"{self._model.name}: {len(answers)} answers came where {n} were asked for"
                    )
            finally:
                seconds = time.monotonic() - started
                self._account.settle(reserved, answers)
            self._pay(answers, seconds)
            return self._cache.put(
                request.key,
                request.first,
                [
                    Sample(answer, at == 0, 0.0 if at else seconds)
                    for at, answer in enumerate(answers)
                ],
            )

    def _pay(self, answers: Sequence[Completion], seconds: float) -> None:
        self._tally.requests += 1
        self._tally.seconds += seconds
        self._tally.samples += len(answers)
        for answer in answers:
            _add(self._tally, answer, self._price)


class SessionAsker:
    """Access of one problem to the model (the `Asker` of the contract)."""

    def __init__(self, session: Session, problem: str) -> None:
        """Made by `Session.asker`."""
        self.problem = problem
        self._session = session
        self._charged = _Charged(Tally(usd=0.0 if session._price else None))

    @property
    def tally(self) -> Tally:
        """Return the cost of this problem's questions.

        Each sample counts once however often it is asked for, and at its first price where it comes
        from the cache: but for the split of `samples` and `cached`, a run that is resumed or
        repeated has the tally of the first.
        """
        return replace(self._charged.tally)

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        first: int = 0,
        sampling: Sampling = USUAL,
    ) -> list[Completion]:
        """Samples number `first` to `first + n - 1` of this request; see `Asker.ask`."""
        if n < 1 or first < 0:
            raise ValueError(f"samples {first} to {first + n - 1}: no such samples")
        return await self._session._samples(tuple(messages), sampling, first, n, self._charged)


class _Charged:
    """The tally of a problem, and the samples that are in it."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self._seen: set[tuple[str, int]] = set()

    def charge(
        self, key: str, number: int, sample: Sample, price: Price | None, *, cached: bool
    ) -> None:
        if (key, number) in self._seen:
            return
        self._seen.add((key, number))
        if cached:
            self.tally.cached += 1
        else:
            self.tally.samples += 1
        self.tally.requests += sample.opens
        self.tally.seconds += sample.seconds
        _add(self.tally, sample.completion, price)


def _add(tally: Tally, answer: Completion, price: Price | None) -> None:
    """Count the tokens of one answer, and their price."""
    tally.prompt_tokens += answer.usage.prompt_tokens
    tally.completion_tokens += answer.usage.completion_tokens
    if price is not None and tally.usd is not None:
        tally.usd += price.of(answer.usage)


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Rising numbers as (start, length) of gapless runs."""
    start = length = 0
    for number in numbers:
        if length and number == start + length:
            length += 1
        else:
            if length:
                yield start, length
            start, length = number, 1
    if length:
        yield start, length
