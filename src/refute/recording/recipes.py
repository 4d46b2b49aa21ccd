"""What source is made of before names are given: text, imported names, tracked objects."""

from __future__ import annotations

from typing import Any, Tuple, Union


class Unbuildable(Exception):
    """There is no source that makes this value; the text is the reason, of few different ones."""


class Imported:
    """A module, or what it holds under a name: `decimal` and `Decimal`."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str = "") -> None:
        self.module, self.name = module, name


class Event:
    """One statement of an object's history; `tick` orders the events of all objects."""

    __slots__ = ("parts", "tick")

    def __init__(self, tick: int, parts: Parts) -> None:
        self.tick, self.parts = tick, parts


class Entry:
    """An object that is reached by its construction (the first event) and calls after it.

    `dead`: why no source reaches its state any more. `ref`: a weak reference to it, or None where
    its class allows none. `kind`: the id of its class. `assigned`:
    the attributes that were set from outside, as they were noted last.
    """

    __slots__ = ("assigned", "dead", "events", "hint", "kind", "named", "ref", "tick")

    def __init__(self, hint: str, tick: int, *, named: bool = False) -> None:
        self.hint, self.tick, self.named = hint, tick, named
        self.events: list[Event] = []
        self.dead: str | None = None
        self.ref: Any = None
        self.assigned: dict[str, Any] = {}
        self.kind = 0


Part = Union[str, Imported, Entry]
Parts = Tuple[Part, ...]
