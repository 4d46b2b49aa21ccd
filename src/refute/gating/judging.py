"""The verdict on a change that claims to be done, with what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from refute.core.methods import Bounds
from refute.diffing.changes import ChangedFunction, changed
from refute.diffing.comparison import Settings as Looking
from refute.diffing.revisions import open_revisions
from refute.errors import RefuteError
from refute.gating.change import Change
from refute.gating.evidence import Evidence, found_by_running, gathered
from refute.gating.reading import Reading
from refute.gating.running import ASKED, RULES, Finding, GateVerdict, Rule, Standing
from refute.sandbox.pool import end_after
from refute.workspace.contract import Workspace

if TYPE_CHECKING:
    from refute.diffing.service import Diffed
    from refute.issue.vet import Vetted

_SECONDS = 2.0
"""For what one function does."""
_OF_TESTS: frozenset[Rule] = frozenset(
    {"green-now", "no-regression", "no-test-lost", "no-skip", "not-weakened", "expected-said"}
)
"""Rules whose findings are of a test: the verdict names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Rules to apply, and limits."""

    rules: frozenset[Rule] = frozenset(RULES) - ASKED
    tests: tuple[str, ...] = ()
    """Test files or ids that are run besides."""
    neighbours: int = 5
    """Existing test files near the change that are run."""
    timeout: float = 300.0
    """Seconds for one run of tests."""
    behaviour: bool = True
    """True to look for what else the change does."""
    behaviour_seconds: float = 30.0
    """For that look in all, reading included; the tests have their own time."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict."""

    verdict: GateVerdict
    reason: str
    """One line for people."""
    base: str
    head: str
    findings: tuple[Finding, ...] = ()
    turned: tuple[Standing, ...] = ()
    """Tests that were red before and are green now."""
    tests: tuple[Standing, ...] = ()
    """All tests of the files that the change adds or changes."""
    near: tuple[str, ...] = ()
    """Other test files that were run on both sides."""
    kept: int = 0
    """Tests as they were that pass on the new code."""
    issue: Vetted | None = None
    """Verdict of the issue's own tests."""
    issue_tests: str = ""
    """That test, as a patch."""
    behaviour: Diffed | str | None = None
    """Effects of the change on functions, or the reason that they are unknown; None: not asked."""
    notes: tuple[str, ...] = ()


def judge(
    change: Change, settings: Settings, *, about: str = "", issue_tests: str | None = None
) -> Judged:
    """Judge a change by its tests, by those near it, and by what it does.

    `about`: what it is for. `issue_tests`: a test patch that reproduces the issue, which the change
    does not know; "": none could be written; None: there is no issue. Raises `Unavailable`.
    """
    labels = change.base_label, change.head_label
    nothing = not (change.changes_code or change.tests.strip() or change.runner.strip())
    unseen = [f"submodule {path} has changes that are not looked at" for path in change.submodules]
    if nothing and issue_tests is None:
        if unseen and "nothing-else" in settings.rules:
            found = tuple(map(partial(Finding, "nothing-else"), change.submodules, unseen))
            return Judged("not proven", "; ".join(unseen), *labels, found)
        told = "no Python code and no test differs" if change.patch.strip() else "nothing differs"
        return Judged("nothing to prove", "; ".join((told, *unseen)), *labels)
    if not change.patch.strip():
        finding = Finding("red-first", change.head_label, "nothing differs: the issue is as it was")
        return Judged("not proven", finding.what, *labels, (finding,))
    spec = change.base if change.is_working_tree else f"{change.base}..{change.head}"
    with open_revisions(change.root, spec) as revisions:
        revisions = replace(revisions, before=replace(revisions.before, label=change.base_label))
        reading = Reading(change, changed(revisions), about)
        with change.workspace() as workspace:
            evidence, vetted, findings, notes = _looked_at(
                change, reading, workspace, settings, issue_tests
            )
        looked: Diffed | str | None = None
        others = partial(_is_other, evidence)
        differing = reading.changes.functions
        # what no finding can come of is not looked at: that takes as long as two runs of tests
        asked = settings.behaviour and change.changes_code
        if asked and (not differing or any(map(others, differing))):
            from refute.diffing.service import compare

            interpreter = change.recipe.interpreter
            python = None if interpreter is None else Path(interpreter)
            try:
                looking = Looking(seconds=_SECONDS, end=end_after(settings.behaviour_seconds))
                looked = compare(
                    revisions, looking, python=python, about=about, jobs=1, chosen=others
                )
                findings += _unmentioned(looked)
            except RefuteError as error:
                looked = " ".join(str(error).split())
    notes += unseen
    return _concluded(
        change, settings, evidence, vetted, issue_tests or "", findings, notes, looked
    )


def _looked_at(
    change: Change, reading: Reading, workspace: Workspace, settings: Settings,
    issue_tests: str | None,
) -> tuple[Evidence, Vetted | None, list[Finding], list[str]]:  # fmt: skip
    """Everything but behaviour."""
    evidence = gathered(
        change, workspace, also=settings.tests, neighbours=settings.neighbours,
        timeout=settings.timeout,
    )  # fmt: skip
    notes: list[str] = []
    evidence, shown = found_by_running(change, reading, workspace, evidence, notes)
    vetted = None
    if issue_tests is not None:
        vetted = _vetted(change, workspace, issue_tests, settings, shown, notes)
    shown += _red_first(change, evidence, vetted, issue_tests is not None)
    return evidence, vetted, shown, notes


def _vetted(
    change: Change, workspace: Workspace, tests: str, settings: Settings,
    findings: list[Finding], notes: list[str],
) -> Vetted | None:  # fmt: skip
    """Run a test of the issue itself on the code of the change."""
    if not tests.strip():
        notes.append("no test of the issue's own could be written: only the change's tests speak")
        return None
    from refute.issue.vet import vet_fix

    bounds = Bounds(test_seconds=settings.timeout)
    vetted = vet_fix(change.code, tests, workspace, bounds, most_neighbours=0)
    if vetted.verdict == "not fixed":
        still = vetted.still_failing[0]
        said = "" if still.failure is None else f": {still.failure.type}: {still.failure.message}"
        what = f"a test of the issue's own fails as before{said}"
        findings.append(Finding("issue-fixed", still.id, what.partition("\n")[0], shown=True))
    elif vetted.verdict != "fixed":
        notes.append(f"of the issue itself nothing can be told: {vetted.reason}")
    return vetted


def _red_first(
    change: Change, evidence: Evidence, vetted: Vetted | None, has_issue: bool
) -> list[Finding]:
    if evidence.found.tests or (vetted is not None and vetted.verdict == "fixed"):
        return []
    if not change.changes_code:
        if not has_issue:
            return []
        return [Finding("red-first", change.head_label, "no code is changed: only tests are")]
    if not evidence.tests:
        what = "no test of the change was red on the old code: none was added or changed"
    elif any(one.turn == "red to green" for one in evidence.tests):
        what = "the tests that were red on the old code do not count: see the other findings"
    elif all(one.turn == "green before" for one in evidence.tests):
        what = "no test of the change fails on the old code: all pass with and without the change"
    elif any(one.turn == "red now" for one in evidence.tests):
        what = "no test that failed on the old code passes now"
    else:
        what = "no test of the change fails on the old code and passes on the new"
    return [Finding("red-first", change.head_label, what, shown=True)]


def _is_other(evidence: Evidence, function: ChangedFunction) -> bool:
    """Return whether no turned test executes a changed function."""
    return (function.after.file, function.qualname) not in evidence.found.executed


def _unmentioned(looked: Diffed) -> list[Finding]:
    """Functions, of those that no turned test executes, that behave otherwise, and no word names
    them."""
    found = []
    for one in looked.functions:
        place = one.function.after
        if one.unexplained:
            what = f"{place.qualname} behaves otherwise, and no test and no word is about it"
            shown = next(iter(one.comparison.differences), None)
            if shown is not None:
                what += f": {shown.scenario.source.strip().splitlines()[-1]}"
            elif one.comparison.broken:
                what += f": {one.comparison.broken}"
            found.append(Finding("nothing-else", f"{place.file}:{place.line}", what, shown=True))
    return found


def _concluded(
    change: Change, settings: Settings, evidence: Evidence, vetted: Vetted | None, tests: str,
    findings: Sequence[Finding], notes: list[str], looked: Diffed | str | None,
) -> Judged:  # fmt: skip
    order = list(RULES)
    kept = [one for one in dict.fromkeys(findings) if one.rule in settings.rules]
    kept.sort(key=lambda one: order.index(one.rule))
    asked = ASKED - settings.rules
    notes += dict.fromkeys(f"{one.where}: {one.what}" for one in findings if one.rule in asked)
    by_issue = vetted is not None and vetted.verdict == "fixed"
    verdict: GateVerdict
    if kept:
        verdict, reason = "not proven", kept[0].what
        if kept[0].rule in _OF_TESTS and kept[0].where not in reason:
            reason = f"{kept[0].where}: {reason}"
        if len(kept) > 1:
            reason += f" (and {len(kept) - 1} more)"
    elif not change.changes_code:
        verdict, reason = "nothing to prove", "no code is changed; the tests that are pass"
    elif evidence.found.tests or by_issue:
        many = len(evidence.found.tests)
        verdict = "proven"
        counted = "1 test" if many == 1 else f"{many} tests"
        reason = f"{counted} failed on the old code, and {'passes' if many == 1 else 'pass'} now"
        if not evidence.found.tests:
            reason = "a test of the issue's own failed on the old code and passes now"
            notes.append("the change brings no such test itself: add the issue's")
    else:
        verdict, reason = "nothing against it", "no rule is broken; nothing was red before"
    passing = sum(one.outcome == "passed" for one in evidence.kept.results)
    return Judged(
        verdict, reason, change.base_label, change.head_label, tuple(kept), evidence.found.tests,
        evidence.tests, evidence.near, passing, vetted, tests, looked, tuple(notes),
    )  # fmt: skip
