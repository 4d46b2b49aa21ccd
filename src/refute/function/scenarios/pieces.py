"""Pieces of source for scenarios: expressions together with the names that they need."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """An expression as a user would write it."""

    source: str
    imports: tuple[tuple[str, str], ...] = ()
    """(name, ``module:qualname`` or ``module``) of what it uses that the module does not define."""
    setup: tuple[str, ...] = ()
    """Statements that must run before it."""


def plain(*sources: str) -> tuple[Piece, ...]:
    """Pieces that need nothing."""
    return tuple(map(Piece, sources))


def joined(pieces: Iterable[Piece]) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """What several pieces need together: imports and statements, each once."""
    imports: dict[tuple[str, str], None] = {}
    setup: dict[str, None] = {}
    for piece in pieces:
        imports |= dict.fromkeys(piece.imports)
        setup |= dict.fromkeys(piece.setup)
    return tuple(imports), tuple(setup)


class Namer:
    """Gives each thing that is imported a name of its own, the same each time."""

    def __init__(self, module: str, taken: Iterable[str]) -> None:
        """`module`: the one under test, whose own names need no import. `taken`: names that must
        go on meaning what they mean there."""
        self.module = module
        self._taken = set(taken) | set(dir(builtins)) | set(keyword.kwlist)
        self._names: dict[str, str] = {}

    def free(self, name: str) -> str:
        """A name for a variable, as close to this one as what is taken allows."""
        while name in self._taken:
            name += "_"
        return name

    def claim(self, imports: Iterable[tuple[str, str]]) -> bool:
        """Take names for what they mean elsewhere; False where one means something else here."""
        pairs = [(name, place) for name, place in imports]
        if any(name in self._taken and self._names.get(place) != name for name, place in pairs):
            return False
        self._taken |= {name for name, _ in pairs}
        self._names |= {place: name for name, place in pairs}
        return True

    def module_named(self, name: str) -> Piece:
        """The piece that stands for a module of the standard library, by its own name."""
        return Piece(name, ((name, name),))

    def name(self, place: str) -> Piece:
        """The piece that stands for ``module:qualname``."""
        module, _, qualname = place.partition(":")
        first, _, rest = qualname.partition(".")
        if module == self.module:
            return Piece(qualname)
        if module == "builtins":
            return Piece(qualname)
        root = f"{module}:{first}"
        if root not in self._names:
            name = first
            if name in self._taken:
                name = f"{module.rpartition('.')[2].strip('_') or 'other'}_{first}"
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            self._names[root] = name
        name = self._names[root]
        return Piece(f"{name}.{rest}" if rest else name, ((name, root),))
