"""The object whose method is called: ways to make it, and calls that bring it into other states."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from refute.function.scenarios.arguments import Row, rows_for
from refute.function.scenarios.building import Builder, call_of
from refute.function.scenarios.described import (
    KEYWORDS,
    VARIADIC,
    ClassInfo,
    Described,
    Parameter,
    Signature,
)
from refute.function.scenarios.pieces import Piece
from refute.source.syntax import Function, find_function, try_parse

MOST_RECEIVERS = 240
LONGEST = 4
"""Method calls before the observed one."""

Texts = Callable[[str], str | None]
"""The text of a file of the project, by the path that the sandbox names; None: unknown."""


@dataclass(frozen=True, slots=True)
class Target:
    """Callable to test."""

    module: str
    """Dotted name."""
    name: str
    """Dotted in the module: `total`, `Cart.total`, `Cart`."""
    signature: Signature
    text: str
    """The module's source."""

    @property
    def node(self) -> Function | None:
        """Its definition; of a class that of its constructor, where it is the class's own."""
        tree = try_parse(self.text)
        if tree is None:
            return None
        name = f"{self.name}.__init__" if self.signature.kind == "type" else self.name
        return find_function(tree, name)


@dataclass(slots=True)
class Tries:
    """Count of how often a choice was made, and what came of it."""

    made: int = 0
    good: float = 0.0
    returned: int = 0

    @property
    def weight(self) -> float:
        """Weight with which it is drawn again."""
        return float((self.good + 0.5) / (self.made + 1)) ** 2 + 0.001


@dataclass(slots=True)
class Receivers:
    """Of one target, drawn by what they were good for (`tries`, which the proposer keeps)."""

    target: Target
    described: Described
    builder: Builder
    rng: Random
    tries: Mapping[tuple[str, str], Tries]
    texts: Texts
    instances: Mapping[str, Sequence[Piece]]
    """Expressions by which tests make objects of a class, by its id."""
    _rows: dict[str, list[Row]] = field(default_factory=dict)
    _instances: list[Piece] | None = None
    _making: Iterator[Row] = field(default_factory=lambda: iter(()))
    """More arguments for the constructor."""

    def owner(self) -> ClassInfo | None:
        """Return the class whose instance it is; None without a receiver."""
        return owner_of(self.target, self.described)

    def variable(self) -> str:
        owner = self.target.name.rpartition(".")[0].rpartition(".")[2]
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", owner).strip("_").lower() or "it"
        return self.builder.namer.free(snake)

    def drawn(self) -> Piece | None:
        pieces = self.known()
        if not pieces:
            return None
        untried = [p for p in pieces if ("receiver", p.source) not in self.tries]
        serves = any(self.tries[key].good for key in self.tries if key[0] == "receiver")
        if not untried and self.rng.random() < (0.05 if serves else 0.5):
            untried = self._more()
        if untried and self.rng.random() < (0.25 if serves else 0.5):
            return untried[0]
        weights = [self.tries.get(("receiver", p.source), Tries()).weight for p in pieces]
        return self.rng.choices(pieces, weights)[0]

    def known(self) -> list[Piece]:
        if self._instances is not None:
            return self._instances
        owner = self.owner()
        found: dict[str, Piece] = {}
        if owner is not None:
            for piece in self.instances.get(owner.id, ()):
                found[piece.source] = piece
            if owner.make is not None and not owner.abstract:
                whole = self.builder.namer.name(owner.id)
                node = node_of(owner.make, self.texts)
                self._making = rows_for(owner.make, node, self.builder, self.rng)
                rows = list(islice(self._making, 24))
                for row in rows:
                    made = call_of(whole, pairs_of(owner.make, row), owner.make)
                    found[made.source] = made
            for piece in islice(self.builder.instances(owner), 24):
                found.setdefault(piece.source, piece)
            for below in owner.subclasses[:4]:
                info = self.described.classes.get(below)
                if info is not None and (owner.abstract or len(found) < 4):
                    for piece in islice(self.builder.instances(info), 6):
                        found.setdefault(piece.source, piece)
        self._instances = list(found.values())
        return self._instances

    def _more(self) -> list[Piece]:
        """Ways to make the receiver besides, some with a word or number that the code mentions."""
        owner, known = self.owner(), self.known()
        if owner is None or owner.make is None or len(known) >= MOST_RECEIVERS:
            return []
        words = [Piece(one) for group in self.builder.constants for one in group]
        named = [one for one in owner.make.parameters or () if one.kind not in (VARIADIC, KEYWORDS)]
        made = []
        for row in islice(self._making, 12):
            if words and named and self.rng.random() < 0.6:
                row = {key: piece for key, piece in row.items() if self.rng.random() < 0.5}
                row = {**row, self.rng.choice(named).name: self.rng.choice(words)}
            whole = self.builder.namer.name(owner.id)
            made.append(call_of(whole, pairs_of(owner.make, row), owner.make))
        fresh = {one.source: one for one in made if one not in known}
        known += fresh.values()
        return list(fresh.values())

    def before(
        self, variable: str, given: Row, turn: int
    ) -> tuple[list[Piece], list[tuple[str, str]]]:
        """Calls of methods that change the receiver, none at first, and later ever more.

        Parameters that are called alike often mean the same thing: they often get the same value.
        """
        owner = self.owner()
        if owner is None or turn < 12 or self.rng.random() < 0.4:
            return [], []
        own = self.target.name.rpartition(".")[2]
        names = [n for n, m in owner.methods.items() if m.kind == "method"]
        if not names:
            return [], []
        weights = [
            self.tries.get(("before", n), Tries()).weight * (0.5 if n == own else 1.0)
            for n in names
        ]
        found, choices = [], []
        for _ in range(self.rng.randint(1, min(LONGEST, 1 + turn // 40))):
            name = self.rng.choices(names, weights)[0]
            rows = self._rows_of(name, owner.methods[name])
            if rows:
                row = self.rng.choice(rows)
                alike = [key for key in row if key in given and self.rng.random() < 0.5]
                row = {**row, **{key: given[key] for key in alike}}
                method = owner.methods[name]
                found.append(call_of(Piece(f"{variable}.{name}"), pairs_of(method, row), method))
                choices.append(("before", name))
        return found, choices

    def _rows_of(self, name: str, method: Signature) -> list[Row]:
        if name not in self._rows:
            rows = rows_for(method, node_of(method, self.texts), self.builder, self.rng)
            self._rows[name] = list(islice(rows, 12))
        return self._rows[name]


def owner_of(target: Target, described: Described) -> ClassInfo | None:
    """The class whose instance a target is called on; None where it is called on none."""
    owner = target.name.rpartition(".")[0]
    if not owner or target.signature.kind in ("static", "class", "function", "type"):
        return None
    return described.classes.get(f"{target.module}:{owner}")


def node_of(signature: Signature, texts: Texts) -> Function | None:
    """The definition of a callable, where it is written in Python in the project."""
    if signature.file is None or signature.qualname is None:
        return None
    text = texts(signature.file)
    tree = None if text is None else try_parse(text)
    return None if tree is None else find_function(tree, signature.qualname)


def pairs_of(signature: Signature, row: Row) -> list[tuple[Parameter, Piece]]:
    """The parameters that a row gives something for, in the signature's order."""
    return [(one, row[one.name]) for one in signature.parameters or () if one.name in row]
