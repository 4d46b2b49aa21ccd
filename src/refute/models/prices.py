"""What a model costs, from a small table that users can extend.

`prices.toml` next to this module is the table; the file that REFUTE_PRICES names is read over it.
A table in it is a model's name as its server knows it, with dollars per million tokens:

    ["my-model"]
    input = 0.40
    output = 1.60

A model in this process, a recording, and a server on this machine cost nothing unless the user's
own file gives a price for them.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable
from urllib.parse import urlsplit

from refute.core.files import parse_toml, read_file
from refute.core.variables import Variable
from refute.errors import InputError
from refute.models.contract import Model, Usage


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float

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
    """Whether an address is on this machine."""
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
        tables = parse_toml(read_file(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror} (the price file)") from None
    except ValueError as error:
        raise InputError(f"{path}: is not TOML: {error}") from None
    prices = {}
    for name, table in tables.items():
        sides = [table.get(side) for side in ("input", "output")] if isinstance(table, dict) else []
        numbers = [
            float(side)
            for side in sides
            if isinstance(side, int | float) and not isinstance(side, bool) and 0 <= side < 2**53
        ]
        if len(numbers) != 2:
            raise InputError(
                f'{path}: ["{name}"] needs `input` and `output`, dollars per million tokens'
            )
        prices[name] = Price(*numbers)
    return prices
