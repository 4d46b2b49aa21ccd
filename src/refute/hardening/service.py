"""From what changed to the tests that it lacks: mutants, the project's tests on them, inputs for
those that live, and a test for each that is worth one."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from refute.core.remarks import remark
from refute.diffing.pinning import put_into_project
from refute.errors import InputError, reason_to_skip
from refute.function.interpreters import interpreter_of
from refute.hardening.killing import Input, Killer
from refute.hardening.mutants import Mutant, mutants_of, sampled
from refute.hardening.offering import Offer, as_offer, chosen, confirmed
from refute.hardening.subject import Subject, open_subject
from refute.hardening.testing import Fate, Trial, run_on_mutants
from refute.workspace.contract import Workspace
from refute.workspace.factory import Checkout, in_checkout

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
    """How much is done."""

    budget: float = 60.0
    """Seconds for all of it; the runs that confirm what is offered are not cut short by it."""
    most: int = 5
    """Tests that are offered."""
    seed: int = 0
    jobs: int = 1
    """Mutants that are run at once."""


@dataclass(slots=True)
class Hardened:
    """What came of it."""

    root: Path
    """Of the checkout."""
    functions: int = 0
    mutants: list[Mutant] = field(default_factory=list)
    possible: int = 0
    """How many mutants there were to draw from."""
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
        """How many mutants there are of each state."""
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

    Nothing in the checkout is changed. `say` is told in a line what is being done. Ctrl-C ends it
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
    offers = (
        as_offer(one, kills[one], one.mutant in unreached, subject.tree.root) for one in inputs
    )
    return [one for one in offers if one is not None]


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
