"""What is run for a call from a door: one call of `refute.verbs`, its result in the form of
`results`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import asdict
from msgspec.structs import replace as replace_fields

from refute.core.storage import ScratchFolder
from refute.diffing.differences import observed_source
from refute.doors import arguments as given
from refute.doors import results as answers
from refute.errors import InputError
from refute.verbs.debug import DebugOptions, debug
from refute.verbs.diff import DiffOptions, diff
from refute.verbs.hunt import HuntOptions, hunt
from refute.verbs.reproduce import ReproduceOptions, reproduce
from refute.verbs.vet import vet

if TYPE_CHECKING:
    from refute.diffing.service import Compared
    from refute.function.service import Opened
    from refute.models.asking import Asked
    from refute.results.functions import FailingCall, FunctionFix, FunctionTests
    from refute.verbs.functions import DebugResult, HuntResult
    from refute.verbs.output import Shown
    from refute.workspace.contract import Failure, TestResult


MOST = 40
"""Functions, or what was left out, that a result lists: a model reads all of it."""
LONGEST = 2000
"""Characters of a call, a value or a failure."""
Row = TypeVar("Row")

Tell = Callable[[str], None]
"""Is told in a line how far the work is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call."""

    result: Any
    """Of the verb's result type."""
    shown: Shown | None = None
    """What the API returned: its document, and its text for people."""


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, its types, and what runs it: (arguments, who is asked, whom to tell) -> answer."""

    arguments: type[Any]
    result: type[Any]
    run: Callable[[Any, Asked, Tell], Answer]


def first(rows: Iterable[Row], matters: Callable[[Row], bool]) -> list[Row]:
    """No more than `MOST`, those that matter before the others."""
    return sorted(rows, key=lambda row: not matters(row))[:MOST]


def clipped(text: str) -> str:
    """A text without its middle, where it is very long."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"


def find_failing_input(asked_for: Any, asked: Asked, tell: Tell) -> Answer:
    """`refute hunt`."""
    from refute.results.functions import function_tests

    with ScratchFolder() as scratch:
        options = given.options_for(HuntOptions, asked_for, asked, Path(scratch))
        place = options.output
        if place is not None and place.is_file():
            raise InputError(f"{place}: exists; name a new file, or a folder")
        found = hunt(options=options, **_telling(tell))
    modules, files = found.opened.targets.modules, dict[Path, str]()
    if len(modules) == 1:
        files = found.pytest_files(modules[0].source.path.parent)
    functions = [
        answers.FunctionTests(
            file=str(module.source.path), notes=one.notes, **_clipped(function_tests(one))
        )
        for (module, _), one in zip(found.collected.results, found.hunts, strict=True)
    ]
    result = answers.FindFailingInputResult(
        state=found.state,
        summary=_summary(found),
        functions=first(functions, lambda one: one.state == "wrong"),
        unlisted=max(0, len(functions) - MOST),
        test_file=next(iter(files.values()), ""),
        test_path=next(map(str, files), ""),
        written=[str(path) for path in found.pytest_files(place)] if place else [],
        not_looked_at=_left(found),
        complete=not found.interrupted,
    )
    return Answer(result, found)


def debug_function(asked_for: Any, asked: Asked, tell: Tell) -> Answer:
    """`refute debug`."""
    from refute.function.source import diff_name
    from refute.results.functions import function_fix

    with ScratchFolder() as scratch:
        options = given.options_for(DebugOptions, asked_for, asked, Path(scratch))
        how = _telling(tell)

        def opened(one: Opened) -> None:
            for module in one.targets.modules if options.write else ():
                given.inside(module.source.path)
            how["opened"](one)

        found = debug(options=replace(options, write=False), **{**how, "opened": opened})
    functions = [
        answers.FunctionFix(
            file=str(module.source.path),
            notes=one.hunt.notes,
            **_clipped(function_fix(one, diff_name(module.source.path))),
        )
        for (module, _), one in zip(found.collected.results, found.fixes, strict=True)
    ]
    result = answers.DebugFunctionResult(
        state=found.state,
        summary=_summary(found),
        diff=found.diff,
        functions=first(functions, lambda one: one.state in ("wrong", "proposed", "fixed")),
        unlisted=max(0, len(functions) - MOST),
        written=[str(path) for path in found.write()] if options.write else [],
        not_looked_at=_left(found),
        complete=not found.interrupted,
    )
    return Answer(result, found)


def check_file(asked_for: given.CheckFile, asked: Asked, tell: Tell) -> Answer:
    """What is wrong in a file, with a fix for each function by itself: `hunt`, then `debug`."""
    from refute.results.functions import function_tests
    from refute.source.syntax import find_function, parse_module

    how: dict[str, Any] = {
        "budget": asked_for.seconds_per_function,
        "python": asked_for.python or None,
        **given.models_of(asked),
    }
    found = hunt(asked_for.file, show=lambda module, one, how_far: tell(how_far), **how)
    file, wrong = Path(asked_for.file), [one for one in found.hunts if one.found]
    before = next((module.source.text for module in found.opened.targets.modules), "")
    tree = parse_module(before)
    rows, stopped = [], found.interrupted
    for one in wrong:
        place = find_function(tree, one.function)
        test = _call(function_tests(one).tests[0])
        expected = "" if test.expected is None else f", expected {test.expected}"
        name = f"test_{file.stem}_{one.function.replace('.', '_')}_refuted.py"
        files = found.pytest_files(file.with_name(name), function=one.function)
        code, edits, sure = "", "", False
        if not stopped:
            tell(f"looking for a fix of {one.function}")
            fixed = debug(f"{asked_for.file}::{one.function}", **how)
            stopped = fixed.interrupted
            for fix in fixed.fixes if fixed.candidates else ():
                code, sure = fix.code, fix.fixed
                edits = "; ".join(fix.result.candidates[0].edits)
        rows.append(
            answers.CheckedFunction(
                function=one.function,
                line=place.lineno if place is not None else 1,
                message=f"{test.call}: {test.actual}{expected} ({test.source})",
                tests=next(iter(files.values()), ""),
                test_path=next(map(str, files), ""),
                code=code,
                fix=edits,
                sure=sure,
            )
        )
    result = answers.CheckedFile(
        before=before, functions=rows, summary=_summary(found), complete=not stopped
    )
    return Answer(result)


def _telling(tell: Tell) -> dict[str, Any]:
    return {
        "opened": lambda opened: tell(f"functions to look at: {opened.functions}"),
        "show": lambda module, one, how_far: tell(how_far),
    }


def _summary(found: HuntResult | DebugResult) -> str:
    from refute.function.service import summary

    kinds = Counter(one.kind for one in found.skipped)
    return said(summary(Counter(found.collected.states), kinds), found.interrupted)


def said(line: str, interrupted: bool) -> str:
    """A summary, and that it is not the whole where time was up."""
    return f"{line}; time was up before the rest" if interrupted else line


def _left(found: HuntResult | DebugResult) -> list[answers.NotLookedAt]:
    rows = found.skipped[:MOST]
    return [answers.NotLookedAt(where=one.where, reason=clipped(one.reason)) for one in rows]


def _clipped(row: FunctionTests | FunctionFix) -> dict[str, Any]:
    """The fields, with nothing very long in the tests."""
    return {**asdict(row), "tests": [_call(one) for one in row.tests]}


def _call(one: FailingCall) -> FailingCall:
    texts = {key: clipped(text) for key, text in asdict(one).items() if isinstance(text, str)}
    return replace_fields(one, **texts)


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


__all__ = ["VERBS"]

VERBS = {
    "find_failing_input": Verb(
        given.arguments_of(HuntOptions, "FindFailingInput"),
        answers.FindFailingInputResult,
        find_failing_input,
    ),
    "debug_function": Verb(
        given.arguments_of(DebugOptions, "DebugFunction"),
        answers.DebugFunctionResult,
        debug_function,
    ),
    "reproduce_issue": Verb(
        given.arguments_of(ReproduceOptions, "ReproduceIssue", 900.0),
        answers.ReproduceIssueResult,
        reproduce_issue,
    ),
    "vet_patch": Verb(given.VetPatch, answers.VetPatchResult, vet_patch),
    "compare_behaviour": Verb(
        given.arguments_of(DiffOptions, "CompareBehaviour"),
        answers.CompareBehaviourResult,
        compare_behaviour,
    ),
    "check_tests_red_green": Verb(
        given.CheckTestsRedGreen, answers.CheckTestsRedGreenResult, check_tests_red_green
    ),
    "check_file": Verb(given.CheckFile, answers.CheckedFile, check_file),
}
"""By name: what agents call, and what the servers call for themselves."""
