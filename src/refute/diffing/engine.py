"""Find inputs on which two revisions of one function differ, or say how far there are none.

Scenarios are proposed from both revisions' source and from what the project's tests do, run on both
sides, and learnt from. What differs is run again, alone and with other hashes, twice on each side;
what is left is grouped by the changed lines that it executes, and made small.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from refute.core.problems import Scenario
from refute.diffing.changes import ChangedFunction, Place
from refute.diffing.comparison import (
    MOST_SHOWN,
    QUIET,
    WRONG_KIND,
    Comparison,
    Difference,
    Entry,
    Kind,
    Settings,
    Tried,
    is_stable,
    kind_of_difference,
    steady,
)
from refute.diffing.modules import Module
from refute.diffing.revisions import Tree
from refute.diffing.sides import Side, Sides
from refute.function.scenarios.building import Piece
from refute.function.scenarios.carving import (
    TestIndex,
    carve,
    classes_around,
    instances_of,
)
from refute.function.scenarios.described import Described, Signature, misfits
from refute.function.scenarios.observation import LIMITS, Observation
from refute.function.scenarios.proposing import Proposal, Proposer, Target
from refute.function.scenarios.sessions import TestFile
from refute.function.scenarios.shrinking import shrink
from refute.sandbox import Limits

Used = tuple[list[Scenario], dict[str, tuple[Piece, ...]]]
"""Scenarios of a callable, and expressions for instances of the classes that it wants."""


@dataclass(slots=True)
class Usage:
    """Reads what it is asked for, and keeps it; nothing is executed."""

    tree: Tree
    _tests: dict[str, TestIndex] = field(default_factory=dict)
    _read: dict[str, TestFile] = field(default_factory=dict)

    def of(self, module: Module, name: str, described: Described) -> Used:
        """Return the uses of ``module:name`` in the tests and docstrings of the tree."""
        classes = classes_around(module.name, name, described)
        names = [name, *(place.partition(":")[2] for place in classes)]
        top = module.name.partition(".")[0]
        if top not in self._tests:
            self._tests[top] = TestIndex(self.tree.root, top)
        files = self._tests[top].find(module.name, names)
        target = f"{module.name}:{name}"
        wanted = [target, *classes]
        found = carve(files, wanted, module=module.name, text=module.text, known=self._read)
        return list(found[target]), instances_of(classes, found)

    def written(
        self, module: Module, name: str, files: Sequence[tuple[str, str]]
    ) -> list[Scenario]:
        """Calls of ``module:name`` in test files that are no part of the project: (name, text)."""
        target = f"{module.name}:{name}"
        return carve(files, [target], module=module.name, text=module.text)[target]


BATCH = 16
"""Scenarios in the first round; then more or fewer, so that a round takes about half a second."""
QUIET_ONCE_FOUND = 96
"""As `QUIET`, where a difference on fitting arguments is known."""
_MOST_TRIED = 8
_MOST_LINES = 500
"""Lines of the function that are watched, so that inputs that come further are built upon."""
_CONFIRMED = replace(LIMITS, seed=1)
_PATIENT = replace(LIMITS, cpu=2.0)
_RANK: Sequence[Kind] = ("exception", "value", "effect", "output", "end", "type", "message")
"""The kinds, what a reviewer wants to see first at the front."""
_WEAK = ("type", "message")
"""Kinds that are shown only if no other was found."""


def compare_function(
    function: ChangedFunction,
    entries: Iterable[Entry],
    sides: Sides,
    settings: Settings,
    usage: Usage | None = None,
) -> Comparison:
    """Compare both revisions of a changed function by calling `entries` in order, until one shows
    something. `usage`: how the revision after is used by its tests. Raises `SandboxUnavailable`."""
    start = time.monotonic()
    best: Comparison | None = None
    for number, entry in enumerate(entries):
        left = settings.seconds - (time.monotonic() - start)
        if number and left < 0.5:
            break
        share = max(1.0, left * (0.5 if entry.caller else 0.8))
        search = Search(function, entry, sides, replace(settings, seconds=share))
        found = search.run(usage)
        if best is None or _weight(found) > _weight(best):
            best = found
        if found.differences or (found.ran and not (found.missed_before or found.missed_after)):
            break
    if best is None:
        best = Comparison(function, reason="nothing public reaches it")
    return replace(best, seconds=time.monotonic() - start)


def _weight(one: Comparison) -> tuple[int, int, int]:
    return len(one.differences), sum(one.reached), one.ran


@dataclass(slots=True)
class Search:
    """One function, looked at by calling one entry."""

    function: ChangedFunction
    entry: Entry
    sides: Sides
    settings: Settings
    ran: int = 0
    hit: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    groups: dict[tuple[Kind, frozenset[int], frozenset[int]], Difference] = field(
        default_factory=dict
    )
    signature: Signature | None = None
    """Signature after the change."""
    tried: dict[tuple[str, str, str, frozenset[int]], Tried] = field(default_factory=dict)
    """One scenario of each outcome."""

    @classmethod
    def resumed(cls, done: Comparison, entry: Entry, sides: Sides, settings: Settings) -> Search:
        """Return a search that resumes from an earlier result."""
        function = done.function
        hit = (
            set(function.lines_before) - set(done.missed_before),
            set(function.lines_after) - set(done.missed_after),
        )
        groups = {(d.kind, d.lines_before, d.lines_after): d for d in done.differences}
        return cls(function, entry, sides, settings, done.ran, hit, groups)

    def is_open(self) -> bool:
        """Return whether both sides have the entry, so that scenarios can be given."""
        before, after = self._described()
        if isinstance(before, str) or isinstance(after, str):
            return False
        self.signature = after.names.get(self.entry.called_after)
        return self.signature is not None and self.entry.called_before in before.names

    def given(self, scenarios: Sequence[Scenario]) -> list[Tried]:
        """Run scenarios that somebody wrote, once it is open; what each showed."""
        before, after = self._observe(scenarios)
        self._weigh(scenarios, before, after)
        pairs = map(self._narrowed, before, after)
        return [Tried(one, *pair) for one, pair in zip(scenarios, pairs, strict=True)]

    def conclude(self) -> Comparison:
        """Return the result so far, with its differences shrunk."""
        shown = self._shown()
        reason = "" if self.ran else "no call that was tried comes to an end"
        return self._done(shown, reason)

    def run(self, usage: Usage | None) -> Comparison:
        """Look for differences until the time is over or it is enough."""
        described = self._described()
        used: Used = ([], {})
        if usage is not None and isinstance(described[1], Described):
            used = usage.of(self.entry.after, self.entry.called_after, described[1])
        proposers: list[Proposer] = []
        problems = []
        for one, module, name, side in (
            (described[1], self.entry.after, self.entry.called_after, self.sides.after),
            (described[0], self.entry.before, self.entry.called_before, self.sides.before),
        ):
            made = self._proposer(one, module, name, side, used)
            used = ([], used[1])  # what is known runs on both sides, once
            if isinstance(made, str):
                problems.append(f"{side.tree.label}: {made}")
            else:
                proposers.append(made)
        if len(problems) == 1 and _is_broken(problems[0]):
            return replace(self._done(), broken=problems[0])
        if problems:
            return self._done(reason="; ".join(problems))
        self.signature = proposers[0].target.signature
        self._explore(proposers)
        return self.conclude()

    def _described(self) -> tuple[Described | str, Described | str]:
        """Return the description of the entry's module, or the problem with it, on both sides."""
        entry, sides = self.entry, self.sides
        return sides.both(
            lambda: sides.before.describe(entry.before, [entry.called_before]),
            lambda: sides.after.describe(entry.after, [entry.called_after]),
        )

    def _proposer(
        self, described: Described | str, module: Module, name: str, side: Side, used: Used
    ) -> Proposer | str:
        if isinstance(described, str):
            return described
        if name not in described.names:
            return described.problems.get(name, "is not there once the module is loaded")
        target = Target(module.name, name, described.names[name], module.text)
        known, instances = used
        seed = self.settings.seed
        return Proposer(target, described, side.read, known, seed, instances=instances)

    def _explore(self, proposers: Sequence[Proposer]) -> None:
        end = time.monotonic() + self.settings.seconds * 0.7  # the rest is for a second look
        left, quiet, turn, size = self.settings.most, 0, 0, BATCH
        idle: set[int] = set()
        while left > 0 and time.monotonic() < end and len(idle) < len(proposers):
            at = turn % len(proposers)
            turn += 1
            start = time.monotonic()
            proposals = proposers[at].batch(min(size, left))
            if not proposals:
                idle.add(at)
                continue
            idle.discard(at)
            left -= len(proposals)
            news = self._round(proposals, proposers[at])
            if not self.settings.steady:
                size = _next_size(size, time.monotonic() - start)
            quiet = 0 if news else quiet + len(proposals)
            enough = QUIET_ONCE_FOUND if self._plain() else QUIET
            if quiet >= enough and not any(self._missed()):
                break

    def _plain(self) -> bool:
        """Return whether a strong difference on fitting arguments is known."""
        return any(one.kind not in _WEAK and not self._misfits(one) for one in self.groups.values())

    def _misfits(self, one: Difference) -> int:
        return misfits(one.scenario, self.signature) if self.signature is not None else 0

    def _fitting(self, scenario: Scenario, one: Difference) -> bool:
        """Return whether its arguments fit no worse than those of a difference."""
        return self.signature is None or misfits(scenario, self.signature) <= self._misfits(one)

    def _round(self, proposals: Sequence[Proposal], proposer: Proposer) -> bool:
        """Run a batch on both sides; whether it showed a line or a kind of difference anew."""
        scenarios = [one.scenario for one in proposals]
        before, after = self._observe(scenarios)
        for proposal, old, new in zip(proposals, before, after, strict=True):
            proposer.learn(proposal, new if new.answered or not old.answered else old)
        return self._weigh(scenarios, before, after)

    def _weigh(
        self, scenarios: Sequence[Scenario], before: list[Observation], after: list[Observation]
    ) -> bool:
        """Take what scenarios showed into account; whether a line or a kind of difference is new"""
        news = False
        suspects: list[tuple[Scenario, Kind]] = []
        for scenario, seen_before, seen_after in zip(scenarios, before, after, strict=True):
            old, new = self._narrowed(seen_before, seen_after)
            if len(self.tried) < _MOST_TRIED:
                outcome = old.kind, old.error, new.error, old.lines | new.lines
                self.tried.setdefault(outcome, Tried(scenario, old, new))
            if old.answered and new.answered:
                self.ran += old.comparable and new.comparable
                news = news or not (old.lines <= self.hit[0] and new.lines <= self.hit[1])
                self.hit[0].update(old.lines)
                self.hit[1].update(new.lines)
            kind = kind_of_difference(old, new)
            known = self.groups.get((kind, old.lines, new.lines)) if kind else None
            if kind is None or (known is not None and not self._betters(scenario, known)):
                continue
            if self.entry.caller and not (old.lines or new.lines):
                continue  # not the function's doing
            if not any(kind == other for _, other in suspects) or len(suspects) < 4:
                suspects.append((scenario, kind))
        for scenario, kind in suspects[:4]:
            news = self._confirm(scenario, kind) or news
        return news

    def _betters(self, scenario: Scenario, known: Difference) -> bool:
        """Return whether the arguments fit where those of the known difference do not."""
        fits = self.signature is not None and not misfits(scenario, self.signature)
        return fits and self._misfits(known) > 0

    def _narrowed(self, before: Observation, after: Observation) -> tuple[Observation, Observation]:
        """The observations with no lines but the changed ones."""
        old, new = self.function.lines_before, self.function.lines_after
        return (
            replace(before, lines=before.lines.intersection(old)),
            replace(after, lines=after.lines.intersection(new)),
        )

    def _observe(
        self, scenarios: Sequence[Scenario], limits: Limits = LIMITS
    ) -> tuple[list[Observation], list[Observation]]:
        entry, function, sides = self.entry, self.function, self.sides

        def before() -> list[Observation]:
            lines, file = _watched(entry.before, function.before, function.lines_before)
            name = entry.name_before
            return sides.before.observe(entry.before, name, scenarios, lines, file, limits)

        def after() -> list[Observation]:
            lines, file = _watched(entry.after, function.after, function.lines_after)
            return sides.after.observe(
                entry.after, entry.name_after, scenarios, lines, file, limits
            )

        return sides.both(before, after)

    def _confirm(self, scenario: Scenario, kind: Kind) -> bool:
        """Look again, alone and with other hashes; whether the difference stands and is new."""
        before, after = self._once(scenario, _PATIENT if kind == "end" else LIMITS)
        found = kind_of_difference(before, after)
        if found is None:
            return False
        key = (found, before.lines, after.lines)
        if key in self.groups and not self._betters(scenario, self.groups[key]):
            return False
        seen = self._again(scenario, found, before, after)
        if seen is None:
            return False
        self.groups[key] = Difference(scenario, found, *seen, before.lines, after.lines)
        return True

    def _again(
        self, scenario: Scenario, kind: Kind, before: Observation, after: Observation
    ) -> tuple[Observation, Observation] | None:
        """Return what both sides show again, with other hash seeds and in a process that made the
        call before. None if the difference is gone: a counter in the process made it."""
        if kind == "end":
            old, new = self._once(scenario, _PATIENT)
            same = is_stable(before, old) and is_stable(after, new)
            return (before, after) if same and kind_of_difference(old, new) == kind else None
        for old, new in zip(*self._observe([scenario, scenario], _CONFIRMED), strict=True):
            one, other = steady(before, old), steady(after, new)
            if one is None or other is None or kind_of_difference(one, other) != kind:
                return None
            before, after = one, other
        return before, after

    def _once(self, scenario: Scenario, limits: Limits) -> tuple[Observation, Observation]:
        """Both sides' observation of one scenario, with the changed lines alone."""
        [before], [after] = self._observe([scenario], limits)
        return self._narrowed(before, after)

    # -- what is shown -----------------------------------------------------------------------------

    def _shown(self) -> tuple[Difference, ...]:
        """The groups' representatives, plainest first, made small."""
        found = sorted(
            self.groups.values(),
            key=lambda one: (self._misfits(one), *_strength(one), len(one.scenario.source)),
        )
        if found and found[0].kind not in _WEAK:
            found = [one for one in found if one.kind not in _WEAK]
        kept: dict[str, Difference] = {}
        for one in found:
            if len(kept) == MOST_SHOWN:
                break
            small = self._shrunk(one)
            if small is not None:
                kept.setdefault(small.scenario.source, small)
        return tuple(kept.values())

    def _shrunk(self, one: Difference) -> Difference | None:
        errors = (one.before.kind, one.before.error, one.after.kind, one.after.error)

        def keeps(scenarios: Sequence[Scenario]) -> list[bool]:
            before, after = self._observe(scenarios)
            return [
                kind_of_difference(old, new) == one.kind
                and (old.kind, old.error, new.kind, new.error) == errors
                and self._fitting(scenario, one)
                for scenario, old, new in zip(scenarios, before, after, strict=True)
            ]

        if one.kind == "end":
            return one
        small = shrink(one.scenario, keeps, seconds=max(0.5, self.settings.seconds * 0.3))
        before, after = self._once(small, LIMITS)
        kind = kind_of_difference(before, after)
        seen = None if kind is None else self._again(small, kind, before, after)
        if kind is None or seen is None:
            return one if small.source != one.scenario.source else None
        return Difference(small, kind, *seen, before.lines, after.lines)

    def _missed(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        old = tuple(n for n in self.function.lines_before if n not in self.hit[0])
        new = tuple(n for n in self.function.lines_after if n not in self.hit[1])
        return old, new

    def _done(self, shown: tuple[Difference, ...] = (), reason: str = "") -> Comparison:
        missed = self._missed()
        return Comparison(
            self.function,
            shown,
            others=max(0, len(self.groups) - len(shown)),
            ran=self.ran,
            tried=tuple(self.tried.values()),
            reached=(len(self.hit[0]), len(self.hit[1])),
            missed_before=missed[0],
            missed_after=missed[1],
            entry=self.entry,
            reason=reason,
        )


def _strength(one: Difference) -> tuple[bool, int]:
    """Smaller is stronger. That one side cannot do with an argument says little where nothing tells
    what is meant to be given: a plain value shows more."""
    misused = one.kind == "exception" and not {one.before.error, one.after.error}.isdisjoint(
        WRONG_KIND
    )
    return misused, _RANK.index(one.kind)


def _next_size(size: int, seconds: float) -> int:
    """Of the round after one of `size` scenarios that took so long."""
    if seconds > 1:
        return max(4, size // 2)
    return min(4 * BATCH, 2 * size) if seconds < 0.3 else size


def _watched(module: Module, place: Place, changed: Sequence[int]) -> tuple[tuple[int, ...], str]:
    """The lines of a function that are watched, and its file: the changed ones and, where the
    function is of the module itself, all others."""
    found = module.found.functions.get(place.qualname) if module.path == place.file else None
    lines = set(changed)
    for node in found.nodes if found is not None else ():
        lines |= set(range(node.lineno, min(node.end_lineno or 0, node.lineno + _MOST_LINES) + 1))
    return tuple(sorted(lines)), place.file


def _is_broken(problem: str) -> bool:
    """Return whether the code itself fails to load, and no dependency is missing."""
    missing = "ModuleNotFoundError", "ImportError", "in time", "cannot be read"
    return "cannot be imported: " in problem and not any(word in problem for word in missing)
