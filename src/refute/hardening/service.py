"""Tests that a change lacks: mutants, the project's tests on them, inputs for those that live, and
a test for each that deserves one."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from refute.core.remarks import remark
from refute.diffing.definitions import definitions
from refute.diffing.pinning import PinnedTest, pinned_test, put_into_project
from refute.errors import InputError, reason_to_skip
from refute.function.scenarios.placing import place_test
from refute.function.target import interpreter_of
from refute.hardening.killing import Input, Killer, Subject, open_subject
from refute.hardening.mutants import Mutant, mutants_of, sampled
from refute.hardening.testing import Fate, Trial, asked_by, run_on_mutants
from refute.source.syntax import readable_module
from refute.workspace.contract import TestSelection, Workspace
from refute.workspace.factory import Checkout, in_checkout
from refute.workspace.running import FAILING

COMMENT = "what the code does today; nobody has said that it is right"
MOST_AGAIN = 60
"""Of the project's tests that reach a mutant, so many are run on it once more, from its file."""
_LOOK_SECONDS = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A test that pins what the code does today, and the mutants that it kills."""

    test: PinnedTest
    input: Input
    kills: tuple[Mutant, ...]
    """The one that it was found for first."""
    covers: bool
    """True: it executes a statement that none of the project's tests near does."""


def chosen(offers: Sequence[Offer], most: int) -> list[Offer]:
    """At most so many tests, each of which kills a mutant that those before it do not: those that
    execute what no test does first, then those that kill most, then the shortest."""
    left = list(offers)
    dead: set[Mutant] = set()
    found: list[Offer] = []
    while left and len(found) < most:
        best = min(left, key=lambda one: _order(one, dead))
        if dead.issuperset(best.kills):
            break
        found.append(best)
        dead.update(best.kills)
        left.remove(best)
    return found


def _order(one: Offer, dead: set[Mutant]) -> tuple[bool, bool, int, int]:
    news = sum(mutant not in dead for mutant in one.kills)
    return not news, not one.covers, -news, len(one.input.difference.scenario.source)


def confirmed(
    offers: Sequence[Offer],
    most: int,
    reaching: Mapping[Mutant, tuple[str, ...]],
    workspace: Workspace,
    root: Path,
    dropped: Counter[str],
) -> list[Offer]:
    """The first `most` offers that hold in a workspace, put there among the project's tests.

    They pass on the code, ask no clock, and each fails on its mutant, on which the project's own
    tests that reach it (`reaching`) pass. `dropped` counts the others, by the reason. The workspace
    is as the checkout, and is left with the tests in it. Raises `WorkspaceUnavailable`.
    """
    if not offers:
        return []
    names = _put(offers, workspace, root)
    ids = [id for one in names for id in one]
    asked = asked_by(workspace, ids) if ids else {}
    kept: list[Offer] = []
    for offer, own in zip(offers, names, strict=True):
        if len(kept) == most:
            break
        if not own or not asked.keys() >= set(own):
            dropped["does not pass in the project's own runner"] += 1
        elif any(asked[id] for id in own):
            dropped["depends on the clock, the process or the machine"] += 1
        else:
            why = _is_red(offer, own, reaching.get(offer.input.mutant, ()), workspace)
            if why:
                dropped[why] += 1
            else:
                kept.append(offer)
    return kept


def _is_red(offer: Offer, own: Sequence[str], reaching: Sequence[str], workspace: Workspace) -> str:
    """Return why a test fails to tell its mutant from the code; "" where it succeeds. The tests
    stand in the workspace already."""
    mutant = offer.input.mutant
    before = workspace.read(mutant.file)
    try:
        workspace.write(mutant.file, mutant.text.encode())
        tests = (*own, *reaching[:MOST_AGAIN])
        report = workspace.run_tests(TestSelection(tests=tests), timeout=_LOOK_SECONDS)
    finally:
        workspace.write(mutant.file, before)
    if report.status != "finished" or not report.trusted:
        return "its run on the mutant did not end"
    failed = {one.id: one.phase for one in report.results if one.outcome in FAILING}
    if failed.keys() - set(own):
        return "the project's tests kill its mutant after all"
    return "" if any(failed.get(id) == "call" for id in own) else "does not fail on its mutant"


def _put(offers: Sequence[Offer], workspace: Workspace, root: Path) -> list[list[str]]:
    """Put the tests among the project's, in the workspace; of each its ids for pytest."""
    names: list[list[str]] = []
    for count in range(1, len(offers) + 1):
        known = {path: _tests_in(path, root, text) for path, text in _files(offers[: count - 1])}
        new: list[str] = []
        for path, text in _files(offers[:count]):
            had = known[path] if path in known else _tests_in(path, root, _read(path))
            new += [id for id in _tests_in(path, root, text) if id not in had]
        names.append(new)
    for path, text in _files(offers):
        workspace.write(path.relative_to(root).as_posix(), text.encode())
    return names


def _files(offers: Sequence[Offer]) -> list[tuple[Path, str]]:
    return list(put_into_project(offer.test for offer in offers).items())


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _tests_in(path: Path, root: Path, text: str) -> list[str]:
    """Ids of the tests of a file, as pytest gives them."""
    file = path.relative_to(root).as_posix()
    names = [name.split(".") for name in definitions(readable_module(text), "").functions]
    return ["::".join((file, *name)) for name in names if name[-1].startswith("test")]


MOST_MUTANTS = 200
MOST_FILES = 30
"""Test files that are run, the nearest."""
_TESTS, _SEARCH = 0.5, 0.85
"""Shares of the budget after which no mutant is run on, and no input looked for, any more."""
_RESERVE = 2
"""Tests beyond those that are offered, for those that do not hold."""
_SECONDS = 3.0
"""For one mutant's input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits of the work."""

    budget: float = 60.0
    """Seconds for all of it; the runs that confirm what is offered are not cut short by it."""
    most: int = 5
    """Tests that are offered."""
    seed: int = 0
    jobs: int = 1
    """Mutants that are run at once."""


@dataclass(slots=True)
class Hardened:
    """Result of hardening."""

    root: Path
    """Of the checkout."""
    functions: int = 0
    mutants: list[Mutant] = field(default_factory=list)
    possible: int = 0
    """Number of mutants to draw from."""
    fates: list[Fate] = field(default_factory=list)
    """One for each mutant."""
    test_files: tuple[str, ...] = ()
    trial: Trial = field(default_factory=Trial)
    offers: list[Offer] = field(default_factory=list)
    tried: int = 0
    """Mutants that live for which an input was looked for, or that a test kills."""
    alike: int = 0
    """Of these, mutants of which no input was found that differs."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Tests that were found and not offered, by the reason."""
    interrupted: bool = False

    @property
    def counts(self) -> Counter[str]:
        """Count the mutants of each state."""
        return Counter(one.state for one in self.fates)

    @property
    def living(self) -> list[Mutant]:
        """Mutants that no test kills, first those that no test reaches; another constant last,
        which matters least."""
        both = zip(self.mutants, self.fates, strict=True)
        found = [(m, fate.state) for m, fate in both if fate.state in ("unreached", "survived")]
        found.sort(key=lambda one: (one[1] == "survived", one[0].edit.operator == "CRP"))
        return [mutant for mutant, _ in found]

    @property
    def score(self) -> float | None:
        """The share of mutants that the tests kill, of those that were run or that no test
        reaches; one that never ends is noticed. None where there are none."""
        counts = self.counts
        noticed = counts["killed"] + counts["timeout"]
        total = noticed + counts["survived"] + counts["unreached"]
        return noticed / total if total else None

    def files(self) -> dict[Path, str]:
        """The project's files of tests with the offered ones in them."""
        return put_into_project(one.test for one in self.offers)


def harden(
    targets: Sequence[str],
    *,
    since: str | None,
    repo: Path,
    python: Path | None = None,
    settings: Settings,
    say: Callable[[str], None] = lambda text: None,
) -> Hardened:
    """Mutants of the subject that its project's tests do not kill, and tests that kill them.

    Nothing in the checkout is changed. `say` receives a line about each step. Ctrl-C ends it
    with what is known by then. Raises `InputError`, `Unavailable`.
    """
    start = time.monotonic()
    end = start + settings.budget
    with open_subject(targets, since, repo, end) as subject:
        root = subject.tree.root
        hardened = Hardened(root, len(subject.parts))
        everything: list[Mutant] = []
        for place, part in enumerate(subject.parts):
            if time.monotonic() > end:
                remark([f"no time was left for {len(subject.parts) - place} functions"])
                break
            try:
                everything += mutants_of(part.module, part.definition, part.lines)
            except Exception as error:
                name = f"{part.module.path}::{part.definition.qualname}"
                remark([f"{name}: not looked at: {reason_to_skip(error)}"])
        hardened.possible = len(everything)
        hardened.mutants = sampled(everything, MOST_MUTANTS, settings.seed, end)
        if not hardened.mutants:
            return hardened
        hardened.test_files = subject.tests(MOST_FILES)
        checkout = Checkout(root, python, "pytest")
        spawn = in_checkout(checkout, "")[1]
        with spawn() as workspace:
            try:
                _run_tests(hardened, subject, workspace, settings, start, say)
                with Killer(subject, interpreter_of(root, python), settings.seed) as killer:
                    found = _look_for_inputs(hardened, subject, killer, settings, start, say)
                    steady = _steady(found, killer, hardened, settings)
                say("running the tests that were found")
                workspace.reset()
                _offer(steady, hardened, workspace, settings)
            except KeyboardInterrupt:
                hardened.interrupted = True
        return hardened


def _run_tests(
    hardened: Hardened, subject: Subject, workspace: Workspace, settings: Settings, start: float,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    mutants = hardened.mutants
    hardened.fates = [Fate("unreached") for _ in mutants]
    if not hardened.test_files:
        return
    say(f"running the project's tests on {len(mutants)} mutants")
    seconds = max(5.0, _TESTS * settings.budget - (time.monotonic() - start))
    trial = run_on_mutants(
        workspace, hardened.test_files, mutants, seconds=seconds, jobs=settings.jobs
    )
    if not trial.tests:
        raise InputError(
            f"the project's tests near the change do not run with pytest: {trial.reason}; "
            "--python names another interpreter"
        )
    hardened.trial = trial
    hardened.fates = [trial.fates[place] for place in range(len(mutants))]
    texts = [subject.text(file) for file in trial.broken]
    for place, mutant in enumerate(mutants):
        word = re.compile(rf"\b{re.escape(mutant.qualname.rpartition('.')[2])}\b")
        if hardened.fates[place].state == "unreached" and any(map(word.search, texts)):
            hardened.fates[place] = Fate("not run")


def _look_for_inputs(
    hardened: Hardened, subject: Subject, killer: Killer, settings: Settings, start: float,
    say: Callable[[str], None],
) -> list[Offer]:  # fmt: skip
    """A test for each mutant that lives, where an input tells it; one that tells an earlier one is
    taken first. As long as there is time."""
    end = start + _SEARCH * settings.budget
    living = hardened.living
    unreached = {m for m, fate in zip(hardened.mutants, hardened.fates, strict=True)
                 if fate.state == "unreached"}  # fmt: skip
    inputs: list[Input] = []
    kills: dict[Input, list[Mutant]] = {}
    for place, mutant in enumerate(living):
        left = end - time.monotonic()
        if left < 1.0:
            break
        hardened.tried += 1
        say(f"looking for an input: {place + 1} of {len(living)} mutants that live")
        known = [one for one in inputs if killer.kills(one, mutant)]
        for one in known:
            kills[one].append(mutant)
        if known:
            continue
        new = killer.find(mutant, min(_SECONDS, left))[:1]
        hardened.alike += not new
        inputs += new
        for one in new:
            before = [other for other in living[:place] if killer.kills(one, other)]
            kills[one] = [mutant, *before]
    offers = list[Offer]()
    for one in inputs:
        where = place_test(subject.tree.root, one.entry.after.name, one.entry.name_after)
        test = pinned_test(one.entry, one.difference, "before", where, COMMENT)
        if test is not None:  # what the code does has a source
            offers.append(Offer(test, one, tuple(kills[one]), one.mutant in unreached))
    return offers


def _steady(
    offers: Sequence[Offer], killer: Killer, hardened: Hardened, settings: Settings
) -> list[Offer]:
    """The tests to offer, and a few in reserve, of which no run was ever another."""
    most = settings.most + _RESERVE
    found: list[Offer] = []
    left = list(offers)
    while left and len(found) < most:
        tried = chosen(left, most - len(found))
        steady = killer.steady([one.input for one in tried])
        found += [one for one in tried if one.input in steady]
        hardened.dropped["differs from run to run"] += len(tried) - len(steady)
        dead = {mutant for one in found for mutant in one.kills}
        left = [one for one in left if one not in tried and not dead.issuperset(one.kills)]
    hardened.dropped += Counter()  # without what is none
    return found


def _offer(
    offers: Sequence[Offer], hardened: Hardened, workspace: Workspace, settings: Settings
) -> None:
    reaching = dict(zip(hardened.mutants, (fate.tests for fate in hardened.fates), strict=True))
    where = workspace, hardened.root
    kept = confirmed(offers, settings.most, reaching, *where, hardened.dropped)
    hardened.offers = chosen(kept, settings.most)
