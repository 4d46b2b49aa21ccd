"""Objects whose construction was seen, and what was done to them from outside of their class since.

An object is remembered by its id and a weak reference: it lives as long as it would without us.
"""

from __future__ import annotations

import types
import weakref
from typing import Any

from refute.recording.looking import lookup, module_of, mro, qualname
from refute.recording.recipes import Entry, Event, Imported, Parts

_MOST_CALLS = 8
_MOST_OBJECTS = 20_000
_MOST_FRAMES = 40


class Watch:
    """Whether all that is done to objects of a class is seen: since which tick, and how many of its
    guards are off now; the same for the making of them."""

    __slots__ = ("making_off", "making_since", "off", "since")

    def __init__(self) -> None:
        self.off = self.since = self.making_off = self.making_since = 0

    def pause(self, making: bool) -> None:
        """A guard is off now; `making`: that of `__init__`."""
        if making:
            self.making_off += 1
        else:
            self.off += 1

    def go_on(self, making: bool, tick: int) -> None:
        if making:
            self.making_off -= 1
            self.making_since = tick
        else:
            self.off -= 1
            self.since = tick

    def complete(self, tick: int, remembered: bool) -> bool:
        """Whether nothing was missed since a tick. An object that cannot be `remembered` weakly may
        have gone, and another one have its id, unless the making of each is seen."""
        made = remembered or not (self.making_off or self.making_since > tick)
        return made and not (self.off or self.since > tick)


class Histories:
    def __init__(self) -> None:
        self.ticks = 0
        self.watches: dict[tuple[str, str], Watch] = {}
        self._entries: dict[int, Entry] = {}
        self._receivers: dict[int, tuple[types.CodeType, int]] = {}

    def tick(self) -> int:
        self.ticks += 1
        return self.ticks

    def watch(self, module: str, owner: str) -> Watch:
        return self.watches.setdefault((module, owner), Watch())

    def of(self, value: Any) -> Entry | None:
        """The entry of an object; dead where calls of it may have been missed. None: unknown."""
        entry = self._entries.get(id(value))
        if entry is None or entry.kind != id(type(value)):
            return None
        if entry.ref is not None and entry.ref() is not value:
            return None
        if entry.dead is None and not self._watched(type(value), entry):
            entry.dead = "not watched all the time"
        return entry

    def _watched(self, kind: type, entry: Entry) -> bool:
        for base in mro(kind):
            watch = self.watches.get((module_of(base), qualname(base)))
            if watch is not None and not watch.complete(entry.tick, entry.ref is not None):
                return False
        return True

    def begin(self, value: Any, parts: Parts | None, why: str) -> None:
        """An object is being made by the call `parts`; None: by one that no source makes."""
        kind = type(value)
        entry = Entry(qualname(kind).rpartition(".")[2], self.tick())
        entry.kind = id(kind)
        if parts is None:
            entry.dead = why
        else:
            entry.events.append(Event(entry.tick, parts))
        key, entries = id(value), self._entries

        def forget(ref: Any) -> None:
            if key in entries and entries[key].ref is ref:
                del entries[key]

        try:
            entry.ref = weakref.ref(value, forget)
        except TypeError:
            pass
        if len(entries) >= _MOST_OBJECTS:
            entries.clear()
        entries[key] = entry

    def forget(self, value: Any) -> None:
        """Something was done to an object that is not known."""
        self._entries.pop(id(value), None)

    def went_on(self, entry: Entry, parts: Parts | None, why: str) -> None:
        """A call of a method that may have changed the object."""
        if entry.dead is not None:
            return
        if parts is None:
            entry.dead = why
        elif len(entry.events) > _MOST_CALLS:
            entry.dead = "history too long"
        else:
            entry.events.append(Event(self.tick(), parts))
        if entry.dead is not None:
            entry.events.clear()

    def within(self, frame: Any, receiver: Any) -> bool:
        """Whether a method runs within another method of the same object. Notes that it runs."""
        if len(self._receivers) > _MOST_OBJECTS:
            self._receivers.clear()
        key = id(receiver)
        found = False
        outer = frame.f_back
        for _ in range(_MOST_FRAMES):
            if outer is None or outer.f_code.co_name == "pytest_pyfunc_call":
                break
            if self._receivers.get(id(outer)) == (outer.f_code, key):
                found = True
                break
            outer = outer.f_back
        self._receivers[id(frame)] = (frame.f_code, key)
        return found

    def assigned(self, entry: Entry, name: str, value: Parts) -> None:
        """An attribute of an object may have been assigned from outside; it holds `value` now."""
        known = _comparable(value)
        if entry.assigned.get(name) == known:
            return
        entry.assigned[name] = known
        self.went_on(entry, ("setattr(", entry, f", {name!r}, ", *value, ")"), "")


def _comparable(parts: Parts) -> list[Any]:
    return [(part.module, part.name) if type(part) is Imported else part for part in parts]


def constructs(kind: type, name: str, code: types.CodeType) -> bool:
    """Whether a call of the class runs this code with the arguments of the call."""
    member = lookup(kind, name)
    member = member.__func__ if type(member) is staticmethod else member
    return type(member) is types.FunctionType and member.__code__ is code
