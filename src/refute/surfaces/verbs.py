"""What is run for each verb: one call of `refute.api`, and its result in the form of `results`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from refute.errors import InputError
from refute.surfaces import arguments as given
from refute.surfaces import results as answers

if TYPE_CHECKING:
    from refute.api.calling import Shown
    from refute.api.functions import DebugResult, HuntResult
    from refute.function.service import Opened
    from refute.models.asking import Asked

__all__ = ["VERBS", "Answer", "Tell", "Verb", "said"]

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


def find_failing_input(asked_for: given.FindFailingInput, asked: Asked, tell: Tell) -> Answer:
    """`refute hunt`."""
    from dataclasses import replace

    from refute.api.functions import hunt
    from refute.report.documents import hunt_document

    place = asked_for.write_tests_to
    asked = replace(asked, options={**asked.options, "n": asked_for.most})
    with TemporaryDirectory(prefix="refute-call-") as scratch:
        how = _over_functions(asked_for, Path(scratch), tell)
        written = {"output": _inside(place)} if place else {}
        found = hunt(*_targets(asked_for), asked=asked, **written, **how)
    modules, files = found.opened.targets.modules, dict[Path, str]()
    if len(modules) == 1:
        files = found.pytest_files(modules[0].source.path.parent)
    functions = [
        answers.FunctionTests(
            file=str(module.source.path),
            function=one.function,
            state=str(one.state),
            tests=[answers.FailingCall(**_call(row)) for row in hunt_document([one])["tests"]],
            notes=list(one.notes),
        )
        for (module, _), one in zip(found.collected.results, found.hunts, strict=True)
    ]
    result = answers.FindFailingInputResult(
        state=str(found.state),
        summary=_summary(found),
        functions=functions,
        test_file=next(iter(files.values()), ""),
        test_path=next(map(str, files), ""),
        written=[str(path) for path in found.pytest_files(place)] if place else [],
        not_looked_at=_left(found),
        complete=not found.interrupted,
    )
    return Answer(result, found)


def debug_function(asked_for: given.DebugFunction, asked: Asked, tell: Tell) -> Answer:
    """`refute debug`."""
    from refute.api.functions import debug
    from refute.function.source import diff_name
    from refute.report.documents import debug_document

    with TemporaryDirectory(prefix="refute-call-") as scratch:
        how = _over_functions(asked_for, Path(scratch), tell)

        def opened(one: Opened) -> None:
            for module in one.targets.modules if asked_for.apply else ():
                _inside(module.source.path)
            how["opened"](one)

        known = {**how, "opened": opened}
        found = debug(*_targets(asked_for), asked=asked, proposed=asked_for.proposed, **known)
    functions = []
    for (module, _), one in zip(found.collected.results, found.fixes, strict=True):
        row = debug_document([one], diff_name(module.source.path))
        question = row["question"]
        functions.append(
            answers.FunctionFix(
                file=str(module.source.path),
                function=row["function"],
                state=row["state"],
                edits=row["edits"],
                diff=row["diff"],
                confidence=row["confidence"],
                reservations=row["reservations"],
                tests=[answers.FailingCall(**_call(test)) for test in row["tests"]],
                alternatives=[
                    answers.Alternative(**{k: v for k, v in other.items() if k != "score"})
                    for other in row["alternatives"]
                ],
                question=None if question is None else answers.OpenQuestion(**question),
                notes=list(one.hunt.notes),
            )
        )
    result = answers.DebugFunctionResult(
        state=str(found.state),
        summary=_summary(found),
        diff=found.diff,
        functions=functions,
        written=[str(path) for path in found.write()] if asked_for.apply else [],
        not_looked_at=_left(found),
        complete=not found.interrupted,
    )
    return Answer(result, found)


def reproduce_issue(asked_for: given.ReproduceIssue, asked: Asked, tell: Tell) -> Answer:
    """`refute reproduce`."""
    from refute.api.issues import reproduce
    from refute.report.issues import confidence_text

    if asked_for.apply:
        _inside(asked_for.repo)
    with TemporaryDirectory(prefix="refute-call-") as scratch:
        issue = _text(Path(scratch), "issue", asked_for.issue)
        chosen = _reproducing(tell)
        found = reproduce(issue, asked=asked, chosen=chosen, **_in_checkout(asked_for))
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
        written=list(found.write(asked_for.repo)) if asked_for.apply else [],
    )
    return Answer(result, found)


def vet_patch(asked_for: given.VetPatch, asked: Asked, tell: Tell) -> Answer:
    """`refute vet`."""
    from refute.api.issues import vet
    from refute.report.diffs import summary_line

    with TemporaryDirectory(prefix="refute-call-") as scratch:
        folder = Path(scratch)
        tell("judging the patch by tests, without it and with it")
        found = vet(
            _text(folder, "patch", asked_for.patch),
            issue=_text(folder, "issue", asked_for.issue),
            tests=_text(folder, "tests", asked_for.tests) if asked_for.tests.strip() else None,
            neighbours=asked_for.neighbours,
            behaviour=asked_for.behaviour,
            asked=asked,
            **_in_checkout(asked_for),
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
        notes=list(one.notes),
    )
    return Answer(result, found)


def compare_behaviour(asked_for: given.CompareBehaviour, asked: Asked, tell: Tell) -> Answer:
    """`refute diff`."""
    from refute.api.diffing import diff
    from refute.report.diffs import summary_line

    found = diff(
        asked_for.revisions or None,
        repo=asked_for.repo,
        python=asked_for.python or None,
        budget=asked_for.seconds_per_function,
        about=asked_for.about,
        asked=asked,
        show=lambda one, done, total: tell(
            f"{done} of {total} functions, last {one.function.qualname}"
        ),
    )
    changes = found.diffed.changes
    result = answers.CompareBehaviourResult(
        summary=summary_line(found.diffed),
        unexplained=found.unexplained,
        functions=[_change(one) for one in found.functions],
        added=[f"{place.file}::{place.qualname}" for place in changes.added],
        removed=[f"{place.file}::{place.qualname}" for place in changes.removed],
        complete=not found.interrupted,
    )
    return Answer(result, found)


def read_run(asked_for: given.ReadRun, asked: Asked, tell: Tell) -> Answer:
    """`refute report` of one run."""
    from refute.api.reporting import report

    found = report(asked_for.run)
    text, kind = "", "application/json"
    if asked_for.form == "page":
        text, kind = found.page(), "text/html"
    elif asked_for.form == "text":
        text, kind = str(found), "text/plain"
    else:
        text = json.dumps(found.to_dict(), indent=2)
    return Answer(answers.ReadRunResult(text=text, media_type=kind))


def check_file(asked_for: given.CheckFile, asked: Asked, tell: Tell) -> Answer:
    """What is wrong in a file, with a fix for each function by itself: `hunt`, then `debug`."""
    from refute.api.functions import debug, hunt
    from refute.report.documents import hunt_document
    from refute.syntax import find_function, parse_module

    how: dict[str, Any] = {
        "budget": asked_for.seconds_per_function,
        "python": asked_for.python or None,
        "asked": asked,
    }
    found = hunt(asked_for.file, show=lambda module, one, how_far: tell(how_far), **how)
    wrong = [one for one in found.hunts if one.found]
    before = next((module.source.text for module in found.opened.targets.modules), "")
    tree = parse_module(before)
    rows, stopped = [], found.interrupted
    for one in wrong:
        place = find_function(tree, one.function)
        first = hunt_document([one])["tests"][0]
        expected = "" if first["expected"] is None else f", expected {first['expected']}"
        files = found.pytest_files(Path(asked_for.file).parent, function=one.function)
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
                message=f"{first['call']}: {first['actual']}{expected} ({first['source']})",
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


VERBS = {
    "find_failing_input": Verb(
        given.FindFailingInput, answers.FindFailingInputResult, find_failing_input
    ),
    "debug_function": Verb(given.DebugFunction, answers.DebugFunctionResult, debug_function),
    "reproduce_issue": Verb(given.ReproduceIssue, answers.ReproduceIssueResult, reproduce_issue),
    "vet_patch": Verb(given.VetPatch, answers.VetPatchResult, vet_patch),
    "compare_behaviour": Verb(
        given.CompareBehaviour, answers.CompareBehaviourResult, compare_behaviour
    ),
    "read_run": Verb(given.ReadRun, answers.ReadRunResult, read_run),
    "check_file": Verb(given.CheckFile, answers.CheckedFile, check_file),
}
"""By name: what agents call, and what the servers call for themselves."""


# -- arguments -------------------------------------------------------------------------------------


def _over_functions(
    asked_for: given.FindFailingInput | given.DebugFunction, scratch: Path, tell: Tell
) -> dict[str, Any]:
    text = asked_for.description
    return {
        "since": asked_for.since or None,
        "tests": asked_for.tests_file or None,
        "description": _text(scratch, "description", text) if text.strip() else None,
        "python": asked_for.python or None,
        "budget": asked_for.seconds_per_function,
        "opened": lambda opened: tell(f"{opened.functions} functions to look at"),
        "show": lambda module, one, how_far: tell(how_far),
    }


def _targets(asked_for: given.FindFailingInput | given.DebugFunction) -> tuple[str, ...]:
    targets = asked_for.targets
    return tuple(t for t in ([targets] if isinstance(targets, str) else targets) if t.strip())


def _in_checkout(asked_for: given.ReproduceIssue | given.VetPatch) -> dict[str, Any]:
    from refute.methods import Bounds

    return {
        "repo": asked_for.repo,
        "python": asked_for.python or None,
        "bounds": Bounds(seconds=asked_for.time_limit),
    }


def _reproducing(tell: Tell) -> Tell:
    return lambda method: tell(f"reproducing the issue ({method})")


def _text(folder: Path, name: str, text: str) -> Path:
    """A text that was handed over, as the file that the API reads."""
    place = folder / name
    place.write_bytes(text.encode("utf-8", "surrogateescape"))
    return place


def _inside(path: Path | str) -> Path:
    """A path that may be written to: below the folder that the server works in."""
    place = Path(path)
    if not place.resolve().is_relative_to(Path.cwd().resolve()):
        raise InputError(f"{path}: lies outside of {Path.cwd()}; only what is in it is written")
    return place


# -- results ---------------------------------------------------------------------------------------


def _summary(found: HuntResult | DebugResult) -> str:
    from refute.function.service import summary

    kinds = Counter(one.kind for one in found.skipped)
    return said(summary(Counter(found.collected.states), kinds), found.interrupted)


def said(line: str, interrupted: bool) -> str:
    """A summary, and that it is not the whole where time was up."""
    return f"{line}; time was up before the rest" if interrupted else line


def _left(found: HuntResult | DebugResult) -> list[answers.NotLookedAt]:
    return [answers.NotLookedAt(where=one.where, reason=one.reason) for one in found.skipped]


def _call(row: dict[str, Any]) -> dict[str, Any]:
    names: Sequence[str] = answers.FailingCall.__struct_fields__
    return {name: row[name] for name in names}


def _outcome(test: Any) -> answers.TestOutcome:
    failure = test.failure
    line = f"{failure.type}: {failure.message}" if failure else ""
    return answers.TestOutcome(id=test.id, outcome=test.outcome, failure=line)


def _change(one: Any) -> answers.FunctionChange:
    from refute.report.diffs import observed_source

    comparison, function = one.comparison, one.function
    return answers.FunctionChange(
        file=function.after.file,
        function=function.qualname,
        line=function.after.line,
        verdict=comparison.verdict,
        mentioned="" if one.stated is None else f"{one.stated.kind}: {one.stated.where}",
        differences=[
            answers.Difference(
                input=each.scenario.source,
                before=observed_source(each.before, each.kind),
                after=observed_source(each.after, each.kind),
                kind=each.kind,
            )
            for each in comparison.differences
        ],
        inputs=comparison.ran,
        lines_never_executed=len(comparison.missed_before) + len(comparison.missed_after),
        reason=comparison.reason or comparison.broken or "",
    )
