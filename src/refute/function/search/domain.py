"""Values that an argument may take, learnt from those it took: the evident precondition.

A domain is a union of parts, one for each kind of value. A part can say whether it accepts a value,
draw one at random, list neighbours of one, and name the edges that the seen values stop short of.
It generalises a little (a few more elements, other letters of the same case, twice the magnitude),
never the sign, the element types or the layout of a structured string.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from random import Random
from typing import Any, Protocol

from refute.function.search.texts import Texts
from refute.sandbox.equality import equal

__all__ = [
    "ROOM",
    "Constants",
    "Domain",
    "Mappings",
    "Numbers",
    "Part",
    "Sequences",
    "is_tame",
    "learn",
]


ROOM = 4_000
"""Number of values that a drawn one may hold in all: what nests deep would else double at each
level."""


class Part(Protocol):
    """One kind of value of a domain."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value belongs to this part of the domain."""
        ...

    def sample(self, rng: Random, room: int = ...) -> Any:
        """A value of this part, drawn with `rng`, of not more than about `room` values in all."""
        ...

    def near(self, value: Any, rng: Random) -> Iterator[Any]:
        """Neighbours of an accepted value, simplest first; some may lie outside the domain."""
        ...

    def edges(self) -> Iterator[Any]:
        """Values at or just past the borders of what was seen; most lie outside the domain."""
        ...


@dataclass(frozen=True, slots=True)
class Constants:
    """Booleans, None and other values that are taken as they are."""

    values: tuple[Any, ...]

    def accepts(self, value: Any) -> bool:
        """Return whether the value belongs to this part of the domain."""
        return any(type(value) is type(one) and equal(value, one) for one in self.values)

    def sample(self, rng: Random, room: int = 1) -> Any:
        """A value of this part, drawn with `rng`."""
        return rng.choice(self.values)

    def near(self, value: Any, rng: Random) -> Iterator[Any]:
        """Neighbours of an accepted value, simplest first (see `Part.near`)."""
        yield from (one for one in self.values if one is not value)

    def edges(self) -> Iterator[Any]:
        """Values at or just past the borders of what was seen."""
        return iter(())


@dataclass(frozen=True, slots=True)
class Numbers:
    """Integers or floats between `low` and `high`, the smallest and largest seen or implied."""

    type: builtins.type[Any]
    low: float
    high: float
    marks: tuple[float, ...] = ()
    """Numbers at which the code may change its mind: constants it compares with, and neighbours."""

    def bounds(self) -> tuple[float, float]:
        """The smallest and largest accepted number: the seen sign, about twice the magnitude."""
        reach = 2 * max(abs(self.low), abs(self.high)) + 10
        low = 1.0 if self.low >= 1 else 0.0 if self.low >= 0 else -reach
        if self.type is float and 0 < self.low < 1:
            low = min(self.low, 0.1)
        return low, -1.0 if self.high <= -1 else reach

    def accepts(self, value: Any) -> bool:
        """Return whether the value belongs to this part of the domain."""
        low, high = self.bounds()
        return type(value) is self.type and low <= value <= high

    def sample(self, rng: Random, room: int = 1) -> Any:
        """A value of this part, drawn with `rng`."""
        low, high = self.bounds()
        if rng.random() < 0.25:
            marks = [mark for mark in self.marks if low <= mark <= high]
            if marks:
                return self.type(rng.choice(marks))
        if rng.random() < 0.8:
            low, high = max(low, self.low - 2), min(high, self.high + 3)
        if self.type is int:
            return rng.randint(int(low), int(high))
        return round(rng.uniform(low, high), rng.choice((0, 1, 1, 2)))

    def near(self, value: Any, rng: Random) -> Iterator[Any]:
        """Neighbours of an accepted value, simplest first (see `Part.near`)."""
        for step in (1, -1, 2, -2):
            yield value + step
        if self.type is float:
            yield from (float(round(value)), value + 0.5, value - 0.5)
        low, high = self.bounds()
        yield from (self.type(mark) for mark in self.marks if low <= mark <= high)
        yield -value
        yield value * 2
        if self.type is int:
            yield value // 2
            yield from _digit_changes(value)
        yield self.sample(rng)
        yield self.sample(rng)

    def edges(self) -> Iterator[Any]:
        """Values at or just past the borders of what was seen."""
        for value in (0, 1, -1, 2, *self.marks, self.low - 1, self.high + 1, *_TELLING):
            yield self.type(value)
            if self.low < 0:
                yield self.type(-value)


_TELLING = (
    10, 12, 16, 25, 30, 37, 48, 64, 72, 81, 97, 99, 100, 101, 110, 121, 125, 128, 144, 153, 200,
    210, 222, 255, 256, 343, 360, 496, 500, 512, 729, 997, 1000, 1001, 1024, 1234, 2020, 9999,
    12321,
)  # fmt: skip
"""Squares, cubes, powers, primes, perfect and highly composite numbers, palindromes, round ones."""


def _digit_changes(value: int) -> Iterator[int]:
    """The same digits reversed, repeated, dropped, with a zero or the last one doubled."""
    sign, digits = (-1 if value < 0 else 1), str(abs(value))
    yield sign * int(digits[::-1])
    yield sign * int(digits + digits[-1])
    yield sign * int(digits[0] + "0" + digits[1:])
    if len(digits) > 1:
        yield sign * int(digits[1:])
        yield sign * int(digits[:-1])


@dataclass(frozen=True, slots=True)
class Sequences:
    """Lists, tuples or sets. `places`, when set, is one domain a position (fixed length)."""

    type: builtins.type[Any]
    element: Domain
    shortest: int
    longest: int
    distinct: bool = False
    ascending: bool = False
    rectangular: bool = False
    square: bool = False
    places: tuple[Domain, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Return whether the value belongs to this part of the domain."""
        if type(value) is not self.type:
            return False
        if self.places:
            return len(value) == len(self.places) and all(
                place.accepts(one) for place, one in zip(self.places, value, strict=True)
            )
        if not min(self.shortest, 1) <= len(value) <= 2 * self.longest + 3:
            return False
        if not all(map(self.element.accepts, value)):
            return False
        if self.distinct and len({repr(one) for one in value}) < len(value):
            return False
        try:
            widths = {len(row) for row in value} if self.rectangular else set()
            descends = self.ascending and any(a > b for a, b in pairwise(value))
        except TypeError:
            return False  # of a mixed list: no rows, or no order
        return not (
            descends or len(widths) > 1 or (self.square and widths not in (set(), {len(value)}))
        )

    def sample(self, rng: Random, room: int = ROOM) -> Any:
        """A value of this part, drawn with `rng`, of not more than about `room` values in all."""
        if self.places:
            room = (room - len(self.places)) // len(self.places)
            return self.type(place.sample(rng, room) for place in self.places)
        size = min(room, rng.randint(max(1, self.shortest - 1), self.longest + 2))
        items = [self.element.sample(rng, (room - size) // size) for _ in range(size)]
        if size > 2 and not self.distinct and rng.random() < 0.4:  # equal elements matter often
            items[rng.randrange(size)] = items[rng.randrange(size)]
        return self._build(items)

    def near(self, value: Any, rng: Random) -> Iterator[Any]:
        """Neighbours of an accepted value, simplest first (see `Part.near`)."""
        items = sorted(value, key=repr) if self.type in (set, frozenset) else list(value)
        for index in _some(len(items), rng):
            for other in islice(self._at(index).near(items[index], rng), 3):
                yield self.type([*items[:index], other, *items[index + 1 :]])
        if self.places:
            return
        yield from map(self._build, self._moves(items, rng))

    def _at(self, index: int) -> Domain:
        return self.places[index] if self.places else self.element

    def _moves(self, items: list[Any], rng: Random) -> Iterator[list[Any]]:
        size = len(items)
        yield items[::-1]
        yield _sorted(items)
        yield _sorted(items)[::-1]
        for index in _some(size, rng):
            yield items[:index] + items[index + 1 :]
            yield [*items[: index + 1], *items[index:]]
        if size > 1:
            yield [items[1], items[0], *items[2:]]
            yield [items[-1], *items[1:-1], items[0]]
            yield items[1:] + items[:1]
            yield [items[0]] * size
            yield [*items, items[0]]
        for _ in range(2):
            fresh = self.element.sample(rng)
            yield [*items, fresh]
            yield [fresh, *items]
        yield items[: max(1, size // 2)]
        yield items + items
        yield items + items[::-1]
        for index in range(min(size, 3)):
            yield [items[index]]

    def _build(self, items: list[Any]) -> Any:
        if self.distinct:
            items = list({repr(one): one for one in items}.values())
        if self.rectangular and items:
            width = min(len(row) for row in items)
            if self.square:
                width = min(width, len(items))
                items = items[:width]
            items = [row[:width] for row in items]
        return self.type(_sorted(items) if self.ascending else items)

    def edges(self) -> Iterator[Any]:
        """Values at or just past the borders of what was seen."""
        if self.places:
            return
        yield self.type([])
        for one in islice(self.element.edges(), 6):
            yield self.type([one])
            yield self.type([one, one])


@dataclass(frozen=True, slots=True)
class Mappings:
    """Dictionaries."""

    key: Domain
    value: Domain
    shortest: int
    longest: int
    fields: tuple[tuple[Any, Domain], ...] = ()
    """If not empty, records: every dictionary has these keys, each with its own domain."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value belongs to this part of the domain."""
        if self.fields:
            return (
                type(value) is dict
                and len(value) == len(self.fields)
                and all(key in value and part.accepts(value[key]) for key, part in self.fields)
            )
        return (
            type(value) is dict
            and min(self.shortest, 1) <= len(value) <= 2 * self.longest + 3
            and all(self.key.accepts(key) and self.value.accepts(one) for key, one in value.items())
        )

    def sample(self, rng: Random, room: int = ROOM) -> Any:
        """A value of this part, drawn with `rng`, of not more than about `room` values in all."""
        if self.fields:
            room = (room - len(self.fields)) // len(self.fields)
            return {key: part.sample(rng, room) for key, part in self.fields}
        size = min(room, rng.randint(max(1, self.shortest - 1), self.longest + 2))
        of_each = (room - 2 * size) // (2 * size) if size else 0
        return {self.key.sample(rng, of_each): self.value.sample(rng, of_each) for _ in range(size)}

    def near(self, value: Any, rng: Random) -> Iterator[Any]:
        """Neighbours of an accepted value, simplest first (see `Part.near`)."""
        for key, part in self.fields:
            yield from ({**value, key: near} for near in islice(part.near(value[key], rng), 4))
        if self.fields:
            return
        for key, one in list(value.items())[:4]:
            yield {other: item for other, item in value.items() if other != key}
            yield from ({**value, key: near} for near in islice(self.value.near(one, rng), 3))
            for near in islice(self.key.near(key, rng), 2):
                yield {(near if k == key else k): item for k, item in value.items()}
        yield dict(reversed(value.items()))
        yield {**value, self.key.sample(rng): self.value.sample(rng)}
        if value:
            first = next(iter(value.values()))
            yield dict.fromkeys(value, first)

    def edges(self) -> Iterator[Any]:
        """Values at or just past the borders of what was seen: no record lacks its keys."""
        if not self.fields:
            yield {}


@dataclass(frozen=True, slots=True)
class Domain:
    """A union of parts. Empty: nothing is known, and nothing is accepted."""

    parts: tuple[Part, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Return whether the value belongs to any part."""
        return any(part.accepts(value) for part in self.parts)

    def sample(self, rng: Random, room: int = ROOM) -> Any:
        """A value of one of the parts, drawn with `rng`, of about `room` values in all at most."""
        return rng.choice(self.parts).sample(rng, room) if self.parts else rng.randint(0, 9)

    def near(self, value: Any, rng: Random) -> Iterator[Any]:
        """Neighbours of an accepted value, simplest first (see `Part.near`)."""
        for part in self.parts:
            if part.accepts(value):
                yield from part.near(value, rng)
                return

    def edges(self) -> Iterator[Any]:
        """Values at or just past the borders of what was seen."""
        for part in self.parts:
            yield from part.edges()


def learn(
    values: Sequence[Any], *, marks: Sequence[float] = (), words: Sequence[str] = ()
) -> Domain:
    """The domain of values that were all seen in one place.

    `marks` and `words` are the numeric and string constants of the code that works on them.
    """
    parts: list[Part] = []
    rest: list[Any] = []
    for kind in dict.fromkeys(map(type, values)):
        same: list[Any] = [value for value in values if type(value) is kind]
        if kind in (int, float):
            tame = [value for value in same if is_tame(value)]
            rest += (value for value in same if not is_tame(value))
            if tame:
                parts.append(Numbers(kind, min(tame), max(tame), tuple(filter(is_tame, marks))))
        elif kind is str:
            parts.append(Texts.learn(same, words, marks))
        elif kind in (list, tuple, set, frozenset):
            parts.append(_sequences(kind, same, marks, words))
        elif kind is dict:
            keys = [key for one in same for key in one]
            items = [item for one in same for item in one.values()]
            sizes = [len(one) for one in same]
            mapping = Mappings(learn(keys, words=words), learn(items), min(sizes), max(sizes))
            names = list(same[0])
            if len(same) > 1 and names and all(list(one) == names for one in same):
                fields = ((name, learn([one[name] for one in same])) for name in names)
                mapping = replace(mapping, fields=tuple(fields))
            parts.append(mapping)
        else:
            rest += same
    if any(isinstance(value, bool) for value in rest):
        rest = [*(one for one in rest if not isinstance(one, bool)), True, False]
    if rest:
        parts.append(Constants(tuple({repr(one): one for one in rest}.values())))
    return Domain(tuple(parts))


def is_tame(number: float) -> bool:
    """Return whether a number is safe to calculate with: finite, even if doubled many times."""
    return abs(number) < _WILD


_WILD = 10**300


def _sequences(
    kind: type, same: Sequence[Any], marks: Sequence[float], words: Sequence[str]
) -> Sequences:
    sizes = [len(one) for one in same]
    element = learn([item for one in same for item in one], marks=marks, words=words)
    part = Sequences(kind, element, min(sizes), max(sizes))
    if kind is tuple and len(set(sizes)) == 1 and 0 < sizes[0] <= 4:
        columns = zip(*same, strict=True)
        return replace(part, places=tuple(learn(c, marks=marks, words=words) for c in columns))
    if kind not in (list, tuple):
        return part
    pairs = [(a, b) for one in same for a, b in pairwise(one)]
    many = len(pairs) >= 4 and len(same) > 1
    grids = [one for one in same if one]
    rows = [row for one in grids for row in one]
    widths = [{len(row) for row in one} for one in grids] if _all_sized(rows) else []
    rectangular = len(rows) > 1 and bool(widths) and all(len(width) == 1 for width in widths)
    return replace(
        part,
        distinct=many and all(len({repr(x) for x in one}) == len(one) for one in same),
        ascending=many
        and all(isinstance(x, (int, float)) for pair in pairs for x in pair)
        and all(a <= b for a, b in pairs),
        rectangular=rectangular,
        square=rectangular and all({len(one)} == w for one, w in zip(grids, widths, strict=True)),
    )


def _all_sized(rows: Sequence[Any]) -> bool:
    return all(isinstance(row, (list, tuple)) for row in rows)


def _some(size: int, rng: Random) -> list[int]:
    """First, last, middle and one random index."""
    chosen = (0, size - 1, size // 2, rng.randrange(size)) if size else ()
    return list(dict.fromkeys(chosen))


def _sorted(items: list[Any]) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=repr)
