"""The documents of `hunt` (`hunt/1`) and `debug` (`debug/1`): of a function, a file, files.

Below them, the results as cases of a report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from refute.core.problems import Trust
from refute.function.contract import FailingTest, Finding, Skipped, State, Status, overall
from refute.function.formatting import call_source, describe, expected_source, status_of
from refute.function.source import diff_name, unified_diff
from refute.function.verbs import Fix, fixed_code
from refute.results import Confidence, Count, Known, rounded
from refute.results.formats import Case, Problem, Proposal, merged, short
from refute.sandbox import Raised
from refute.source.syntax import functions_in, parse_module

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module
    from refute.function.verbs import Hunt

ClaimedState = Annotated[
    State,
    Meta(
        description="wrong: shown by a failing test; proposed: there is a fix, and a reason not "
        "to call it right; fixed; out of date: it fails an example of its documentation, and the "
        "project's tests pass and notice what it does; passes: passes what is known about it; "
        "cannot tell: nothing is known about it."
    ),
]
_States = Annotated[
    Mapping[State, Count], Meta(extra_json_schema={"propertyNames": {"enum": [*State]}})
]
_Function = Annotated[str, Meta(description="Qualified name.")]
_Found = Annotated[bool, Meta(description="True: something wrong was found.")]
_Fixed = Annotated[bool, Meta(description="True: the fix is believed to be right.")]
_Code = Annotated[str, Meta(description="The whole file with its fixes.")]
_Diff = Annotated[str, Meta(description="Unified diff; empty without a fix.")]


class FailingCall(Struct, frozen=True, kw_only=True):
    """An input on which a function is wrong."""

    call: Annotated[str, Meta(description="The call as Python source.")]
    expected: Annotated[
        str | None,
        Meta(description="Right result, as Python source or in words; null if nothing says it."),
    ]
    actual: Annotated[str, Meta(description="Result of the function.")]
    status: Annotated[
        Status | Literal["crash"],
        Meta(description="Kind of failure."),
    ]
    source: Annotated[str, Meta(description="Origin of the expected output.")]
    confidence: Confidence | None


class FunctionTests(Struct, frozen=True, kw_only=True):
    """Tests and findings of one function."""

    function: _Function
    state: ClaimedState
    tests: Sequence[FailingCall]
    found: _Found


class HuntedFile(Struct, frozen=True, kw_only=True):
    """Tests and findings of the functions of one file."""

    functions: Sequence[FunctionTests]
    state: ClaimedState
    found: _Found


class FileTests(HuntedFile, frozen=True):
    """One file among others."""

    file: str


class _OfFiles(Struct, frozen=True, kw_only=True, omit_defaults=True):
    state: ClaimedState
    states: _States
    skipped: Sequence[Skipped]
    known: Known = 0


class HuntOfFunction(
    FunctionTests, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="hunt/1"
):
    """`hunt` of one function."""

    known: Known = 0


class HuntOfFile(
    HuntedFile, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="hunt/1"
):
    """`hunt` of several functions of one file."""

    known: Known = 0


class HuntOfFiles(_OfFiles, frozen=True, tag_field="schema", tag="hunt/1"):
    """`hunt` of folders and of several targets."""

    files: Sequence[FileTests]


class Alternative(Struct, frozen=True):
    """Another fix, which behaves otherwise."""

    score: float
    confidence: Confidence | None
    edits: Sequence[str]
    diff: str


class OpenQuestion(Struct, frozen=True):
    """A call on which the candidate fixes differ: say with a test which output is right."""

    call: str
    outputs: Annotated[Sequence[str], Meta(description="Of the fix, then of each alternative.")]


class FunctionFix(Struct, frozen=True, kw_only=True):
    """Fix of one function, or the reason why none was found."""

    function: _Function
    state: ClaimedState
    fixed: _Fixed
    edits: Sequence[str]
    confidence: Confidence | None
    diff: _Diff
    tests: Annotated[Sequence[FailingCall], Meta(description="Calls that it failed as it was.")]
    rounds: Count
    alternatives: Sequence[Alternative]
    reservations: Annotated[Sequence[str], Meta(description="Reasons why it is only proposed.")]
    question: OpenQuestion | None


class FixedFile(Struct, frozen=True, kw_only=True):
    """Fixes of the functions of one file."""

    functions: Sequence[FunctionFix]
    state: ClaimedState
    fixed: _Fixed
    code: _Code
    diff: _Diff


class FileFixes(FixedFile, frozen=True):
    """One file among others."""

    file: str


class DebugOfFunction(
    FunctionFix, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="debug/1"
):
    """`debug` of one function."""

    code: _Code
    known: Known = 0


class DebugOfFile(
    FixedFile, frozen=True, kw_only=True, omit_defaults=True, tag_field="schema", tag="debug/1"
):
    """`debug` of several functions of one file."""

    known: Known = 0


class DebugOfFiles(_OfFiles, frozen=True, tag_field="schema", tag="debug/1"):
    """`debug` of folders and of several targets."""

    files: Sequence[FileFixes]


def hunt_document(files: Mapping[Path, Sequence[Hunt]], **whole: Any) -> Struct:
    """The document of all files; `whole`: see `_document`."""
    rows = {
        path: HuntedFile(
            functions=[function_tests(one) for one in hunts],
            state=overall(one.state for one in hunts),
            found=any(one.found for one in hunts),
        )
        for path, hunts in files.items()
    }
    return _document((HuntOfFunction, HuntOfFile, FileTests, HuntOfFiles), rows, **whole)


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
        rows[path] = FixedFile(
            functions=[function_fix(one, name) for one in fixes],
            state=overall(one.state for one in fixes),
            fixed=any(one.fixed for one in fixes),
            code=code,
            diff=unified_diff(fixes[0].before, code, name),
        )
    return _document((DebugOfFunction, DebugOfFile, FileFixes, DebugOfFiles), rows, **whole)


def _document(
    kinds: tuple[type[Struct], type[Struct], type[Struct], type[Struct]],
    files: Mapping[Path, HuntedFile | FixedFile],
    *,
    broad: bool = False,
    skipped: Iterable[Skipped] = (),
    known: int = 0,
) -> Struct:
    """Of one function, of one file, or of `broad` ones: folders and several targets. `kinds`: of a
    function, a file, a file among others, files."""
    of_function, of_file, row, of_files = kinds
    if broad or not files:
        states = [one.state for file in files.values() for one in file.functions]
        return of_files(
            files=[row(file=str(path), **asdict(file)) for path, file in files.items()],
            state=overall(states),
            states=dict(Counter(states).most_common()),
            skipped=list(skipped),
            known=known,
        )
    (file,) = files.values()
    if len(file.functions) > 1:
        return of_file(**asdict(file), known=known)
    parts = {**asdict(file), **asdict(file.functions[0]), "known": known}
    return of_function(**{name: parts[name] for name in of_function.__struct_fields__})


def function_tests(hunt: Hunt) -> FunctionTests:
    """Tests and findings of one function."""
    return FunctionTests(
        function=hunt.function, state=hunt.state, tests=_tests(hunt), found=hunt.found
    )


def function_fix(fix: Fix, name: str) -> FunctionFix:
    """Return the fix of one function as a document; `name`: of its file, in diffs."""

    candidates, question = fix.result.candidates, fix.result.question
    return FunctionFix(
        function=fix.hunt.function,
        state=fix.state,
        fixed=fix.fixed,
        edits=[edit for one in candidates[:1] for edit in one.edits],
        confidence=next((rounded(one.confidence) for one in candidates), None),
        diff=fix.diff(name),
        tests=_tests(fix.hunt),
        rounds=fix.rounds,
        alternatives=[
            Alternative(
                score=one.score,
                confidence=rounded(one.confidence),
                edits=one.edits,
                diff=unified_diff(fix.before, one.code, name),
            )
            for one in candidates[1:]
        ],
        reservations=fix.result.reservations,
        question=None
        if question is None
        else OpenQuestion(
            call=call_source(question.call, fix.hunt.function),
            outputs=[describe(outcome) for outcome in question.outputs],
        ),
    )


def _tests(hunt: Hunt) -> list[FailingCall]:
    items: list[FailingTest | Finding] = [*hunt.failing, *hunt.findings]
    return [_test(hunt.function, item) for item in items]


def _test(function: str, item: FailingTest | Finding) -> FailingCall:

    if isinstance(item, Finding):
        return FailingCall(
            call=call_source(item.call, function),
            expected=None,
            actual=describe(item.actual),
            status=item.kind,
            source=f"no oracle: {item.reason}",
            confidence=None,
        )
    return FailingCall(
        call=call_source(item.test.call, function),
        expected=expected_source(item.test),
        actual=describe(item.actual, item.test.call),
        status=status_of(item.actual),
        source=item.test.source,
        confidence=round(item.test.confidence, 4),
    )


# -- cases of a report


def case_of(module: Module, one: Found) -> Case:
    """Return the case of one function."""
    hunt = one.hunt if isinstance(one, Fix) else one
    file, line = file_name(module.source.path), line_of(module.source.text, hunt.function)
    items: tuple[FailingTest | Finding, ...] = (*hunt.failing, *hunt.findings)
    problems = merged(problem_of(module, hunt.function, item) for item in items)
    if hunt.state is State.OUT_OF_DATE:
        problems = tuple(replace(one, rule="out-of-date") for one in problems)
    reason = "" if hunt.found else "; ".join(hunt.notes)
    proposal = _proposal(one) if isinstance(one, Fix) else None
    return Case(file, line, hunt.function, str(one.state), problems, reason, proposal)


def problem_of(module: Module, function: str, item: FailingTest | Finding) -> Problem:
    """Return the problem that a failing test or a finding shows."""
    where = file_name(module.source.path), line_of(module.source.text, function), function
    if isinstance(item, Finding):
        call, actual = short(call_source(item.call, function)), short(describe(item.actual))
        message = f"{call}: {actual} ({item.reason})"
        return Problem(item.kind, *where, message, _outcome(item))
    test = item.test
    call = call_source(test.call, function)
    actual, expected = describe(item.actual, test.call), expected_source(test)
    stated = test.trust < Trust.PREDICTED
    sure = "" if stated else f", {test.confidence:.0%} sure"
    message = f"{short(call)}: {short(actual)}, expected: {short(expected)} ({test.source}{sure})"
    if stated:
        return Problem("wrong-output", *where, message, f"{call} -> {expected}")
    return Problem("predicted-output", *where, message, _outcome(item))


def _outcome(item: FailingTest | Finding) -> str:
    """Name the failure in a word that does not depend on the input."""
    actual = item.actual
    return actual.type if isinstance(actual, Raised) else status_of(actual)


def _proposal(fix: Fix) -> Proposal | None:
    if not fix.result.candidates or fix.code == fix.before:
        return None
    best = fix.result.candidates[0]
    sure = "" if best.confidence is None else f" ({best.confidence:.0%})"
    return Proposal(fix.before, fix.code, f"{fix.state}{sure}: {'; '.join(best.edits)}")


# -- how a report names files, and on which line a function begins ---------------------------------


def file_name(path: Path) -> str:
    """A file as reports name it: from the root of its repository, else from the working directory,
    else in full. Always with `/`."""
    path = path.resolve()
    for root in (_root(path.parent), Path.cwd()):
        if root is not None and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()


@lru_cache(maxsize=1024)
def _root(folder: Path) -> Path | None:
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


@lru_cache(maxsize=16)
def _lines(source: str) -> dict[str, int]:
    return {name: node.lineno for name, node in functions_in(parse_module(source)).items()}


def line_of(source: str, function: str) -> int:
    """The line (1-based) of a function's `def` in its module's source; 1 where it has none."""
    return _lines(source).get(function, 1)
