"""Verbs over changes: `reproduce`, `vet`, `diff` and `red_green`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.storage import ScratchFolder
from refute.diffing.differences import observed_source
from refute.errors import InputError
from refute.surfaces import arguments as given
from refute.surfaces import results as answers
from refute.surfaces.verbs.contract import (
    MOST,
    Answer,
    Tell,
    clipped,
    first,
)
from refute.verbs.diff import DiffOptions, diff
from refute.verbs.reproduce import ReproduceOptions, reproduce
from refute.verbs.vet import vet

if TYPE_CHECKING:
    from refute.diffing.service import Compared
    from refute.models.asking import Asked
    from refute.workspace.contract import Failure, TestResult

WITHIN = 0.9
"""Part of a call's time that a verb takes for itself: it ends before it is ended."""
_APPLIED = "where the checkout has the patch already, give the commit before it as `against`"
_LARGEST = 1 << 20
"""Bytes of a test file."""


def reproduce_issue(asked_for: Any, asked: Asked, tell: Tell) -> Answer:
    """`refute reproduce`."""
    from refute.results.text.issues import confidence_text

    with ScratchFolder() as scratch:
        limit = {"seconds": WITHIN * asked_for.time_limit}
        options = given.options_for(ReproduceOptions, asked_for, asked, Path(scratch), set=limit)
        if options.write:
            given.inside(options.repo)
        found = reproduce(options=replace(options, write=False), chosen=_reproducing(tell))
    one = found.found.prediction
    many = len(found.failing)
    summary = f"no test that fails for the issue's reason ({found.method})"
    if many:
        sure = confidence_text(one.confidence, found.method)
        summary = f"{many} test{'s' * (many > 1)} of the patch fail{'s' * (many == 1)} now; {sure}"
    result = answers.ReproduceIssueResult(
        found=bool(many),
        summary=summary,
        patch=one.patch,
        tests=[_outcome(test) for test in found.failing],
        confidence=one.confidence if one.patch else 0.0,
        method=found.method,
        notes=list(one.notes),
        written=list(found.write(options.repo)) if options.write else [],
    )
    return Answer(result, found)


def vet_patch(asked_for: given.VetPatch, asked: Asked, tell: Tell) -> Answer:
    """`refute vet`."""
    from refute.results.text.changes import summary_line

    tests = _test_patch(asked_for.tests, asked_for.repo)
    with ScratchFolder() as scratch:
        folder = Path(scratch)
        tell("judging the patch by tests, without it and with it")
        found = vet(
            given.text_file(folder, "patch", asked_for.patch),
            issue=given.text_file(folder, "issue", asked_for.issue),
            tests=given.text_file(folder, "tests", tests) if tests.strip() else None,
            neighbours=asked_for.neighbours,
            behaviour=asked_for.behaviour,
            against=asked_for.against or None,
            repo=asked_for.repo,
            python=asked_for.python or None,
            **given.models_of(asked, set={"seconds": WITHIN * asked_for.time_limit}),
        )
    changes, one = found.changes, found.vetted
    functions, behaviour = [], changes or ""
    if changes is not None and not isinstance(changes, str):
        functions = [_change(f) for f in changes.functions if f.comparison.differences]
        behaviour = summary_line(changes)
    result = answers.VetPatchResult(
        verdict=one.verdict,
        summary=f"{one.verdict}: {one.reason}",
        reproducing=[_outcome(test) for test in one.reproducing],
        still_failing=[_outcome(test) for test in one.still_failing],
        broken=[_outcome(test) for test in one.broken],
        neighbours=list(one.neighbours),
        tests=found.tests,
        method=found.method,
        confidence=found.reproduction.prediction.confidence if found.reproduction else None,
        behaviour=functions,
        behaviour_summary=str(behaviour),
        notes=[*one.notes, *((_APPLIED,) if one.verdict == "does not apply" else ())],
    )
    return Answer(result, found)


def compare_behaviour(asked_for: Any, asked: Asked, tell: Tell) -> Answer:
    """`refute diff`."""
    from refute.results.text.changes import summary_line

    with ScratchFolder() as scratch:
        options = given.options_for(DiffOptions, asked_for, asked, Path(scratch))
        found = diff(
            options=options,
            show=lambda one, done, total: tell(
                f"{done} of {total} functions, last {one.function.qualname}"
            ),
        )
    changes, functions = found.diffed.changes, [_change(one) for one in found.functions]
    result = answers.CompareBehaviourResult(
        summary=summary_line(found.diffed),
        unexplained=found.unexplained,
        functions=first(functions, lambda one: bool(one.differences)),
        unlisted=max(0, len(functions) - MOST),
        added=[f"{place.file}::{place.qualname}" for place in changes.added],
        removed=[f"{place.file}::{place.qualname}" for place in changes.removed],
        complete=not found.interrupted,
    )
    return Answer(result, found)


def check_tests_red_green(asked_for: given.CheckTestsRedGreen, asked: Asked, tell: Tell) -> Answer:
    """`refute.red_green`."""
    from refute.verbs.red_green import red_green

    tests = asked_for.tests
    tell("running the tests on the old code, then on the new")
    found = red_green(
        [tests] if isinstance(tests, str) and tests.strip() else list(tests),
        repo=asked_for.repo,
        base=asked_for.base or None,
        head=asked_for.head or None,
        python=asked_for.python or None,
        timeout=WITHIN * asked_for.time_limit / 2,
    )
    rows = [
        answers.Standing(
            id=one.id,
            turn=one.turn,
            failure_before=_failure(one.failure_before),
            failure_after=_failure(one.failure_after),
        )
        for one in found.tests
    ]
    counts = Counter(one.turn for one in found.tests)
    counted = ", ".join(f"{count} {turn}" for turn, count in counts.most_common())
    result = answers.CheckTestsRedGreenResult(
        shown=found.sound and bool(found.turned) and not counts["red now"] + counts["broken"],
        summary=f"{found.base} -> {found.head}: {counted or 'no test was run'}",
        tests=rows,
        sound=found.sound,
        notes=[one.remark for one in (found.before, found.after) if one.remark],
    )
    return Answer(result, found)


def _reproducing(tell: Tell) -> Tell:
    return lambda method: tell(f"reproducing the issue ({method})")


def _test_patch(tests: str | dict[str, str], repo: str) -> str:
    """Tests as a unified diff against the checkout, whichever form they have."""
    from refute.issue.edits.tree import EditProblem, Tree
    from refute.workspace import rooted_files
    from refute.workspace.snapshot import checkout_root

    if isinstance(tests, str):
        return tests
    root = str(checkout_root(Path(repo)))

    def read(path: str) -> str | None:
        try:
            return rooted_files.take(root, path, _LARGEST).decode("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None

    tree = Tree(read)
    try:
        for path, text in tests.items():
            tree.write(path, text)
    except EditProblem as error:
        raise InputError(f"tests: {error}") from None
    return tree.diff()


def _outcome(test: TestResult) -> answers.TestOutcome:
    return answers.TestOutcome(id=test.id, outcome=test.outcome, failure=_failure(test.failure))


def _failure(failure: Failure | None) -> str:
    return "" if failure is None else clipped(f"{failure.type}: {failure.message}")


def _change(one: Compared) -> answers.FunctionChange:
    comparison, function = one.comparison, one.function
    return answers.FunctionChange(
        file=function.after.file,
        function=function.qualname,
        line=function.after.line,
        verdict=comparison.verdict,
        mentioned="" if one.stated is None else f"{one.stated.kind}: {one.stated.where}",
        differences=[
            answers.Difference(
                input=clipped(each.scenario.source),
                before=clipped(observed_source(each.before, each.kind)),
                after=clipped(observed_source(each.after, each.kind)),
                kind=each.kind,
            )
            for each in comparison.differences
        ],
        inputs=comparison.ran,
        lines_never_executed=len(comparison.missed_before) + len(comparison.missed_after),
        reason=comparison.reason or comparison.broken or "",
    )
