"""Understand a function's doctests by replaying them on the code as given.

What `doctest` would call a failure is one, unless it says nothing about the function: a name, file
or package that the example lacks, output that differs from one run to the next, a wrapped line.
Such examples are counted, never believed. An example that hangs on no other and only calls the
function with plain values becomes that call, which the search can vary; else it stays a
`DoctestSession`.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from refute.core.problems import (
    Call,
    DoctestSession,
    FunctionProblem,
    Invocation,
    Trust,
    UnitTest,
)
from refute.function.examples.scripts import (
    DoctestScript,
    DoctestStep,
    callers_scripts,
    imported_packages,
    scripts,
    slice_of,
)
from refute.function.examples.scripts import described as _described
from refute.function.examples.subject import called_as, invocation
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Returned, Sandbox, TimedOut
from refute.sandbox.equality import exception_name, shows, without_addresses
from refute.sandbox.values import MalformedValue, encode
from refute.source.literals import NotLiteral, is_literal, parse_literal
from refute.source.syntax import try_parse_statements

LOOKING = Limits(cpu=1.0, wall=2.5)
"""The first look at a script."""
_PATIENT = Limits(cpu=2.0, wall=4.0, stop_after=1)
"""For a session that takes longer, example by example."""
_OTHER = Limits(cpu=2.0, wall=4.0, seed=1, elsewhere=True)
"""The second look: other hashes, other random numbers, other surroundings."""
_QUICK = Limits(cpu=0.12, wall=1.0)
"""Limits of a test that thousands of candidates are run on."""


Row = tuple[str, "str | None", bool]
"""Observation of an example: see `DoctestSession`."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """The tests that a function's doctests state, and how much of them was understood."""

    tests: tuple[UnitTest, ...] = ()
    read: int = 0
    """Examples that were looked at."""
    unclear: tuple[str, ...] = ()
    """Of each example that was not understood, why."""
    unending: tuple[Invocation, ...] = ()
    """Of the tests, what was seen not to end."""
    green: bool = False
    """True: there are tests, and all pass, so that they were looked at no further."""

    @property
    def notes(self) -> tuple[str, ...]:
        """One line for people where something was not understood."""
        if not self.unclear:
            return ()
        reasons = Counter(self.unclear).most_common()
        told = "; ".join(f"{reason} ({count})" for reason, count in reasons)
        return (f"{len(self.unclear)} of {self.read} doctest examples not understood: {told}",)


def first_looks(code: str, names: Iterable[str]) -> list[DoctestSession]:
    """Return what `replayed` runs first, with `LOOKING`, for functions of a module."""
    found = (script.steps for name in names for script in scripts(code, name))
    return [_session(steps, len(steps)) for steps in found]


def _session(steps: Sequence[DoctestStep], shown: int = 1) -> DoctestSession:
    return DoctestSession(tuple(step.source for step in steps), shown)


def replayed(
    problem: FunctionProblem, *, box: Sandbox, brief: bool = False, described: bool = False
) -> Replayed:
    """Replay the doctests of `problem.code` that call its entry point, or those of its description
    (`described`).

    `brief`: where none of them fails, their tests are made without a look at how long they take.
    Raises `SandboxUnavailable`.
    """
    program = Program(problem.code, problem.entry_point)
    imported = imported_packages(problem.code)
    tests: list[UnitTest] = []
    unclear: list[str] = []
    unending: list[Invocation] = []
    read = 0
    method = called_as(problem.entry_point).method
    looks: list[tuple[DoctestScript, _Judged]] = []
    code, name = problem.code, problem.entry_point
    found = _described(problem.description, code, name) if described else scripts(code, name)
    for script in found:
        if method and not script.own and not _is_called(script, program, box):
            continue  # its names are those of many a method
        judged = _judged(script, imported, program, box)
        read += judged.count
        unclear += judged.unclear.values()
        unclear += ["marked SKIP"] * script.skipped if script.own else []
        read += script.skipped if script.own else 0
        looks.append((script, judged))
    brief = brief and not any(judged.failing for _, judged in looks)
    for script, judged in looks:
        if brief:
            tests += _green(script, judged)
            continue
        made = _tests(script, judged, problem, program, box)
        tests += made.values()
        unending += [
            test.call for i, test in made.items() if isinstance(judged.outcomes[i], TimedOut)
        ]
    kept = tuple(_consistent(tests))
    return Replayed(kept, read, tuple(unclear), tuple(unending), brief and bool(kept))


def _is_called(script: DoctestScript, program: Program, box: Sandbox) -> bool:
    """Return whether the function runs when the script's steps do."""
    session = replace(_session(script.steps), observed=True)
    (outcome,) = box.run(program, [session], LOOKING)
    return outcome == Returned(encode(True))


MOST_CALLERS = 12
MOST_WITNESSES = 24


def witnesses(problem: FunctionProblem, *, box: Sandbox) -> tuple[UnitTest, ...]:
    """The examples of functions that call the problem's, understood by replaying them: hints.

    They may fail for their own function's sake, so none says that this one is wrong; but a fix
    leaves those right that are, and may fix the others. Raises `SandboxUnavailable`.
    """
    program = Program(problem.code, problem.entry_point)
    imported = imported_packages(problem.code)
    tests: list[UnitTest] = []
    for script in islice(callers_scripts(problem.code, problem.entry_point), MOST_CALLERS):
        judged = _judged(script, imported, program, box)
        tests += _tests(script, judged, problem, program, box).values()
        if len(tests) >= MOST_WITNESSES:
            break
    return tuple(_consistent(tests[:MOST_WITNESSES]))


# -- replaying -------------------------------------------------------------------------------------


def _judged(
    script: DoctestScript, imported: frozenset[str], program: Program, box: Sandbox
) -> _Judged:
    judged = _Judged(script, _outcomes(script.steps, program, box), imported)
    judged.look_again(program, box)
    return judged


def _outcomes(steps: Sequence[DoctestStep], program: Program, box: Sandbox) -> list[Row | Outcome]:
    """Return what each step showed; an outcome that ended the process comes last."""
    rows = _rows(steps, program, box, LOOKING)
    pairs = zip(steps, rows, strict=True) if isinstance(rows, list) else ()
    if not all(shows(row, step.want) for step, row in pairs):
        rows = _rows(steps, program, box, replace(LOOKING, alone=True))  # after no other script
    if isinstance(rows, list):
        return [*rows]
    if isinstance(rows, Raised):  # the program does not load
        return []
    sources = [step.source for step in steps]
    sessions = [DoctestSession((*sources[:size],), size) for size in range(1, len(sources) + 1)]
    known: list[Row] = []
    outcomes = box.run(program, sessions, _PATIENT)
    for size, outcome in enumerate(outcomes, 1):
        found = _read_rows(outcome, size)
        if isinstance(found, NotRun):
            break
        if not isinstance(found, list):
            return [*known, found]
        known = found
    return [*known]


def _rows(
    steps: Sequence[DoctestStep], program: Program, box: Sandbox, limits: Limits
) -> list[Row] | Outcome:
    return _rows_of(_session(steps, len(steps)), program, box, limits)


def _rows_of(
    session: DoctestSession, program: Program, box: Sandbox, limits: Limits
) -> list[Row] | Outcome:
    (outcome,) = box.run(program, [session], limits)
    return _read_rows(outcome, session.watched)


def _read_rows(outcome: Outcome, size: int) -> list[Row] | Outcome:
    if not isinstance(outcome, Returned):
        return outcome
    try:
        value = outcome.value
    except MalformedValue:
        return outcome
    rows = [value] if size == 1 else value
    if not isinstance(rows, list) or len(rows) != size or not all(map(_is_row, rows)):
        return outcome
    return rows


def _is_row(value: Any) -> bool:
    match value:
        case (str(), str() | None, bool()):
            return True
    return False


class _Judged:
    """The verdict on each step of a script."""

    def __init__(
        self, script: DoctestScript, outcomes: Sequence[Row | Outcome], imported: frozenset[str]
    ) -> None:
        self.steps = script.steps
        self.outcomes = outcomes
        self.failing: list[int] = []
        self.unclear: dict[int, str] = {}
        self.relevant = [
            index
            for index, step in enumerate(script.steps[: len(outcomes)])
            if index >= script.put_in and (script.own or step.depends)
        ]
        lost: set[str] = set()  # names that an example would have bound, had it been understood
        for index, (step, outcome) in enumerate(zip(script.steps, outcomes, strict=False)):
            if isinstance(outcome, tuple) and shows(outcome, step.want):
                lost -= step.binds
                continue
            reason = _own_fault(step, outcome, imported) or (
                "follows an example that is not understood" if step.reads & lost else None
            )
            if reason is None:
                self.failing.append(index)
                continue
            self.unclear[index] = reason
            lost |= step.binds
        self.unclear = {i: why for i, why in self.unclear.items() if i in self.relevant}
        self.failing = [index for index in self.failing if index in self.relevant]

    @property
    def count(self) -> int:
        return len(self.relevant)

    def look_again(self, program: Program, box: Sandbox) -> None:
        """Run the script once more where it fails: what differs is not understood."""
        shown = [i for i in self.failing if isinstance(self.outcomes[i], tuple)]
        if not shown:
            return
        again = _rows(self.steps[: shown[-1] + 1], program, box, _OTHER)
        for index in shown:
            before = self.outcomes[index]
            assert isinstance(before, tuple)
            if not isinstance(again, list):  # no time was left, for one
                self.unclear[index] = "it did not run a second time"
            elif not _stable(before, again[index], self.steps[index]):
                self.unclear[index] = "it differs from run to run, or from place to place"
            elif not before[1] and self._is_equal(index, before[0], program, box):
                self.unclear[index] = "what it shows is equal, in another order"
        self.failing = [index for index in self.failing if index not in self.unclear]

    def _is_equal(self, index: int, got: str, program: Program, box: Sandbox) -> bool:
        """Return whether what is wanted and what is shown are the same parts in another order, and
        equal where they are evaluated: a dictionary, or an object that holds one."""
        want = self.steps[index].want.text or ""
        if not want or sorted(_PARTS.findall(want)) != sorted(_PARTS.findall(got)):
            return False
        steps = (*(step.source for step in self.steps[: index + 1]), f"({want}) == ({got})\n")
        return _rows_of(DoctestSession(steps), program, box, LOOKING) == [("True\n", None, False)]


_PARTS = re.compile(r"\w+|[^\w\s]")


def _stable(one: Row, two: Row, step: DoctestStep) -> bool:
    """Return whether two runs failed alike: addresses may differ where none is expected."""
    if one[:2] == two[:2]:
        return True
    want = step.want.text or ""
    if without_addresses(want) != want:
        return False
    before, after = ([without_addresses(part or "") for part in row[:2]] for row in (one, two))
    return before == after


_MISSING = {
    "NameError": "a name of its own is missing",
    "FileNotFoundError": "a file or program of its own is missing",
    "SyntaxError": "it is not Python of this version",
}
_FORBIDDEN = {"PermissionError", "ConnectionError", "gaierror", "MaxRetryError", "URLError"}
"""Exceptions of a program that asks for the network, or for another process, here."""
_PACKAGE = {"ImportError", "ModuleNotFoundError"}


def _own_fault(step: DoctestStep, outcome: Row | Outcome, imported: frozenset[str]) -> str | None:
    """Return why a failure says nothing about the function; None if it does."""
    if not isinstance(outcome, tuple):
        return None if step.depends else "it does not end here"
    text, raised, inside = outcome
    if raised is not None:
        kind = raised.partition(":")[0].strip()
        if kind in _PACKAGE and (not inside or set(re.findall(r"\w+", raised)) & imported):
            return "a package is missing"
        wanted = (step.want.raised or "").partition(":")[0].strip()
        if wanted and kind.endswith(f".{wanted}"):
            return "only its layout differs"  # the exception without its module
        if wanted == kind and "..." in (step.want.raised or ""):
            lax = replace(step.want, options=step.want.options | doctest.ELLIPSIS)
            if shows(outcome, lax):
                return "only its layout differs"
        if wanted == kind:
            return "its exception has another message"
        if kind.rpartition(".")[2] in _FORBIDDEN:
            return "the sandbox does not allow what it does"
        return _MISSING.get(kind) if not inside else None
    want = step.want.text or ""
    if step.want.raised is None and _differs_in_layout(want, text):
        return "only its layout differs"
    if step.want.raised is None and not want:
        return "what it gives is left out"
    if _PROMPT.search(want):
        return "its output holds another prompt"
    return None


_PROMPT = re.compile(r"(?m)^\s*>{1,2} ?[\w.]+\(")
"""A line that is to look like an example and to be none."""
_ANYTHING = re.compile(r"(?m)^\s*\.\.\.\s*$|[\[({,]\s*\.\.\.|\.\.\.\s*[\])}]|\b0x\.\.\.")
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def _bare(text: str) -> list[str]:
    """The lines without blanks at their ends and without the ``u`` of Python 2's strings."""
    return [re.sub(r"\b[uU](?=['\"])", "", line.rstrip()) for line in text.split("\n")]


_OBJECT = re.compile(r"(?s)[A-Za-z_][\w.]*\(.*\)\s*")
"""Usual representation of an object: `Point(x=1, y='a')`."""


def _spelt(text: str) -> str:
    return re.sub(r"['\"\s]", "", text)


def _differs_in_layout(want: str, got: str) -> bool:
    """Return whether a value is only written otherwise: wrapped or cut short in the docstring
    without a directive to say so, blanks at the end of a line, Python 2's ``u''``, the quotes in an
    object's representation."""
    if _bare(want) == _bare(got):
        return True
    if _OBJECT.fullmatch(want) and _spelt(want) == _spelt(got):
        return True
    wrapped = want.count("\n") > 1 and got.count("\n") == 1
    cut = _ANYTHING.search(want) is not None and want[:1] not in "'\""
    cut |= want.startswith("<") and "..." in want
    cut |= want.endswith("...\n") and not is_literal(want)
    if not wrapped and not cut:
        return False
    flags = _LOOSE if cut else doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(want, got, flags):
        return True
    return wrapped and "".join(want.split()) == "".join(got.split())


# -- tests -----------------------------------------------------------------------------------------


def _tests(
    script: DoctestScript, judged: _Judged, problem: FunctionProblem, program: Program, box: Sandbox
) -> dict[int, UnitTest]:
    """A test for each example that is understood and hangs on the function, or fails."""
    steps, known = script.steps, judged.outcomes
    first = next(index for index, step in enumerate(steps) if step.depends)
    chosen = [
        index
        for index in judged.relevant
        if index not in judged.unclear
        and (index in judged.failing or (index >= first and _says_something(steps[index])))
    ]
    if not chosen:
        return {}
    slices = {index: slice_of(steps, index) for index in chosen}
    calls = {
        index: test
        for index, kept in slices.items()
        if kept == [index] and not script.caller
        and (test := _as_call(script, steps[index], problem.entry_point)) is not None
    }  # fmt: skip
    sessions = [index for index in chosen if index not in calls]
    short = [DoctestSession(tuple(steps[i].source for i in slices[index])) for index in sessions]
    outcomes = box.run(program, short, replace(_QUICK, stop_after=4)) if short else []
    tests = dict(calls)
    for index, session, outcome in zip(sessions, short, outcomes, strict=True):
        before = known[index]
        if isinstance(before, tuple) and not _same(outcome, before):
            whole = DoctestSession(tuple(step.source for step in steps[: index + 1]))
            (outcome,) = box.run(program, [whole], _QUICK)
            session = whole
            if not _same(outcome, before) and index not in judged.failing:
                continue  # it takes too long for a search
        tests[index] = _stated(session, script, steps[index])
    return {index: tests[index] for index in chosen if index in tests}


def _green(script: DoctestScript, judged: _Judged) -> Iterator[UnitTest]:
    """Yield the examples that pass, each as its whole session."""
    first = next(index for index, step in enumerate(script.steps) if step.depends)
    for index in judged.relevant:
        if index not in judged.unclear and index >= first and _says_something(script.steps[index]):
            yield _stated(_session(script.steps[: index + 1]), script, script.steps[index])


def _as_call(script: DoctestScript, step: DoctestStep, entry_point: str) -> UnitTest | None:
    """The example as a test of a call, where it shows a value or an exception."""
    match try_parse_statements(step.source):
        case [ast.Expr(value=node)] if isinstance(call := invocation(node, entry_point), Call):
            pass
        case _:
            return None
    source, raised = script.source(step), step.want.raised
    if raised is not None:
        kind = exception_name(raised)
        return UnitTest(call, None, kind, Trust.STATED, source, None, 0.99)
    try:
        value = parse_literal(step.want.text) if step.want.text else None
    except NotLiteral:
        return None
    return UnitTest(call, value, None, Trust.STATED, source, None, 0.99, typed=True)


def _says_something(step: DoctestStep) -> bool:
    """Return whether an example tests anything: a statement without output prepares others."""
    if step.want.text:
        return True
    last = (try_parse_statements(step.source) or [ast.Pass()])[-1]
    return isinstance(last, ast.Assert) or (isinstance(last, ast.Expr) and step.direct)


def _stated(session: DoctestSession, script: DoctestScript, step: DoctestStep) -> UnitTest:
    trust, sure = (Trust.HINT, 0.7) if script.caller else (Trust.STATED, 0.99)
    return UnitTest(session, step.want, None, trust, script.source(step), None, sure)


def _same(outcome: Outcome, row: Row) -> bool:
    if not isinstance(outcome, Returned):
        return False
    try:
        return _is_row(outcome.value) and outcome.value[:2] == row[:2]
    except MalformedValue:
        return False


def _consistent(tests: Sequence[UnitTest]) -> Iterator[UnitTest]:
    """Each test once."""
    seen: set[tuple[str, str]] = set()
    for test in tests:
        key = repr(test.call), repr((test.expected, test.raises))
        if key not in seen:
            seen.add(key)
            yield test
