"""What `hunt` and `debug` found, as the documents of `refute.results.functions`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, convert
from msgspec.structs import asdict

from refute.function.contract import FailingTest, Finding, overall
from refute.function.formatting import call_source, describe, expected_source, status_of
from refute.function.source import diff_name, unified_diff
from refute.function.target import Skipped
from refute.function.verbs import Fix, Hunt, fixed_code
from refute.results import functions as results
from refute.results.shared import NotLookedAt


def hunt_document(files: Mapping[Path, Sequence[Hunt]], **whole: Any) -> Struct:
    """The document of all files; `whole`: see `_document`."""
    rows = {
        path: results.HuntedFile(
            functions=[function_tests(one) for one in hunts],
            state=overall(one.state for one in hunts),
            found=any(one.found for one in hunts),
        )
        for path, hunts in files.items()
    }
    return _document(
        (results.HuntOfFunction, results.HuntOfFile, results.FileTests, results.HuntOfFiles),
        rows,
        **whole,
    )


def debug_document(
    files: Mapping[Path, Sequence[Fix]], *, proposed: bool = False, **whole: Any
) -> Struct:
    """The document of all files; `whole`: see `_document`.

    `code` is the whole module, once: with the function's fix or proposal; of several functions with
    all fixes, and with what is only proposed where `proposed` is set.
    """
    rows = {}
    for path, fixes in files.items():
        name, code = diff_name(path), fixed_code(fixes, proposed=proposed or len(fixes) == 1)
        rows[path] = results.FixedFile(
            functions=[function_fix(one, name) for one in fixes],
            state=overall(one.state for one in fixes),
            fixed=any(one.fixed for one in fixes),
            code=code,
            diff=unified_diff(fixes[0].before, code, name),
        )
    return _document(
        (results.DebugOfFunction, results.DebugOfFile, results.FileFixes, results.DebugOfFiles),
        rows,
        **whole,
    )


def _document(
    kinds: tuple[type[Struct], type[Struct], type[Struct], type[Struct]],
    files: Mapping[Path, results.HuntedFile | results.FixedFile],
    *,
    broad: bool = False,
    skipped: Iterable[Skipped] = (),
    tests_read: float | None = None,
    known: int = 0,
) -> Struct:
    """Of one function, of one file, or of `broad` ones: folders and several targets. `kinds`: of a
    function, a file, a file among others, files."""
    of_function, of_file, row, of_files = kinds
    more = {"tests_read": UNSET if tests_read is None else tests_read, "known": known}
    if broad or not files:
        states = [one.state for file in files.values() for one in file.functions]
        return of_files(
            files=[row(file=str(path), **asdict(file)) for path, file in files.items()],
            state=overall(states),
            states=dict(Counter(states).most_common()),
            skipped=[convert(one, NotLookedAt, from_attributes=True) for one in skipped],
            **more,
        )
    (file,) = files.values()
    if len(file.functions) > 1:
        return of_file(**asdict(file), **more)
    parts = {**asdict(file), **asdict(file.functions[0]), **more}
    return of_function(**{name: parts[name] for name in of_function.__struct_fields__})


def function_tests(hunt: Hunt) -> results.FunctionTests:
    """What was found out about one function."""
    return results.FunctionTests(
        function=hunt.function, state=hunt.state, tests=_tests(hunt), found=hunt.found
    )


def function_fix(fix: Fix, name: str) -> results.FunctionFix:
    """What became of one function; `name`: its file's, in diffs."""
    candidates, question = fix.result.candidates, fix.result.question
    return results.FunctionFix(
        function=fix.hunt.function,
        state=fix.state,
        fixed=fix.fixed,
        edits=[edit for one in candidates[:1] for edit in one.edits],
        confidence=next((_rounded(one.confidence) for one in candidates), None),
        diff=fix.diff(name),
        tests=_tests(fix.hunt),
        rounds=fix.rounds,
        alternatives=[
            results.Alternative(
                score=one.score,
                confidence=_rounded(one.confidence),
                edits=one.edits,
                diff=unified_diff(fix.before, one.code, name),
            )
            for one in candidates[1:]
        ],
        reservations=fix.result.reservations,
        question=None
        if question is None
        else results.OpenQuestion(
            call=call_source(question.call, fix.hunt.function),
            outputs=[describe(outcome) for outcome in question.outputs],
        ),
    )


def _rounded(confidence: float | None) -> float | None:
    return None if confidence is None else round(confidence, 4)


def _tests(hunt: Hunt) -> list[results.FailingCall]:
    items: list[FailingTest | Finding] = [*hunt.failing, *hunt.findings]
    return [_test(hunt.function, item) for item in items]


def _test(function: str, item: FailingTest | Finding) -> results.FailingCall:
    if isinstance(item, Finding):
        return results.FailingCall(
            call=call_source(item.call, function),
            expected=None,
            actual=describe(item.actual),
            status=item.kind,
            source=f"no oracle: {item.reason}",
            confidence=None,
        )
    return results.FailingCall(
        call=call_source(item.test.call, function),
        expected=expected_source(item.test),
        actual=describe(item.actual, item.test.call),
        status=status_of(item.actual),
        source=item.test.source,
        confidence=round(item.test.confidence, 4),
    )
