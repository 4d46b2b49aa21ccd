"""Models that workers elsewhere ask on one account: the process that has the journal keeps it.

What one process keeps for all is a budget, a recording, the requests of a `batch:` model and the
user's templates. A `ModelKeeper` has them; a `ModelClerk` goes to each worker, where sessions are
opened by it. Before a unit the clerk receives what the other workers have spent by then; with the
unit's result goes what this one has paid, recorded and asked. All of it is text, and read as data.
So many workers pass a budget by no more than what the units cost that the others have under way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import msgspec

from refute.core.remarks import remark
from refute.core.storage import parse_json
from refute.models.asking import OPENER, Asked, said
from refute.models.batch import BatchModel, Question, open_batch
from refute.models.budget import Budget, Ledger, Prices
from refute.models.cache import Noted, Recording
from refute.models.contract import (
    Message,
    Sampling,
    Tally,
    completion_from,
    message_from,
    message_json,
    sampling_from,
    sampling_json,
)
from refute.models.session import Session
from refute.prompts import Templates, prompts_from, templates_of
from refute_lab.runs import Count, Number, StoredTally, checked

_BATCH = "batch:"


@dataclass(frozen=True, slots=True)
class _Others:
    """Message to a worker: the others' costs so far."""

    usd: Number = 0.0
    tokens: Count = 0
    calls: Count = 0


@dataclass(frozen=True, slots=True)
class _Paid:
    """Costs of one session of a worker so far."""

    model: str
    tally: StoredTally


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of a recording; see `refute.models.cache.ReplayModel`."""

    messages: tuple[dict[str, Any], ...]
    sampling: dict[str, Any]
    number: Count
    completion: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A question to a `batch:` model that has no answer yet."""

    spec: str
    messages: tuple[dict[str, Any], ...]
    sampling: dict[str, Any]
    first: Annotated[int, msgspec.Meta(ge=0, lt=10**9)]
    n: Annotated[int, msgspec.Meta(ge=1, lt=10**5)]


@dataclass(frozen=True, slots=True)
class _Said:
    """Message from a worker: all of its sessions' costs, and what is new of the others."""

    paid: tuple[_Paid, ...]
    recorded: tuple[_Row, ...]
    wanted: tuple[_Wanted, ...]


# -- in a worker -----------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class ModelClerk:
    """Opens models in a worker, on the keeper's account."""

    budget: Budget
    prices: Prices
    """The keeper's, so that all count dollars alike."""
    records: bool
    batches: Mapping[str, BatchModel]
    """By spec, with their answers."""
    templates: tuple[Templates, ...]
    ledger: Ledger = field(init=False)
    recording: Noted | None = field(init=False)
    _sessions: list[Session] = field(init=False)
    _paid: list[dict[str, Any]] = field(init=False)
    _others: _Others = field(init=False)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Sessions that are opened inside are this clerk's, and prompts the keeper's."""
        self.ledger, self.recording = Ledger(self.budget), Noted() if self.records else None
        self._sessions, self._paid, self._others = [], [], _Others()
        token = OPENER.set(self)
        try:
            with prompts_from(*self.templates):
                yield
        finally:
            OPENER.reset(token)

    def session(self, spec: str, made: Callable[..., Session]) -> Session:
        """The session of a model: what it pays is said. `made` takes what is on the account."""
        account = {"budget": self.ledger, "recording": self.recording, "prices": self.prices}
        self._sessions.append(made(model=self.batches.get(spec), **account))
        return self._sessions[-1]

    def told(self, brief: str) -> None:
        """Take the message of `ModelKeeper.brief`."""
        if brief:
            before, self._others = self._others, checked(parse_json(brief), _Others)
            usd, tokens, calls = (
                getattr(self._others, name) - getattr(before, name)
                for name in ("usd", "tokens", "calls")
            )
            self.ledger.note(usd, tokens, calls)

    def says(self) -> str:
        """For `ModelKeeper.hear`; "" where there is nothing new."""
        paid = [{"model": one.model, "tally": asdict(one.tally)} for one in self._sessions]
        if paid == self._paid:
            paid = []
        else:
            self._paid = paid
        recorded: list[str] = []
        if self.recording is not None:
            recorded, self.recording.lines = self.recording.lines, []
        wanted = []
        for spec, batch in self.batches.items():
            wanted += [_wanted(spec, one) for one in batch.open]
            batch.open = []
        if not (paid or recorded or wanted):
            return ""
        rows = [json.loads(line) for line in recorded]
        return json.dumps({"paid": paid, "recorded": rows, "wanted": wanted})


def _wanted(spec: str, question: Question) -> dict[str, Any]:
    return {
        "spec": spec,
        "messages": [message_json(one) for one in question.messages],
        "sampling": sampling_json(question.sampling),
        "first": question.first,
        "n": question.n,
    }


# -- in the process that has the journal -----------------------------------------------------------


class ModelKeeper:
    """Keeps for workers elsewhere what `asked` wants kept. A context manager: opens the files, and
    says at its end what the models have cost. Raises `InputError`, also on entering."""

    def __init__(self, asked: Asked, *prompts: Path | None) -> None:
        """`prompts`: folders of templates, those of the first before those of the next."""
        self._asked = asked
        self._budget = Budget(usd=asked.budget_usd, tokens=asked.budget_tokens)
        self._templates = tuple(templates_of(one) for one in prompts if one is not None)
        self._batches: dict[str, BatchModel] = {}
        self._recording: Recording | None = None
        self._open = ExitStack()
        self._paid: dict[tuple[int, int], _Paid] = {}
        """By worker and by the place of the session in it."""
        self._total = _Others()
        self._own: dict[int, _Others] = {}

    def __enter__(self) -> ModelKeeper:
        if self._asked.record is not None:
            self._recording = self._open.enter_context(closing(Recording(self._asked.record)))
        for spec in (self._asked.model, self._asked.tester):
            if spec is not None and spec.startswith(_BATCH) and spec not in self._batches:
                self._batches[spec] = open_batch(spec.removeprefix(_BATCH))
                self._open.callback(self._batches[spec].finish)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()
        waiting = {one.name: one.waiting for one in self._batches.values()}
        tallies: dict[str, Tally] = {}
        for one in self._paid.values():
            tally = Tally(**asdict(one.tally))
            known = tallies.get(one.model)
            tallies[one.model] = tally if known is None else known.plus(tally)
        remark(said(name, tally, waiting.get(name)) for name, tally in tallies.items())

    def clerk(self) -> ModelClerk:
        """For every worker, as it starts."""
        batches = {spec: one.elsewhere() for spec, one in self._batches.items()}
        records = self._recording is not None
        return ModelClerk(self._budget, Prices.load(), records, batches, self._templates)

    def brief(self, worker: int) -> str:
        """Return the message to a worker before a unit."""
        own = self._own.get(worker, _Others())
        others = _minus(self._total, own)
        return "" if others == _Others() else json.dumps(asdict(others))

    def hear(self, worker: int, text: str) -> None:
        """Take a worker's message with a unit's result. Raises `ValueError` for anything but a
        clerk's message, `InputError` if a file cannot be written."""
        heard = checked(parse_json(text), _Said)
        for row in heard.recorded:
            if self._recording is not None:
                answer = completion_from(row.completion)
                self._recording.keep(*_request(row), row.number, [answer])
        for one in heard.wanted:
            if (batch := self._batches.get(one.spec)) is None:
                raise ValueError(f"{one.spec}: no model of this run")
            batch.want(Question(*_request(one), one.first, one.n))
        for place, paid in enumerate(heard.paid):
            self._pay(worker, place, paid)

    def _pay(self, worker: int, place: int, paid: _Paid) -> None:
        before = self._paid.get((worker, place))
        if before is not None and _size(before) > _size(paid):
            return  # what it said earlier was heard later
        self._paid[worker, place] = paid
        more = _cost(paid) if before is None else _minus(_cost(paid), _cost(before))
        self._total = _plus(self._total, more)
        self._own[worker] = _plus(self._own.get(worker, _Others()), more)


def _request(one: _Row | _Wanted) -> tuple[tuple[Message, ...], Sampling]:
    return tuple(map(message_from, one.messages)), sampling_from(one.sampling)


def _size(paid: _Paid) -> int:
    """Return a number that only grows."""
    return paid.tally.requests + paid.tally.samples + paid.tally.cached


def _cost(paid: _Paid) -> _Others:
    tally = paid.tally
    tokens = tally.prompt_tokens + tally.completion_tokens
    return _Others(tally.usd or 0.0, tokens, tally.samples)


def _plus(one: _Others, other: _Others) -> _Others:
    return _Others(one.usd + other.usd, one.tokens + other.tokens, one.calls + other.calls)


def _minus(one: _Others, other: _Others) -> _Others:
    return _Others(one.usd - other.usd, one.tokens - other.tokens, one.calls - other.calls)
