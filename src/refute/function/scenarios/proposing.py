"""Propose scenarios for a function, method, property or class, and learn from what they showed.

Known scenarios (from tests, or recorded) come first as they are, then calls with proposed arguments
on receivers that are made in ever other ways, sequences of methods before them, and variations of
what reached something new. Pieces that turn out to be of no use are drawn less and less.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from refute.function.scenarios.arguments import KINDS, Row, kind_of, rows_for
from refute.function.scenarios.building import Builder, call_of
from refute.function.scenarios.described import (
    KEYWORDS,
    VARIADIC,
    ClassInfo,
    Described,
    Parameter,
    Signature,
)
from refute.function.scenarios.mentioned import mentioned
from refute.function.scenarios.observation import Observation
from refute.function.scenarios.pieces import Namer, Piece, joined
from refute.function.scenarios.results import function_returned, uses
from refute.function.scenarios.varying import variations
from refute.problems import Scenario
from refute.sandbox.values import Incomplete
from refute.syntax import Function, bound_names, find_function, try_parse

__all__ = ["Proposal", "Proposer", "Target"]

MOST_KEPT = 60
"""Scenarios that variations start from."""
DEEPEST_RESULT, MOST_RESULTS = 2, 120
"""Results of results that are used, and how many scenarios do so."""
MOST_MISSES = 150
"""Proposals in a batch that are not new: then it is left as it is, until more is learnt."""
MOST_BARREN = 6
"""Calls with an option that all raise: then it is seldom given."""
MOST_RECEIVERS = 240
MOST_WRONG = 5
"""Values of one kind that a parameter is given though none is what it is for."""
LONGEST = 4
"""Method calls before the observed one."""

Texts = Callable[[str], str | None]
"""The text of a file of the project, by the path that the sandbox names; None: unknown."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be called."""

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


@dataclass(frozen=True, slots=True)
class Proposal:
    """A scenario, and the choices that made it."""

    scenario: Scenario
    choices: tuple[tuple[str, str], ...] = ()
    """(place, source): "receiver", a parameter, "before"."""


@dataclass(slots=True)
class _Tries:
    made: int = 0
    good: float = 0.0
    returned: int = 0

    @property
    def weight(self) -> float:
        """How likely it is drawn again."""
        return float((self.good + 0.5) / (self.made + 1)) ** 2 + 0.001


@dataclass(slots=True)
class Proposer:
    """Proposes scenarios for one target. Deterministic for a seed and what it is told."""

    target: Target
    described: Described
    texts: Texts
    known: Sequence[Scenario] = ()
    seed: int = 0
    instances: Mapping[str, Sequence[Piece]] = field(default_factory=dict)
    """How tests make objects of a class, by its id."""
    _tries: dict[tuple[str, str], _Tries] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    _kept: list[Proposal] = field(default_factory=list)
    _lines: set[int] = field(default_factory=set)
    _stream: Iterator[Proposal | None] | None = None
    builder: Builder = field(init=False)
    rng: Random = field(init=False)
    _rows: dict[str, list[Row]] = field(default_factory=dict)
    _instances: list[Piece] | None = None
    _making: Iterator[Row] = field(default_factory=lambda: iter(()))
    """More arguments for the receiver's constructor."""
    _made: dict[tuple[str, str], Piece] = field(default_factory=dict)
    _results: dict[str, int] = field(default_factory=dict)
    """Source of a scenario whose result is used -> how many results deep it is itself."""
    _uses: deque[Proposal] = field(default_factory=deque)

    def __post_init__(self) -> None:
        target = self.target
        tree = try_parse(target.text)
        taken = bound_names(*tree.body) if tree is not None else frozenset()
        self.rng = Random(f"{self.seed}:{target.name}")
        nodes = [target.node] if target.node is not None else []
        owner = self._owner()
        if owner is not None and owner.make is not None:
            nodes += [node for node in (self._node_of(owner.make),) if node is not None]
        owned = target.name.rpartition(".")[0]
        whole = tree or ast.Module([], [])
        constants = mentioned(whole, nodes, owned, self.rng, self.described.tables)
        namer = Namer(target.module, taken)
        self.builder = Builder(self.described, namer, constants, self.instances)
        self._stream = self._proposals()

    def batch(self, count: int) -> list[Proposal]:
        """The next proposals, at most `count`, none twice; fewer where nothing new is left."""
        found: list[Proposal] = []
        misses = 0
        assert self._stream is not None
        for proposal in self._stream:
            if proposal is None or proposal.scenario.source in self._seen:
                misses += 1
                if misses > MOST_MISSES:
                    break
                continue
            self._seen.add(proposal.scenario.source)
            found.append(proposal)
            if len(found) == count:
                break
        return found

    def learn(self, proposal: Proposal, seen: Observation) -> None:
        """Take what a proposal showed into account."""
        good = 0.0 if seen.misused or not seen.answered else 0.5 if seen.kind == "raised" else 1.0
        choices = proposal.choices
        if seen.kind == "setup":  # the first statement makes the receiver
            blamed = ("receiver",) if seen.step == 0 else ("before",)
            choices = tuple(one for one in choices if one[0] in blamed)
        given = dict.fromkeys((place, "") for place, _ in choices)  # a parameter with any value
        kinds = dict.fromkeys((place, f"kind {kind_of(source)}") for place, source in choices)
        for choice in (*choices, *given, *kinds, ("", "")):
            tries = self._tries.setdefault(choice, _Tries())
            tries.made += 1
            tries.good += good
            tries.returned += seen.kind == "returned"
        if seen.kind == "returned" and isinstance(seen.value, Incomplete):
            self._use(proposal, seen.value.type)
        new = seen.lines - self._lines
        if seen.answered and (new or (good == 1.0 and len(self._kept) < MOST_KEPT // 2)):
            self._lines |= new
            self._kept.append(proposal)
            if len(self._kept) > MOST_KEPT:
                self._kept.pop(self.rng.randrange(MOST_KEPT // 2))

    def _use(self, proposal: Proposal, kind: str) -> None:
        """Have what a call returned used, since it cannot be compared itself."""
        scenario = proposal.scenario
        depth = self._results.get(scenario.source, 0)
        if depth == DEEPEST_RESULT or len(self._results) > MOST_RESULTS:
            return
        node = self.target.node
        for _ in range(depth + 1):
            node = function_returned(node)
        base = Piece(scenario.expression, scenario.imports, scenario.setup)
        for use in uses(base, kind, node, self.builder, self.rng):
            new = Scenario(use.source, use.setup, use.imports)
            self._results[new.source] = depth + 1
            self._uses.append(Proposal(new))

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
            if self._uses and turn % 2:
                yield self._uses.popleft()
                continue
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
        returns = self._tries.get(("", ""), _Tries()).returned > 0
        for one in self.target.signature.parameters or ():
            if one.name not in row:
                continue
            tries = self._tries.get((one.name, row[one.name].source), _Tries())
            ever = self._tries.get((one.name, ""), _Tries())
            barren = (tries.made >= 2 and not tries.returned) or (
                ever.made >= MOST_BARREN
                and not ever.returned
                and (tries.made or row[one.name].source not in self.builder.constants[1])
            )
            if returns and barren and one.optional and self.rng.random() < 0.85:
                row = {name: piece for name, piece in row.items() if name != one.name}
            elif self._is_wrong(one.name, kind_of(row[one.name].source)):
                row = {**row, one.name: self._of_other_kind(one.name) or row[one.name]}
            elif tries.made >= 2 and tries.good == 0:
                pool = self._served(one.name)
                if pool:
                    row = {**row, one.name: self.rng.choice(pool)}
        return row

    def _is_wrong(self, name: str, kind: str) -> bool:
        """Whether values of a kind were never what a parameter is for."""
        tries = self._tries.get((name, f"kind {kind}"), _Tries())
        return bool(kind) and tries.made >= MOST_WRONG and tries.good == 0

    def _of_other_kind(self, name: str) -> Piece | None:
        """A value of a kind that is not known to be wrong, one that served the likeliest."""
        kinds = [kind for kind in KINDS if not self._is_wrong(name, kind)]
        if not kinds:
            return None
        weights = [self._tries.get((name, f"kind {kind}"), _Tries()).weight for kind in kinds]
        pieces = self.builder.of_type(KINDS[self.rng.choices(kinds, weights)[0]])
        return self.rng.choice(pieces)

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
        pairs = _pairs(signature, row)
        choices = [(p.name, piece.source) for p, piece in pairs]
        if signature.kind in ("function", "static", "class", "type"):
            callee = Piece(name)
            if signature.kind == "type":
                callee = self.builder.namer.name(f"{self.target.module}:{name}")
            call = call_of(callee, pairs, signature)
            return Proposal(Scenario(call.source, call.setup, call.imports), tuple(choices))
        receiver = self._receiver()
        if receiver is None:
            return None
        variable = self._variable()
        before, more = self._before(variable, row, turn)
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

    # -- receivers ---------------------------------------------------------------------------------

    def _owner(self) -> ClassInfo | None:
        owner = self.target.name.rpartition(".")[0]
        kind = self.target.signature.kind
        if not owner or kind in ("static", "class", "function", "type"):
            return None
        return self.described.classes.get(f"{self.target.module}:{owner}")

    def _variable(self) -> str:
        owner = self.target.name.rpartition(".")[0].rpartition(".")[2]
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", owner).strip("_").lower() or "it"
        return self.builder.namer.free(snake)

    def _receiver(self) -> Piece | None:
        pieces = self._receivers()
        if not pieces:
            return None
        untried = [p for p in pieces if ("receiver", p.source) not in self._tries]
        serves = any(self._tries[key].good for key in self._tries if key[0] == "receiver")
        if not untried and self.rng.random() < (0.05 if serves else 0.5):
            untried = self._more_receivers()
        if untried and self.rng.random() < (0.25 if serves else 0.5):
            return untried[0]
        weights = [self._tries.get(("receiver", p.source), _Tries()).weight for p in pieces]
        return self.rng.choices(pieces, weights)[0]

    def _receivers(self) -> list[Piece]:
        if self._instances is not None:
            return self._instances
        owner = self._owner()
        found: dict[str, Piece] = {}
        if owner is not None:
            for piece in self.instances.get(owner.id, ()):
                found[piece.source] = piece
            if owner.make is not None and not owner.abstract:
                whole = self.builder.namer.name(owner.id)
                node = self._node_of(owner.make)
                self._making = rows_for(owner.make, node, self.builder, self.rng)
                for row in islice(self._making, 24):
                    made = call_of(whole, _pairs(owner.make, row), owner.make)
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

    def _more_receivers(self) -> list[Piece]:
        """Ways to make the receiver besides, some with a word or number that the code mentions."""
        owner, known = self._owner(), self._receivers()
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
            made.append(call_of(whole, _pairs(owner.make, row), owner.make))
        fresh = {one.source: one for one in made if one not in known}
        known += fresh.values()
        return list(fresh.values())

    def _before(
        self, variable: str, given: Row, turn: int
    ) -> tuple[list[Piece], list[tuple[str, str]]]:
        """Calls of methods that change the receiver, none at first, and later ever more.

        Parameters that are called alike often mean the same thing: they often get the same value.
        """
        owner = self._owner()
        if owner is None or turn < 12 or self.rng.random() < 0.4:
            return [], []
        own = self.target.name.rpartition(".")[2]
        names = [n for n, m in owner.methods.items() if m.kind == "method"]
        if not names:
            return [], []
        weights = [
            self._tries.get(("before", n), _Tries()).weight * (0.5 if n == own else 1.0)
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
                found.append(call_of(Piece(f"{variable}.{name}"), _pairs(method, row), method))
                choices.append(("before", name))
        return found, choices

    def _rows_of(self, name: str, method: Signature) -> list[Row]:
        if name not in self._rows:
            rows = rows_for(method, self._node_of(method), self.builder, self.rng)
            self._rows[name] = list(islice(rows, 12))
        return self._rows[name]

    def _node_of(self, signature: Signature) -> Function | None:
        if signature.file is None or signature.qualname is None:
            return None
        text = self.texts(signature.file)
        tree = None if text is None else try_parse(text)
        return None if tree is None else find_function(tree, signature.qualname)


def _pairs(signature: Signature, row: Row) -> list[tuple[Parameter, Piece]]:
    """The parameters that a row gives something for, in the signature's order."""
    return [(one, row[one.name]) for one in signature.parameters or () if one.name in row]
