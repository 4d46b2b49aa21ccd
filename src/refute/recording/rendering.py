"""Recipes to a small program: imports by name, set-up statements, one expression."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Dict, List, Tuple

from refute.recording.recipes import Entry, Event, Imported, Parts, Unbuildable

_MOST_STATEMENTS = 24
_LONGEST = 6_000
"""Characters of all source of one record."""
_BUILTIN = frozenset(dir(builtins))

Program = Tuple[Dict[str, str], List[str], str]
"""Imports, set-up, expression."""


def render(parts: Parts) -> Program:
    """The program whose last expression `parts` is. Raises `Unbuildable`.

    Objects are made and changed in the order in which that happened.
    """
    entries, uses = _reached(parts)
    events = [(event.tick, entry, event) for entry in entries for event in entry.events]
    if len(events) > _MOST_STATEMENTS:
        raise Unbuildable("history too long")
    events.sort(key=lambda item: item[0])
    names = _Names()
    inlined = {
        id(entry)
        for entry in entries
        if not entry.named and len(entry.events) == 1 and uses[id(entry)] == 1
    }
    setup: list[str] = []
    for _, entry, event in events:
        if id(entry) in inlined:
            continue
        text = names.text(event.parts, inlined)
        if event is entry.events[0]:
            text = f"{names.variable(entry)} = {text}"
        setup.append(text)
    expression = names.text(parts, inlined)
    if sum(map(len, setup)) + len(expression) > _LONGEST:
        raise Unbuildable("too large")
    return names.imports, setup, expression


def _reached(parts: Parts) -> tuple[list[Entry], dict[int, int]]:
    """The tracked objects that source needs, each once, and how often each is written."""
    found: list[Entry] = []
    uses: dict[int, int] = {}
    left = [parts]
    while left:
        for part in left.pop():
            if type(part) is not Entry:
                continue
            uses[id(part)] = uses.get(id(part), 0) + 1
            if uses[id(part)] == 1:
                if part.dead is not None:
                    raise Unbuildable(part.dead)
                found.append(part)
                left.extend(event.parts for event in part.events)
    return found, uses


class _Names:
    """Names given so far; no two things share one, and none hides what Python brings."""

    def __init__(self) -> None:
        self.imports: dict[str, str] = {}
        self._imported: dict[tuple[str, str], str] = {}
        self._variables: dict[int, str] = {}
        self._taken: set[str] = set()

    def text(self, parts: Parts, inlined: set[int]) -> str:
        written: list[str] = []
        for part in parts:
            if type(part) is str:
                written.append(part)
            elif type(part) is Imported:
                written.append(self._import(part))
            elif type(part) is Entry and id(part) in inlined:
                event: Event = part.events[0]
                written.append(self.text(event.parts, inlined))
            elif type(part) is Entry:
                written.append(self.variable(part))
        return "".join(written)

    def variable(self, entry: Entry) -> str:
        if id(entry) not in self._variables:
            hint = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", entry.hint).lower().strip("_")
            self._variables[id(entry)] = self._free(hint or "value")
        return self._variables[id(entry)]

    def _import(self, part: Imported) -> str:
        key = (part.module, part.name)
        if key not in self._imported:
            name = self._free(part.name or part.module.rpartition(".")[2])
            self._imported[key] = name
            self.imports[name] = "{}:{}".format(*key) if part.name else part.module
        return self._imported[key]

    def _free(self, name: str) -> str:
        if not name.isidentifier():
            name = "value"
        free, number = name, 1
        while free in self._taken or free in _BUILTIN or keyword.iskeyword(free):
            number += 1
            free = f"{name}_{number}"
        self._taken.add(free)
        return free
