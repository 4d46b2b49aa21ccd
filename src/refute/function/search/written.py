"""Arguments that only the program under test can make: members of its enums, its records.

They stand for themselves as source, which the sandbox evaluates in the module under test; nothing
of it is executed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from refute.core.problems import Call, Expression
from refute.function.search.domain import ROOM, Domain
from refute.source.literals import NotLiteral, source_of

__all__ = ["Records", "Written", "as_invocation", "source_with"]


@dataclass(frozen=True, slots=True)
class Written:
    """A value as source text: `Colour.RED`, `Point(x=1, y=2)`."""

    source: str

    def __repr__(self) -> str:
        return self.source


@dataclass(frozen=True, slots=True)
class Records:
    """Instances of a class of the module, made with a value for each field that it requires."""

    name: str
    fields: tuple[tuple[str, Domain], ...]

    def accepts(self, value: Any) -> bool:
        """Return whether the value belongs to this part of the domain."""
        return isinstance(value, Written) and value.source.startswith(f"{self.name}(")

    def sample(self, rng: Random, room: int = ROOM) -> Any:
        """A value of this part, drawn with `rng`, of not more than about `room` values in all."""
        room = room // (1 + len(self.fields))
        given = {key: domain.sample(rng, room) for key, domain in self.fields}
        return Written(f"{self.name}({_keywords(given)})")

    def near(self, value: Any, rng: Random) -> Iterator[Any]:
        """Others, since a written value is not taken apart."""
        for _ in range(4):
            yield self.sample(rng)

    def edges(self) -> Iterator[Any]:
        """Values at or just past the borders of what was seen."""
        return iter(())


def _keywords(given: dict[str, Any]) -> str:
    return ", ".join(f"{key}={source_with(value)}" for key, value in given.items())


def source_with(value: Any) -> str:
    """The source of a value in which written ones may stand. Raises `NotLiteral`."""
    if isinstance(value, Written):
        return value.source
    if not _holds(value):
        return source_of(value)
    if isinstance(value, dict):
        items = (f"{source_with(key)}: {source_with(one)}" for key, one in value.items())
        return f"{{{', '.join(items)}}}"
    inner = ", ".join(map(source_with, value))
    if isinstance(value, tuple):
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return f"[{inner}]" if isinstance(value, list) else f"{type(value).__name__}([{inner}])"


def _holds(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds(one) for pair in value.items() for one in pair)
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(map(_holds, value))
    return isinstance(value, Written)


def as_invocation(call: Call, entry_point: str) -> Call | Expression | None:
    """The call, as source where an argument is; None where that cannot be written."""
    if not any(map(_holds, (*call.args, *call.kwargs.values()))):
        return call
    try:
        given = [source_with(value) for value in call.args]
        text = ", ".join([*given, _keywords(dict(call.kwargs))] if call.kwargs else given)
    except NotLiteral:
        return None
    return Expression(f"{entry_point}({text})")
