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
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from refute.core.problems import Scenario
from refute.function.scenarios.arguments import Row, rows_for
from refute.function.scenarios.building import Builder, call_of
from refute.function.scenarios.described import Described
from refute.function.scenarios.mentioned import mentioned
from refute.function.scenarios.observation import LIMITS, Observation, observe
from refute.function.scenarios.pieces import Namer, Piece, joined
from refute.function.scenarios.receivers import (
    Receivers,
    Target,
    Texts,
    Tries,
    node_of,
    owner_of,
    pairs_of,
)
from refute.function.scenarios.varying import variations
from refute.sandbox import Program, Sandbox
from refute.source.syntax import bound_names, try_parse

__all__ = ["Proposal", "Proposer", "Target"]

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
    """The largest whole number that a scenario holds."""
    return max((float(one) for one in re.findall(r"\d+", scenario.source)), default=0.0)


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
        target = self.target
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
