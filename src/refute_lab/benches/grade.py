"""Grading at function level: predictions against answer keys. No method is ever handed to a grader.

Metrics are those of UTGen (arXiv 2502.01619, section 4). For a generated unit test with input x and
expected output y, the reference r and the faulty code f:

- it *attacks* when r(x) and f(x) differ (f may also raise or time out);
- its *output is accurate* when y equals r(x);
- *accuracy and attack*: both.

Equality is the problem's own: its tolerance, its special checker. A test whose input is invalid
(the reference does not return for it, or something that cannot be compared, or it violates the
key's contract) is neither, and counts.
*Code accuracy* is the share of programs that pass all private tests.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import math
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from refute.core.problems import (
    Call,
    Count,
    FunctionKey,
    FunctionPrediction,
    FunctionProblem,
    Invocation,
    Number,
    Trust,
    UnitTest,
)
from refute.core.storage import cache_folder, read_file, unpack, write_atomically
from refute.sandbox import (
    Killed,
    Limits,
    Outcome,
    OutOfMemory,
    Program,
    Raised,
    Returned,
    Sandbox,
    TimedOut,
    nodes,
    values,
)
from refute.sandbox.equality import Expected, matches, raised_as
from refute.sandbox.pool import Waits, finished, run_in_steps
from refute.source.syntax import parse_module
from refute_lab.figures import Figure, clustered

DEFAULT_LIMITS = Limits()
_STEPS = (0.25, 1.0, 4.0, 16.0)
"""CPU seconds that the reference is given, one after the other, for calls that need them."""
_FACTOR = 4.0
_LARGE = 4 << 30
_VERSION = 7


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """A key's private unit tests, ready to be run and compared."""

    id: str
    calls: tuple[Call, ...]
    expected: tuple[Expected, ...]
    """Expected outcome of each call."""
    limits: tuple[Limits, ...]
    """Limits of each call; few different ones."""
    seconds: float = 0.0
    """Wall seconds that the reference took for all of its inputs; 0 where there is none."""
    invalid: tuple[tuple[int, str], ...] = ()
    """Inputs without an expected output, because the reference does not return: their index in the
    key and how the reference ends. They are not among `calls`."""


def expected_outputs(
    key: FunctionKey,
    box: Sandbox,
    *,
    limits: Limits = DEFAULT_LIMITS,
    cache: Path | str | None = None,
) -> GroundTruth:
    """The key's private tests with expected outputs and limits.

    `limits`: the least that any call gets.
    `cache`: directory; None: REFUTE_CACHE or ``~/.cache/refute``; an empty string: none. Raises
    `SandboxUnavailable`, and `ValueError` when the reference returns for none of the inputs, or
    something that cannot be compared (a function, an endless iterator, an object of unknown state).
    """
    calls = tuple(map(Call, key.inputs))
    allowed, outputs, invalid, seconds = _reference_results(key, calls, box, limits, cache)
    if key.seconds is not None:
        allowed = [replace(one, cpu=key.seconds) for one in allowed]
    kept, expected = [], []
    stated = key.expected
    for index, args in enumerate(key.inputs):
        if stated is not None:
            data = values.encode(stated[index])
        elif outputs[index] is None:
            continue
        else:
            data = outputs[index] or b""
        kept.append(index)
        right = Expected(data, atol=key.atol, checker=key.checker, args=args)
        if not right.comparable:
            shown = " ".join(f"{right.value!r:.80}".split())
            raise ValueError(f"{key.id}: cannot compare the output of input {index + 1}: {shown}")
        expected.append(right)
    if key.inputs and not kept:
        raise ValueError(f"{key.id}: the reference returns for none of its inputs: {invalid[0][1]}")
    return GroundTruth(
        id=key.id,
        calls=tuple(calls[i] for i in kept),
        expected=tuple(expected),
        limits=tuple(allowed[i] for i in kept),
        seconds=seconds,
        invalid=() if stated is not None else tuple(invalid),
    )


def run_within(
    program: Program,
    calls: Sequence[Invocation],
    allowed: Sequence[Limits],
    box: Sandbox,
    *,
    stop_after: int | None = None,
    run_wall: float | None = None,
) -> list[Outcome]:
    """See `steps_within`."""
    return finished(
        steps_within(program, calls, allowed, box, stop_after=stop_after, run_wall=run_wall)
    )


def steps_within(
    program: Program,
    calls: Sequence[Invocation],
    allowed: Sequence[Limits],
    box: Sandbox,
    *,
    stop_after: int | None = None,
    run_wall: float | None = None,
) -> Waits[list[Outcome]]:
    """Run the calls, each within its own limits; one run for each limits that occur.

    `stop_after`: give up after so many seconds' worth of calls that were cut short, at least two;
    0: after the first.
    `run_wall`: or after so many seconds in all.
    """
    outcomes: dict[int, Outcome] = {}
    for limits in dict.fromkeys(allowed):
        chosen = [i for i, own in enumerate(allowed) if own is limits or own == limits]
        some = calls if len(chosen) == len(calls) else [calls[i] for i in chosen]
        patience = stop_after and max(2, math.ceil(stop_after / limits.cpu))
        patience = 1 if stop_after == 0 else patience
        began = time.monotonic()
        within = replace(limits, stop_after=patience, run_wall=run_wall)
        results = yield from run_in_steps(box, program, some, within)
        if run_wall is not None:
            run_wall = max(0.0, run_wall - (time.monotonic() - began))
        outcomes.update(zip(chosen, results, strict=True))
    return [outcomes[i] for i in range(len(calls))]


# -- the reference's results -----------------------------------------------------------------------

_Results = tuple[list[Limits], list[bytes | None], list[tuple[int, str]], float]
"""Limits and encoded output of each call, how the others end, and the seconds that it took."""


def _reference_results(
    key: FunctionKey,
    calls: tuple[Call, ...],
    box: Sandbox,
    limits: Limits,
    cache: Path | str | None,
) -> _Results:
    if not key.reference or not calls:
        return [limits] * len(calls), [None] * len(calls), [], 0.0
    file = _cache_file(key, limits, cache)
    stored = None if file is None else _read(file, len(calls), limits)
    if stored is not None:
        return stored
    program = Program(key.reference, key.entry_point, "<reference>")
    began = time.monotonic()
    steps, outcomes = _climb(program, calls, box, limits)
    seconds = time.monotonic() - began
    outputs = [o.data if isinstance(o, Returned) else None for o in outcomes]
    invalid = [(i, repr(outcomes[i])) for i, data in enumerate(outputs) if data is None]
    if file is not None and not any(isinstance(o, Killed) for o in outcomes):
        _write(file, _Stored(steps, outputs, invalid, seconds))
    return _allowances(steps, limits), outputs, invalid, seconds


_Step = tuple[int, bool]  # index into `_STEPS`, and whether the large memory was needed


def _climb(
    program: Program, calls: Sequence[Call], box: Sandbox, limits: Limits
) -> tuple[list[_Step], list[Outcome]]:
    """Run the calls with limits that grow until each returns; the step that each call ended at."""
    steps: list[_Step] = [(0, False)] * len(calls)
    outcomes: dict[int, Outcome] = {}
    left = list(range(len(calls)))
    while left:
        for step in sorted({steps[i] for i in left}):
            some = [i for i in left if steps[i] == step]
            memory = max(limits.memory, _LARGE) if step[1] else limits.memory
            within = replace(limits, cpu=_STEPS[step[0]], wall=None, memory=memory)
            results = box.run(program, [calls[i] for i in some], within)
            outcomes.update(zip(some, results, strict=True))
        again = []
        for i in left:
            level, large = steps[i]
            if isinstance(outcomes[i], TimedOut) and level + 1 < len(_STEPS):
                steps[i] = (level + 1, large)
                again.append(i)
            elif isinstance(outcomes[i], OutOfMemory) and not large:
                steps[i] = (level, True)
                again.append(i)
        left = again
    return steps, [outcomes[i] for i in range(len(calls))]


def _allowances(steps: Sequence[_Step], limits: Limits) -> list[Limits]:
    """Return the limits of programs under test, given the steps at which the reference ended."""
    made = {
        (level, large): replace(
            limits,
            cpu=max(limits.cpu, _FACTOR * _STEPS[level]),
            memory=max(limits.memory, _LARGE) if large else limits.memory,
        )
        for level, large in set(steps)
    }
    return [made[step] for step in steps]


# -- the cache -------------------------------------------------------------------------------------


def _cache_file(key: FunctionKey, limits: Limits, cache: Path | str | None) -> Path | None:
    if cache == "":
        return None
    directory = Path(cache) if cache else cache_folder()
    about = [_VERSION, sys.version_info[:2], key.reference, key.entry_point]
    about += [limits.cpu, limits.memory, limits.output]
    digest = hashlib.sha256(json.dumps(about).encode())
    digest.update(values.encode(key.inputs))
    return directory / "truth" / f"{digest.hexdigest()[:40]}.gz"


class _Stored(msgspec.Struct):
    """A file of results."""

    steps: list[tuple[Count, bool]]
    outputs: list[bytes | None]
    ends: list[tuple[Count, str]]
    seconds: Number


_LARGEST = 1 << 30
"""Bytes of stored results, unpacked."""


def _read(file: Path, count: int, limits: Limits) -> _Results | None:
    """The stored results; None where there are none, or none that can be used."""
    try:
        stored = msgspec.msgpack.decode(unpack(read_file(file), limit=_LARGEST), type=_Stored)
        for output in filter(None, stored.outputs):
            nodes.decode(output)
    except (OSError, ValueError):  # a `MalformedValue` is one
        return None
    if not len(stored.steps) == len(stored.outputs) == count:
        return None
    if any(level >= len(_STEPS) for level, _ in stored.steps):
        return None
    if any(index >= count for index, _ in stored.ends):
        return None
    return _allowances(stored.steps, limits), stored.outputs, stored.ends, stored.seconds


def _write(file: Path, stored: _Stored) -> None:
    """Store whole or not at all; a cache that cannot be written is only slower."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        data = gzip.compress(msgspec.msgpack.encode(stored), 1)
        write_atomically(file, data, mode=0o600, durable=False)
    except OSError:
        pass


# -- grade -----------------------------------------------------------------------------------------


STOP_AFTER = 10
"""CPU seconds that calls which are cut short may waste, before the rest counts as failed."""
STOP_RELEASED = 60
"""The same where the key says how long a call may take (`FunctionKey.seconds`): UTGen's released
code gives a program 60 seconds."""
RUN_WALL, RUN_FACTOR = 60.0, 10.0
"""Seconds that a program may take for all private tests: so many, and so many times those of the
reference. A program that sleeps a little in each of 1,000 calls would take hours."""
TEST_LIMITS = Limits(cpu=2.0, run_wall=RUN_WALL)
SHOWN = 3
"""Candidates that are graded, first ones first (`code_accuracy_top3`)."""


@dataclass(frozen=True, slots=True)
class ProgramGrade:
    """One program against the private unit tests."""

    passed: bool
    """It passes all of them."""
    verdicts: tuple[bool, ...]
    """One per private test, in the key's order."""
    outcomes: tuple[Outcome, ...]

    @property
    def pass_rate(self) -> float:
        """Share of the private tests that it passes, in [0, 1]."""
        return sum(self.verdicts) / len(self.verdicts) if self.verdicts else 0.0


@dataclass(frozen=True, slots=True)
class TestVerdict:
    """One generated unit test against reference and faulty code."""

    __test__ = False  # not a test class of pytest

    valid: bool
    """The reference returns for its input (or raises what the test expects)."""
    attacks: bool
    accurate: bool

    @property
    def both(self) -> bool:
        """Accuracy and attack."""
        return self.attacks and self.accurate


@dataclass(frozen=True, slots=True)
class TestGrade:
    """The generated unit tests of one problem."""

    __test__ = False

    verdicts: tuple[TestVerdict, ...]

    @property
    def attacks(self) -> int:
        """Number of tests that attack."""
        return sum(v.attacks for v in self.verdicts)

    @property
    def accurate(self) -> int:
        """Number of tests with the right output."""
        return sum(v.accurate for v in self.verdicts)

    @property
    def both(self) -> int:
        """Number of tests that attack with the right output."""
        return sum(v.both for v in self.verdicts)


@dataclass(frozen=True, slots=True)
class Grade:
    """A method's prediction for one problem, graded."""

    problem: str
    tests: TestGrade
    programs: tuple[ProgramGrade, ...]
    """The proposed fixes, best first, at most three; the code as it was where none is proposed."""
    fixed: bool
    """The method proposed a fix."""

    @property
    def passed(self) -> bool:
        """The first choice passes all private tests."""
        return self.programs[0].passed

    @property
    def passed_top3(self) -> bool:
        """One of the first three does."""
        return any(program.passed for program in self.programs)


# -- programs --------------------------------------------------------------------------------------


def grade_program(
    source: str,
    key: FunctionKey,
    box: Sandbox,
    *,
    truth: GroundTruth | None = None,
    stop_after: int | None = STOP_AFTER,
) -> ProgramGrade:
    """Run a program on the private inputs and compare. Raises `SandboxUnavailable`.

    `truth`: what `expected_outputs` gave for the key, if known. `stop_after`: give up
    after so many seconds of calls that were cut short (time-out, crash), two calls at least (more
    seconds where the key has limits of its own), or after `RUN_WALL` seconds in all; a test that is
    not run is one that the program fails. None: never give up.
    """
    if truth is None:
        truth = expected_outputs(key, box)
    program = Program(source, key.entry_point)
    if key.seconds is not None and stop_after is not None:
        stop_after = max(stop_after, STOP_RELEASED)
    run_wall = None
    if stop_after is not None:
        run_wall = RUN_WALL * stop_after / STOP_AFTER + RUN_FACTOR * truth.seconds
    outcomes = run_within(
        program, truth.calls, truth.limits, box, stop_after=stop_after, run_wall=run_wall
    )
    verdicts = tuple(map(matches, outcomes, truth.expected))
    return ProgramGrade(all(verdicts), verdicts, tuple(outcomes))


def grade_prediction(
    prediction: FunctionPrediction,
    problem: FunctionProblem,
    key: FunctionKey,
    box: Sandbox,
    *,
    truth: GroundTruth | None = None,
) -> Grade:
    """Grade the tests and the fixes that a method proposed. Raises `SandboxUnavailable`.

    A method that abstains, or believes the code right, leaves the code as it was: that is graded.
    """
    if truth is None:
        truth = expected_outputs(key, box)
    sources = prediction.candidates[:SHOWN] or (problem.code,)
    return Grade(
        problem=problem.id,
        tests=grade_tests(prediction.tests, problem, key, box),
        programs=tuple(grade_program(source, key, box, truth=truth) for source in sources),
        fixed=bool(prediction.candidates),
    )


# -- unit tests ------------------------------------------------------------------------------------


def grade_tests(
    tests: Sequence[UnitTest],
    problem: FunctionProblem,
    key: FunctionKey,
    box: Sandbox,
    *,
    limits: Limits = TEST_LIMITS,
) -> TestGrade:
    """Attack, output accuracy and both for each generated test. Raises `SandboxUnavailable`."""
    tests = list(tests)
    crossing = [test for test in tests if _can_cross(test)]
    calls = [test.call for test in crossing]
    if not calls:
        return TestGrade(tuple(TestVerdict(False, False, False) for _ in tests))
    right = box.run(_contracted(key), calls, limits)
    faulty = box.run(Program(problem.code, problem.entry_point), calls, limits)
    verdicts = map(_verdict, crossing, right, faulty, [key] * len(calls))
    graded = dict(zip(map(id, crossing), verdicts, strict=True))
    return TestGrade(tuple(graded.get(id(t), TestVerdict(False, False, False)) for t in tests))


def _can_cross(test: UnitTest) -> bool:
    """Return whether the arguments can be given to a sandboxed call at all."""
    if not isinstance(test.call, Call):
        return True
    return values.crosses((test.call.args, dict(test.call.kwargs)))


def _verdict(test: UnitTest, right: Outcome, faulty: Outcome, key: FunctionKey) -> TestVerdict:
    if isinstance(right, Returned):
        plain = isinstance(test.call, Call) and not test.call.kwargs
        truth = Expected(
            right.data,
            atol=key.atol,
            checker=key.checker if plain else None,  # a checker looks at outputs of the function
            args=test.call.args if isinstance(test.call, Call) else (),
        )
        if not truth.comparable:
            return TestVerdict(False, False, False)
        stated = Returned(values.encode(test.expected))
        accurate = test.raises is None and matches(stated, truth)
        return TestVerdict(True, not matches(faulty, truth), accurate)
    if isinstance(right, Raised) and test.raises is not None and not _is_breach(right, key):
        accurate = raised_as(right, test.raises)
        return TestVerdict(accurate, accurate and not raised_as(faulty, test.raises), accurate)
    return TestVerdict(False, False, False)


def _is_breach(right: Outcome, key: FunctionKey) -> bool:
    return key.contract is not None and isinstance(right, Raised) and right.type == "AssertionError"


def _contracted(key: FunctionKey) -> Program:
    """The reference with the contract's statements first in the entry point's body."""
    if not key.contract or not key.contract.strip():
        return Program(key.reference, key.entry_point, "<reference>")
    try:
        statements = parse_module(textwrap.dedent(key.contract)).body
        tree = parse_module(key.reference)
    except SyntaxError as e:
        raise ValueError(f"{key.id}: contract or reference is not Python: {e}") from None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == key.entry_point:
            docstring = ast.get_docstring(node, clean=False) is not None
            node.body[docstring:docstring] = statements
    code = compile(ast.fix_missing_locations(tree), "<reference>", "exec", dont_inherit=True)
    return Program(code, key.entry_point, "<reference>")


# -- the experiment "given N right failing tests" --------------------------------------------------


def with_failing_tests(
    problem: FunctionProblem,
    key: FunctionKey,
    box: Sandbox,
    count: int,
    *,
    truth: GroundTruth | None = None,
) -> FunctionProblem:
    """The problem with `count` right failing unit tests added to its given ones.

    They are the first private inputs on which reference and code under test differ, with the right
    outputs: what a perfect test generator would supply. Outputs that are no plain values cannot be
    stated as a test and are passed over; there may be fewer than `count`. The private tests that
    are shown this way still count in the grading.
    """
    if truth is None:
        truth = expected_outputs(key, box)
    grade = grade_program(problem.code, key, box, truth=truth)
    tests: list[UnitTest] = []
    for call, expected, passed in zip(truth.calls, truth.expected, grade.verdicts, strict=True):
        if len(tests) >= count:
            break
        if passed:
            continue
        try:
            values.encode(expected.value, strict=True)
        except (values.Unencodable, values.MalformedValue):
            continue
        source = f"given failing test {len(tests) + 1}"
        tests.append(UnitTest(call, expected.value, trust=Trust.STATED, source=source))
    return replace(problem, tests=(*problem.tests, *tests))


def with_gold_outputs(
    problem: FunctionProblem, key: FunctionKey, calls: Sequence[Invocation], box: Sandbox
) -> FunctionProblem:
    """The problem with these inputs as given tests, as far as the reference returns for them, with
    its outputs: what a test generator that never errs about outputs would supply."""
    program = Program(key.reference, key.entry_point, "<reference>")
    outcomes = box.run(program, calls, TEST_LIMITS) if calls else []
    tests = []
    for call, outcome in zip(calls, outcomes, strict=True):
        if not isinstance(outcome, Returned):
            continue
        try:
            values.encode(outcome.value, strict=True)
        except (values.Unencodable, values.MalformedValue):
            continue
        tests.append(UnitTest(call, outcome.value, source="gold output"))
    return replace(problem, tests=tuple(tests))


# -- figures ---------------------------------------------------------------------------------------


def metrics(grades: Sequence[Grade]) -> dict[str, Figure]:
    """All figures of a run, by name; problems count once each, whatever their number of tests.

    `attack_rate`, `output_accuracy`, `accuracy_and_attack`: over the generated tests. `hit_rate`:
    share of problems with at least one test that is right and attacks. `tested`: share of problems
    with any test. `code_accuracy`, `code_accuracy_top3`: share of problems whose first choice (one
    of the first three) passes all private tests. `pass_rate`: share of private tests that the first
    choice passes, mean over problems. `fixed`: share of problems for which a fix was proposed.
    `fix_precision`: share of those fixes that pass all private tests.

    Several grades of one problem (several runs) are one cluster: what varies from run to run and
    what varies from problem to problem are both in the standard error, and a problem that was run
    three times does not count as three.
    """
    return {
        "attack_rate": _ratio(grades, lambda g: (g.tests.attacks, len(g.tests.verdicts))),
        "output_accuracy": _ratio(grades, lambda g: (g.tests.accurate, len(g.tests.verdicts))),
        "accuracy_and_attack": _ratio(grades, lambda g: (g.tests.both, len(g.tests.verdicts))),
        "hit_rate": _ratio(grades, lambda g: (g.tests.both > 0, 1)),
        "tested": _ratio(grades, lambda g: (len(g.tests.verdicts) > 0, 1)),
        "code_accuracy": _ratio(grades, lambda g: (g.passed, 1)),
        "code_accuracy_top3": _ratio(grades, lambda g: (g.passed_top3, 1)),
        "pass_rate": _ratio(grades, lambda g: (g.programs[0].pass_rate, 1)),
        "fixed": _ratio(grades, lambda g: (g.fixed, 1)),
        "fix_precision": _ratio(grades, lambda g: (g.fixed and g.passed, g.fixed)),
    }


def _ratio(grades: Sequence[Grade], part: Callable[[Grade], tuple[float, int]]) -> Figure:
    """`part` gives (sum, count) of one grade."""
    groups: dict[str, tuple[float, int]] = {}
    for grade in grades:
        total, count = groups.get(grade.problem, (0.0, 0))
        more, counted = part(grade)
        groups[grade.problem] = (total + more, count + counted)
    return clustered(list(groups.values()))
