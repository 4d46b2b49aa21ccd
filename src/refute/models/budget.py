"""Limits on what asking may cost, checked before a request is sent.

The price of an answer is known only once it is there. So a request reserves an estimate first, and
the difference is settled after; a request that does not fit beside those in flight waits for them
to settle, and is refused only when it does not fit alone. Many requests at once then pass a limit
by no more than the error of one estimate each, which shrinks as answers come in.

`prices.toml` next to this module is the table of prices; the file that REFUTE_PRICES names is read
over it. A table in it is a model's name as its server knows it, with dollars per million tokens:

    ["my-model"]
    input = 0.40
    output = 1.60

A model in this process, a recording, and a server on this machine cost nothing unless the user's
own file gives a price for them.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol, runtime_checkable
from urllib.parse import urlsplit

from msgspec import Meta, ValidationError, convert

from refute.core.starting import Variable
from refute.core.storage import parse_toml, read_file
from refute.errors import BudgetExceeded, InputError
from refute.models.contract import Completion, Message, Model, Sampling, Usage

Dollars = Annotated[float, Meta(ge=0, lt=2.0**53)]


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: Dollars
    output: Dollars

    def of(self, usage: Usage) -> float:
        """Dollars for one sample."""
        tokens = usage.prompt_tokens * self.input + usage.completion_tokens * self.output
        return tokens / 1_000_000


FREE = Price(0.0, 0.0)


@runtime_checkable
class _Served(Protocol):
    """A model behind an address, known to its server under a name of its own."""

    base_url: str
    served_name: str


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices by the name of the model."""

    published: Mapping[str, Price]
    """Of `prices.toml`; do not apply to servers on this machine."""
    own: Mapping[str, Price]
    """Of the user's file; apply everywhere."""

    @classmethod
    def load(cls, path: Path | None = None) -> Prices:
        """The table, and the user's (`path`, else REFUTE_PRICES). Raises `InputError`."""
        named = path or os.environ.get(Variable.PRICES)
        own = _read(Path(named)) if named else {}
        return cls(_read(Path(__file__).with_name("prices.toml")), own)

    def of(self, model: Model) -> Price | None:
        """The price of a model; None: not known.

        Names are tried as they are, and without a date at the end (`gpt-4o-2024-08-06`).
        """
        kind, _, name = model.name.partition(":")
        tables = [self.own]
        if isinstance(model, _Served):
            name = model.served_name
            free = is_local(model.base_url)
        else:
            name = name.partition("#")[0]  # what a batch's settings add to its model's name
            free = kind not in ("openai", "batch")
        if not free:
            tables.append(self.published)
        for table in tables:
            stem = name or kind
            while stem:
                if stem in table:
                    return table[stem]
                stem = _shorter(stem)
        return FREE if free else None


def is_local(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _shorter(name: str) -> str:
    """The name without a last part of digits; "" where it has none."""
    head, dash, tail = name.rpartition("-")
    return head if dash and tail.isdigit() else ""


def _read(path: Path) -> dict[str, Price]:
    try:
        return convert(parse_toml(read_file(path)), dict[str, Price])
    except OSError as error:
        raise InputError(f"{path}: {error.strerror} (the price file)") from None
    except ValidationError as error:
        told = "a model's table needs `input` and `output`, dollars per million tokens"
        raise InputError(f"{path}: {told}: {error}") from None
    except ValueError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None


FIRST_GUESS = 256
"""Tokens expected of an answer while none has been seen."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits; None: no limit. Cached answers cost nothing."""

    usd: float | None = None
    tokens: int | None = None
    """Of prompts and answers together."""
    calls: int | None = None
    """Samples."""

    def __post_init__(self) -> None:
        for name in ("usd", "tokens", "calls"):
            limit = getattr(self, name)
            if limit is not None and not limit >= 0:
                raise InputError(f"the budget in {name} is {limit}: it must not be negative")


@dataclass(frozen=True, slots=True)
class _Cost:
    usd: float = 0.0
    tokens: int = 0
    calls: int = 0

    def __add__(self, other: _Cost) -> _Cost:
        return _Cost(self.usd + other.usd, self.tokens + other.tokens, self.calls + other.calls)

    def __sub__(self, other: _Cost) -> _Cost:
        return _Cost(self.usd - other.usd, self.tokens - other.tokens, self.calls - other.calls)


class Ledger:
    """Spent and reserved parts of a budget, of one model or several. For one event loop."""

    def __init__(self, budget: Budget) -> None:
        """Nothing is spent yet."""
        self._budget = budget
        self._spent = _Cost()
        """Also by others, as far as `note` was told."""
        self._reserved = _Cost()
        self._settled = asyncio.Event()
        self._refused = ""

    def account(self, price: Price | None) -> Account:
        """The books of one model that spends of the budget; `price` None: not known, and then
        raises `InputError` for a limit in dollars."""
        if self._budget.usd is not None and price is None:
            raise InputError(
                "no price is known for the model: name a price file in REFUTE_PRICES, "
                "or limit the tokens instead (--budget-tokens)"
            )
        return Account(self, price)

    def check(self) -> None:
        """Raise `BudgetExceeded` once a request has been refused."""
        if self._refused:
            raise BudgetExceeded(self._refused)

    async def reserve(self, estimated: Callable[[], _Cost]) -> _Cost:
        """Set aside what `estimated` says, which may change while others are waited for.

        Raises `BudgetExceeded`, and for every later request too.
        """
        while True:
            self.check()
            estimate = estimated()
            if not self._over(self._spent + self._reserved + estimate):
                self._reserved += estimate
                return estimate
            if self._reserved == _Cost() or self._over(self._spent):
                self._refused = self._over(self._spent + estimate)
                self.check()
            await self._settled.wait()

    def settle(self, estimate: _Cost, paid: _Cost) -> None:
        """Replace a reservation by what was paid."""
        self._reserved -= estimate
        self._spent += paid
        if abs(self._reserved.usd) < 1e-12:  # what is left over when floats are taken back
            self._reserved = _Cost(0.0, self._reserved.tokens, self._reserved.calls)
        self._settled.set()
        self._settled = asyncio.Event()

    def _over(self, cost: _Cost) -> str:
        """One line about the limit that `cost` passes; "" where there is none."""
        budget, spent = self._budget, self._spent
        if budget.usd is not None and cost.usd > budget.usd:
            return f"the budget of ${budget.usd:g} is used up (${spent.usd:.4f} spent)"
        if budget.tokens is not None and cost.tokens > budget.tokens:
            return f"the budget of {budget.tokens:,} tokens is used up ({spent.tokens:,} spent)"
        if budget.calls is not None and cost.calls > budget.calls:
            return f"the budget of {budget.calls:,} calls is used up ({spent.calls:,} made)"
        return ""


class Account:
    """One model's part in a ledger: its price, and how long its answers are."""

    def __init__(self, ledger: Ledger, price: Price | None) -> None:
        """Made by `Ledger.account`."""
        self._ledger = ledger
        self._price = price
        self._answers = 0
        self._answer_tokens = 0

    def check(self) -> None:
        """Raise `BudgetExceeded` once a request of any of the models has been refused."""
        self._ledger.check()

    async def reserve(self, messages: Sequence[Message], sampling: Sampling, n: int) -> _Cost:
        """Set aside what the request will cost about; waits while others are in flight.

        Raises `BudgetExceeded`, and for every later request too.
        """
        return await self._ledger.reserve(lambda: self._estimate(messages, sampling, n))

    def settle(self, estimate: _Cost, answers: Sequence[Completion]) -> None:
        """Replace a reservation by what was paid; no answers: the request failed."""
        paid = _Cost()
        for answer in answers:
            paid += self._cost(answer.usage, 1)
            self._answers += 1
            self._answer_tokens += answer.usage.completion_tokens
        self._ledger.settle(estimate, paid)

    def _estimate(self, messages: Sequence[Message], sampling: Sampling, n: int) -> _Cost:
        """Four characters a token; an answer is as long as the answers so far were."""
        prompt = sum(len(message.content) // 4 + 4 for message in messages)
        seen = self._answer_tokens // self._answers + 1 if self._answers else FIRST_GUESS
        return self._cost(Usage(prompt, n * min(seen, sampling.max_tokens)), n)

    def _cost(self, usage: Usage, calls: int) -> _Cost:
        usd = self._price.of(usage) if self._price else 0.0
        return _Cost(usd, usage.prompt_tokens + usage.completion_tokens, calls)
