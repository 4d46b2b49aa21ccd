"""Propose scenarios for a function, method, property or class, and learn from what they showed.

Known scenarios (from tests) come first as they are, then calls with proposed arguments
on receivers that are made in ever other ways, sequences of methods before them, and variations of
what reached something new. Pieces that turn out to be of no use are drawn less and less.
"""

from __future__ import annotations

import ast
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random

from refute.core.problems import Scenario
from refute.function.scenarios.arguments import Row, mentioned, rows_for
from refute.function.scenarios.building import Builder, Namer, Piece, call_of, joined
from refute.function.scenarios.described import (
    KEYWORDS,
    VARIADIC,
    ClassInfo,
    Described,
    Parameter,
    Signature,
    with_seen_types,
)
from refute.function.scenarios.observation import LIMITS, Observation, observe
from refute.function.scenarios.varying import variations
from refute.sandbox import Program, Sandbox
from refute.source.syntax import Function, bound_names, find_function, try_parse

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


# -- proposals -------------------------------------------------------------------------------------


# -- proposals -------------------------------------------------------------------------------------

LARGE = 1_000
"""A smaller number is not why a call does not end."""
MOST_KEPT = 60
"""Scenarios that variations start from."""
MOST_MISSES = 150
"""Proposals in a batch that are not new: then it is left as it is, until more is learnt."""
MOST_BARREN = 6
"""Calls with an option that all raise: then it is seldom given."""


def _largest(scenario: Scenario) -> float:
    """The largest whole number that a scenario holds outside of texts and names."""
    found = re.findall(r"(?<![\w\"'])\d+(?![\w\"'])", scenario.source)
    return max(map(float, found), default=0.0)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A scenario, and the choices that made it."""

    scenario: Scenario
    choices: tuple[tuple[str, str], ...] = ()
    """(place, source): "receiver", a parameter, "before"."""


@dataclass(slots=True)
class Proposer:
    """Proposes scenarios for one target. Deterministic for a seed and what it learns."""

    target: Target
    described: Described
    texts: Texts
    known: Sequence[Scenario] = ()
    seed: int = 0
    instances: Mapping[str, Sequence[Piece]] = field(default_factory=dict)
    """Expressions by which tests make objects of a class, by its id."""
    _tries: dict[tuple[str, str], Tries] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _endless: float = math.inf
    """The least large number with which a call did not end: larger ones cost a time-out each."""
    _kept: list[Proposal] = field(default_factory=list)
    _lines: set[int] = field(default_factory=set)
    _stream: Iterator[Proposal | None] | None = None
    builder: Builder = field(init=False)
    rng: Random = field(init=False)
    receivers: Receivers = field(init=False)
    _made: dict[tuple[str, str], Piece] = field(default_factory=dict)

    def __post_init__(self) -> None:
        last = self.target.name.rpartition(".")[2]
        signature = with_seen_types(self.target.signature, last, self.known)
        self.target = target = replace(self.target, signature=signature)
        tree = try_parse(target.text)
        taken = bound_names(*tree.body) if tree is not None else frozenset()
        self.rng = Random(f"{self.seed}:{target.name}")
        nodes = [target.node] if target.node is not None else []
        owner = owner_of(target, self.described)
        if owner is not None and owner.make is not None:
            made = node_of(owner.make, self.texts)
            nodes += [made] if made is not None else []
        owned = target.name.rpartition(".")[0]
        whole = tree or ast.Module([], [])
        constants = mentioned(whole, nodes, owned, self.rng, self.described.tables)
        namer = Namer(target.module, taken)
        self.builder = Builder(self.described, namer, constants, self.instances)
        self.receivers = Receivers(
            target, self.described, self.builder, self.rng, self._tries, self.texts, self.instances
        )
        self._stream = self._proposals()

    def batch(self, count: int) -> list[Proposal]:
        """The next proposals, at most `count`, none twice; fewer where nothing new is left."""
        found: list[Proposal] = []
        misses = 0
        assert self._stream is not None
        for proposal in self._stream:
            if proposal is None or self._is_useless(proposal.scenario):
                misses += 1
                if misses > MOST_MISSES:
                    break
                continue
            self._seen.add(proposal.scenario.source)
            found.append(proposal)
            if len(found) == count:
                break
        return found

    def _is_useless(self, scenario: Scenario) -> bool:
        """Return whether it was proposed, or has a number with which a call never ended."""
        return scenario.source in self._seen or _largest(scenario) >= self._endless

    def learn(self, proposal: Proposal, seen: Observation) -> None:
        """Take what a proposal showed into account."""
        good = 0.0 if seen.misused or not seen.answered else 0.5 if seen.kind == "raised" else 1.0
        choices = proposal.choices
        if seen.kind == "cut short":
            size = _largest(proposal.scenario)
            self._endless = min(self._endless, size) if size >= LARGE else self._endless
        if seen.kind == "setup":  # the first statement makes the receiver
            blamed = ("receiver",) if seen.step == 0 else ("before",)
            choices = tuple(one for one in choices if one[0] in blamed)
        given = dict.fromkeys((place, "") for place, _ in choices)  # a parameter with any value
        for choice in (*choices, *given, ("", "")):
            tries = self._tries.setdefault(choice, Tries())
            tries.made += 1
            tries.good += good
            tries.returned += seen.kind == "returned"
        new = seen.lines - self._lines
        if seen.answered and (new or (good == 1.0 and len(self._kept) < MOST_KEPT // 2)):
            self._lines |= new
            self._kept.append(proposal)
            if len(self._kept) > MOST_KEPT:
                self._kept.pop(self.rng.randrange(MOST_KEPT // 2))

    # -- the stream --------------------------------------------------------------------------------

    def _proposals(self) -> Iterator[Proposal | None]:
        """Proposals without end, some of them twice; None for a turn that gave nothing."""
        for scenario in self.known:
            yield Proposal(scenario)
        turn = 0
        rows = rows_for(self.target.signature, self.target.node, self.builder, self.rng)
        while True:
            turn += 1
            fresh: list[Proposal] = []
            row = None
            if turn % 3 != 2 or not (self._kept or self.known):
                row = next(rows, None)
            if row is not None:
                made = self._call(self._redrawn(row), turn)
                fresh = [made] if made is not None else []
            elif self._kept or self.known:
                fresh = self._varied()
            yield from fresh
            if not fresh:
                yield None

    def _varied(self) -> list[Proposal]:
        bases = self._kept or [Proposal(one) for one in self.known]
        base = self.rng.choice(bases)
        found = islice(variations(base.scenario, self.builder, self.rng), 2)
        return [Proposal(one) for one in found]

    def _redrawn(self, row: Row) -> Row:
        """The row without what does not serve: options that no call returns with are left out, and
        for other values those of the same parameter are given that did serve."""
        returns = self._tries.get(("", ""), Tries()).returned > 0
        for one in self.target.signature.parameters or ():
            if one.name not in row:
                continue
            tries = self._tries.get((one.name, row[one.name].source), Tries())
            ever = self._tries.get((one.name, ""), Tries())
            barren = (tries.made >= 2 and not tries.returned) or (
                ever.made >= MOST_BARREN
                and not ever.returned
                and (tries.made or row[one.name].source not in self.builder.constants[1])
            )
            if returns and barren and one.optional and self.rng.random() < 0.85:
                row = {name: piece for name, piece in row.items() if name != one.name}
            elif tries.made >= 2 and tries.good == 0:
                pool = self._served(one.name)
                if pool:
                    row = {**row, one.name: self.rng.choice(pool)}
        return row

    def _served(self, name: str) -> list[Piece]:
        """Pieces that served for a parameter."""
        return [
            piece
            for key, piece in self._made.items()
            if key[0] == name and key in self._tries and self._tries[key].good > 0
        ]

    def _call(self, row: Row, turn: int) -> Proposal | None:
        signature, name = self.target.signature, self.target.name
        for key, piece in row.items():
            self._made[key, piece.source] = piece
        pairs = pairs_of(signature, row)
        choices = [(p.name, piece.source) for p, piece in pairs]
        if signature.kind in ("function", "static", "class", "type"):
            callee = Piece(name)
            if signature.kind == "type":
                callee = self.builder.namer.name(f"{self.target.module}:{name}")
            call = call_of(callee, pairs, signature)
            return Proposal(Scenario(call.source, call.setup, call.imports), tuple(choices))
        receiver = self.receivers.drawn()
        if receiver is None:
            return None
        variable = self.receivers.variable()
        before, more = self.receivers.before(variable, row, turn)
        last = name.rpartition(".")[2]
        if signature.kind == "property":
            call = Piece(f"{variable}.{last}")
        else:
            call = call_of(Piece(f"{variable}.{last}"), pairs, signature)
        imports, setup = joined([receiver, *before, call])
        steps = (f"{variable} = {receiver.source}", *(one.source for one in before))
        choices += [("receiver", receiver.source), *more]
        # what pieces need comes behind the receiver, so that a failure tells whose it is
        return Proposal(
            Scenario(call.source, (*steps[:1], *setup, *steps[1:]), imports), tuple(choices)
        )


# -- running proposals -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """A proposal and what it showed."""

    proposal: Proposal
    seen: Observation


def explore(
    proposer: Proposer,
    run: Callable[[Sequence[Proposal]], Sequence[Observation]],
    *,
    most: int,
    batch: int = 32,
    seconds: float | None = None,
) -> Iterator[Shown]:
    """Run up to `most` proposals in batches and tell the proposer what each showed.

    `run` gives an observation for each; `seconds` bounds the whole.
    """
    end = None if seconds is None else time.monotonic() + seconds
    left = most
    while left > 0 and (end is None or time.monotonic() < end):
        proposals = proposer.batch(min(batch, left))
        if not proposals:
            return
        left -= len(proposals)
        for proposal, seen in zip(proposals, run(proposals), strict=True):
            proposer.learn(proposal, seen)
            yield Shown(proposal, seen)


def runner(box: Sandbox, program: Program) -> Callable[[Sequence[Proposal]], list[Observation]]:
    """Return a function that runs proposals on a program, in one process image a batch."""
    return lambda proposals: observe(box, program, [one.scenario for one in proposals], LIMITS)
