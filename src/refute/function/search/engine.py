"""The LLM-free method: examples in, failing tests and fixes out."""

from __future__ import annotations

import ast
import builtins
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from refute.core.problems import DoctestSession, FunctionProblem, Invocation, Trust, UnitTest
from refute.function.contract import (
    Ask,
    Candidate,
    FailingTest,
    Finding,
    MethodResult,
    passes_note,
)
from refute.function.examples import understood, witnesses
from refute.function.search.choose import (
    MOST,
    SHOWN,
    Cluster,
    Hints,
    behaviour,
    believable,
    candidate,
    clustered,
    crashing,
    derived,
    differs,
    distinct,
    is_silent,
    met_by_accident,
    observed,
    of_fix,
    one_witness,
    question_for,
    rivals,
    shares,
    sound,
)
from refute.function.search.edit import brought_in, same
from refute.function.search.inputs import Tier, as_call
from refute.function.search.repair import PATIENT, Repair, repair, starting
from refute.function.search.rules import of_a_family
from refute.function.search.staged import is_staged, proposed_inputs
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Sandbox
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.pool import Timed
from refute.source.syntax import find_function, try_parse

_ENVIRONMENT = frozenset(
    {"ModuleNotFoundError", "ImportError", "PermissionError", "OSError", "FileNotFoundError"}
)
"""Exceptions that a lack of the machine raises, which are not the code's fault."""


def find_crashes(
    problem: FunctionProblem,
    calls: Sequence[Invocation],
    outcomes: Sequence[Outcome],
    *,
    limit: int = 5,
) -> list[Finding]:
    """Return at most `limit` findings, surest first, one for each way of failing.

    `outcomes[i]` is what the code under test did with `calls[i]`. Raises `ValueError` when the two
    differ in length.
    """
    unbound_here = unbound_names(problem.code)
    findings: dict[object, Finding] = {}
    for call, outcome in zip(calls, outcomes, strict=True):
        if not isinstance(outcome, Raised) or outcome.type in _ENVIRONMENT:
            continue
        said = re.match(r"name '(\w+)' is not defined", outcome.message)
        unbound = outcome.type == "NameError" and said and said[1] in unbound_here
        if outcome.on_import or unbound:
            where = "when it is loaded" if outcome.on_import else f"at line {outcome.line}"
            reason = f"raises {outcome.type} {where}: {outcome.message}"[:200].rstrip(": ")
            finding = Finding(call, "crash", outcome, reason)
            findings.setdefault((outcome.type, outcome.line), finding)
    return list(findings.values())[:limit]


_PYTHON = frozenset(dir(builtins)) | {"__file__", "__path__"}


@lru_cache(maxsize=8)  # a module's functions are looked at one after another
def unbound_names(code: str) -> frozenset[str]:
    """The names that a module reads and binds nowhere, nor does Python; none where it may bind
    names that cannot be read."""
    tree = try_parse(code)
    bound, opaque = _names(tree)
    if tree is None or opaque:
        return frozenset()
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(read - bound - _PYTHON)


def _names(tree: ast.Module | None) -> tuple[frozenset[str], bool]:
    """The names that a module binds anywhere, and whether it may have others."""
    bound: set[str] = set()
    opaque = tree is None
    for node in ast.walk(tree) if tree is not None else ():
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Global(names=names):
                bound.update(names)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                opaque |= any(alias.name == "*" for alias in aliases)
                bound.update((a.asname or a.name).partition(".")[0] for a in aliases)
            case ast.Name(id="exec" | "globals" | "setattr" | "vars"):
                opaque = True
    return frozenset(bound), opaque


__all__ = ["find_crashes", "search", "trusted_tests"]

TIME_UP = "time was up before all examples were looked at"
INPUTS = 120
"""Inputs on which survivors are told apart and derived tests are looked for."""
PROVING = 0.08
"""Least share of the budget that is kept back for running the first fixes as they are written."""
STAGING = 0.25
"""Share of the time for comparing fixes that making scenarios may take, at most."""
FEW_INPUTS = 4
SLOW_INPUTS = 0.1
"""Seconds from which on so few inputs say how long one takes."""
MOST_QUESTIONS = 3
CERTAIN = 0.7
ALONE = 0.85
"""Least confidence of a fix that is called one; and where there is one example, which wrong fixes
meet by accident. Set with he-fix (44 of 49 *fixed* right) and 53 bugs in packages of `dev`."""
LIKELY = 0.3
"""Least share of the weight of all fixes that the first must have where there is one example."""


@dataclass(slots=True)
class _State:
    """Data that `search` collects as it runs."""

    trusted: list[UnitTest]
    hints: list[UnitTest]
    notes: list[str] = field(default_factory=list)
    reservations: list[str] = field(default_factory=list)
    unrun: set[int] = field(default_factory=set)
    """Ids of tests that there was no time for: nothing is claimed about them."""
    tried: int = 0


def search(
    problem: FunctionProblem,
    *,
    box: Sandbox,
    budget: float = 10.0,
    seed: int = 0,
    ask: Ask | None = None,
    max_candidates: int | None = None,
) -> MethodResult:
    """Find failing tests for `problem.code`, and fixes that pass every trusted test.

    Trusted are the given tests and those that the description states or words; what only the code
    says about itself ranks fixes but never asks for one. Without a trusted test that fails there is
    nothing to repair: the result then holds what can be shown without an oracle (`find_crashes`).

    `budget`: seconds. `seed`: of the proposed inputs. `ask`: answers a question that tells
    the best fixes apart; the answer becomes a trusted test. `max_candidates`: try this many
    whatever the time: a result that does not depend on the clock. Raises `SandboxUnavailable`.
    """
    start = time.monotonic()
    box = Timed(box) if max_candidates is not None else Timed(box, start + budget)
    if box.over:  # else a large module is read, marked and copied before anybody looks at the clock
        return MethodResult((), (), notes=("time was up before any example ran",))
    notes: tuple[str, ...] = ()
    if problem.examples is None:
        problem, notes = understood(problem, box=box, described=True)
        if box.spent or box.over:
            notes = (*notes, TIME_UP)
        if box.over:
            return MethodResult(problem.examples or (), (), notes=notes)
    trusted, hints = trusted_tests(problem)
    state = _State(trusted, hints, [*notes])
    until = start + 0.8 * budget
    found = _repaired(problem, state, box, until, seed, max_candidates)
    candidates: list[Candidate] = []
    predicted: list[FailingTest] = []
    question = None
    lost = "fail when run as written"
    if found.survivors and found.trial is not None:
        with box.sooner(max(PROVING * budget, starting(found.trial, budget))):
            left = box.deadline - time.monotonic()
            inputs = proposed_inputs(
                problem,
                [test.call for test in state.trusted],
                box=box,
                seed=seed,
                most=INPUTS,
                seconds=None if max_candidates is not None else STAGING * left,
            )
            left = box.deadline - time.monotonic()
            inputs = affordable(found, inputs, left)
            known = Hints(tuple(hints), witnesses(problem, box=box))
            clusters = choose(found, inputs, known)
            before = observed(found.trial, [()], [call for call, _ in inputs])[0]
        for _ in range(MOST_QUESTIONS):
            assert found.trial is not None
            clusters = sound(found.trial, clusters)
            if not clusters and box.over:
                lost = "could not be run as written in time"
            question, index = None, -1
            if clusters:
                shown = clusters[:SHOWN]
                question, index = question_for(rivals(shown, before), inputs, shown)
            if ask is None or question is None:
                break
            asked = time.monotonic()
            try:
                answer = ask(question)
            except KeyError:
                break
            box.deadline += time.monotonic() - asked  # somebody thought
            test = UnitTest(question.call, answer, source="your answer")
            state.trusted.append(test)
            expected = expect_test(test)
            clusters = [c for c in clusters if matches(c.outcomes[index], expected)]
            question = None
            if not clusters:
                state.notes.append("no candidate agreed with the answer; searched again with it")
                until = time.monotonic() + 0.5 * budget
                box.deadline = max(box.deadline, until + 0.3 * budget)
                found = _repaired(problem, state, box, until, seed, max_candidates)
                if found.trial is None or not found.survivors:
                    break
                clusters = choose(found, inputs, known)
        if found.trial is not None and ask is not None:
            clusters = sound(found.trial, clusters)
        if clusters and _alone(problem, state.trusted) and crashing(clusters[0], inputs):
            lost = "crash on inputs like the one example"
            clusters, question = [], None
        parts = shares(clusters, before) if clusters else [1.0]
        foreign = ""
        if found.trial is not None and clusters and sum(not ok for ok in found.passed) == 1:
            [edit] = clusters[0].best.edits
            foreign = "" if of_a_family(edit.kind) else brought_in(edit, found.trial.tree)
        believed = not clusters or believable(clusters, parts[0], state.trusted)
        if not believed and (parts[0] < LIKELY or met_by_accident(state.trusted[0])):
            state.notes.append(_one_example(len(clusters)))
            lost = "are too many for one example"
            clusters, question = [], None
        if found.trial is not None and clusters:
            candidates = [
                candidate(found.trial, cluster, of_fix(cluster, part))
                for cluster, part in zip(clusters[:SHOWN], parts, strict=False)
            ]
            if believed and not foreign:
                predicted = derived(found.trial, clusters, inputs)
            asking = [t for t, ok in zip(found.tests, found.passed, strict=True) if not ok]
            if foreign:
                state.reservations.append(one_witness(foreign))
            if all(map(is_silent, asking)):
                state.reservations.append("what fails asks for no more than that nothing is raised")
            state.reservations += _reservations(
                candidates[0], clusters, len(state.trusted), believed
            )
            changed = found.trial.mutated(clusters[0].best.edits)
            state.reservations += changed_elsewhere(
                found.trial.mutated(()), changed, problem.entry_point
            )
            if question is None:
                state.reservations += untold(rivals(clusters[:SHOWN], before), inputs)
    failing = _failing(problem, state.trusted, found, box)
    findings: list[Finding] = []
    if not failing:
        findings = _without_oracle(problem, state, seed, box)
    elif not found.survivors:
        state.notes.append("no edit passes all examples: no fix is proposed")
    elif not candidates:
        state.notes.append(f"the fixes found {lost}: none is proposed")
    return MethodResult(
        given=tuple(state.trusted),
        failing=(*failing, *predicted),
        candidates=tuple(candidates),
        findings=tuple(findings),
        question=question,
        tried=state.tried,
        seconds=time.monotonic() - start,
        notes=tuple(dict.fromkeys(state.notes)),
        reservations=tuple(state.reservations),
    )


def _alone(problem: FunctionProblem, trusted: Sequence[UnitTest]) -> bool:
    """Return whether there is only one example, and it shows what other inputs look like."""
    plain = (as_call(test.call, problem.entry_point) for test in trusted)
    return len(trusted) == 1 and any(call is not None for call in plain)


def _reservations(
    first: Candidate, clusters: Sequence[Cluster], examples: int, believed: bool
) -> Iterator[str]:
    """Yield the reasons why the first fix is only a proposal."""
    confidence = first.confidence or 0.0
    for test in clusters[0].lost[:1]:
        yield f"{test.source} passes now and would fail"
    if any(isinstance(outcome, NotRun) for outcome in clusters[0].outcomes):
        yield "time was up before all was known about it"
    if not believed or confidence < (ALONE if examples == 1 else CERTAIN):
        yield _one_example(len(clusters)) if examples == 1 else "fixes like it are too often wrong"


def changed_elsewhere(before: ast.Module, after: ast.Module, entry_point: str) -> Iterator[str]:
    """Yield what a fix changes outside the requested function: others may rely on it."""
    own = entry_point.partition(".")[0]
    method, changed = find_function(before, entry_point), find_function(after, entry_point)
    if own != entry_point and method is not None and changed is not None and same(method, changed):
        yield f"it changes what lies outside of {entry_point}, which more than that may use"
    for was, now in zip(before.body, after.body, strict=False):
        name = getattr(was, "name", None)
        if name != own and not same(was, now):
            place = name or "what lies outside of functions"
            yield f"it changes {place}, which more than {own} may use"


def untold(likely: Sequence[Cluster], inputs: Sequence[tuple[Invocation, Tier]]) -> list[str]:
    """Say where fixes that are nearly as likely differ on examples with other values in them."""
    for index, (call, _) in enumerate(inputs):
        outcomes = [cluster.outcomes[index] for cluster in likely]
        if is_staged(call) and any(differs(outcomes[0], one) for one in outcomes[1:]):
            last = call.steps[-1].strip() if isinstance(call, DoctestSession) else call.source
            text = "; ".join(last.split("\n"))
            return [f"another fix that is as likely does otherwise with `{text}`"]
    return []


def _one_example(fixes: int) -> str:
    if fixes == 1:
        return "one example does not say enough: give another"
    return f"one example does not tell {fixes} possible fixes apart: give another"


def trusted_tests(problem: FunctionProblem) -> tuple[list[UnitTest], list[UnitTest]]:
    """The tests to believe (given, stated, worded) and the hints, each call once."""
    read = problem.examples or ()
    trusted: dict[str, UnitTest] = {}
    hints: list[UnitTest] = []
    for test in (*problem.tests, *sorted(read, key=lambda t: t.trust)):
        if test.trust <= Trust.WORDED:
            trusted.setdefault(repr(test.call), test)
        elif test.trust == Trust.HINT and test.raises is None:
            hints.append(test)
    return list(trusted.values()), [h for h in hints if repr(h.call) not in trusted]


def _repaired(
    problem: FunctionProblem,
    state: _State,
    box: Sandbox,
    until: float,
    seed: int,
    max_candidates: int | None,
) -> Repair:
    found = repair(
        problem,
        state.trusted,
        box=box,
        budget=max(0.5, until - time.monotonic()),
        seed=seed,
        max_candidates=max_candidates,
    )
    state.notes += found.notes
    state.tried += found.trial.tried if found.trial is not None else 0
    state.unrun = {id(test) for test in found.unrun}
    state.trusted = [test for test in state.trusted if id(test) not in state.unrun]
    return found


def _failing(
    problem: FunctionProblem, trusted: Sequence[UnitTest], found: Repair, box: Sandbox
) -> list[FailingTest]:
    """The trusted tests that the code under test fails."""
    known = {
        id(test): FailingTest(test, outcome)
        for test, outcome, ok in zip(found.tests, found.outcomes, found.passed, strict=True)
        if not ok
    }
    seen = set(map(id, found.tests))
    answers = [test for test in trusted if id(test) not in seen]
    outcomes = (
        box.run(Program(problem.code, problem.entry_point), [t.call for t in answers], PATIENT)
        if answers
        else []
    )
    for test, outcome in zip(answers, outcomes, strict=True):
        if not isinstance(outcome, NotRun) and not matches(outcome, expect_test(test)):
            known[id(test)] = FailingTest(test, outcome)
    return [known[id(test)] for test in trusted if id(test) in known]


def _without_oracle(
    problem: FunctionProblem, state: _State, seed: int, box: Timed
) -> list[Finding]:
    """Return what can be shown when no trusted test fails."""

    count = len(state.trusted)
    if count:
        state.notes.append(passes_note(count))
    elif not state.unrun:
        state.notes.append("no example says what is right: no oracle for outputs")
    program = Program(problem.code, problem.entry_point)
    # Only a name that nothing binds is worth running inputs for: every other crash may be meant.
    doubt = not box.over and unbound_names(problem.code)
    known = [test.call for test in state.trusted]
    inputs = proposed_inputs(problem, known, box=box, seed=seed, most=INPUTS) if doubt else []
    calls = [call for call, _ in inputs]
    limits = Limits(cpu=0.5, wall=3.0, stop_after=3)
    outcomes = box.run(program, calls, limits) if calls else []
    if state.hints:
        said = box.run(program, [hint.call for hint in state.hints], limits)
        for hint, outcome in zip(state.hints, said, strict=True):
            if not isinstance(outcome, NotRun) and not matches(outcome, expect_test(hint)):
                state.notes.append(
                    f"a hint disagrees with the code: {hint.source or 'a comment'}; "
                    "a hint alone is not believed"
                )
                break
    return [] if box.over else again(problem, find_crashes(problem, calls, outcomes), box)


def again(problem: FunctionProblem, findings: Sequence[Finding], box: Sandbox) -> list[Finding]:
    """The findings whose input ends the same way a second time, with more time to do so."""
    program, limits = Program(problem.code, problem.entry_point), Limits(cpu=2.0, wall=8.0)
    kept: list[Finding] = []
    for finding in findings:
        (outcome,) = box.run(program, [finding.call], limits)
        same = type(outcome) is type(finding.actual)
        if same and behaviour([outcome]) == behaviour([finding.actual]):
            kept.append(finding)
    return kept


def affordable(
    found: Repair, inputs: list[tuple[Invocation, Tier]], left: float
) -> list[tuple[Invocation, Tier]]:
    """As many inputs as all survivors can be run on in what is `left` of the seconds, or in 1.5."""
    trial = found.trial
    if trial is None or trial.max_candidates is not None:
        return inputs
    each = 0.0
    for count in (FEW_INPUTS, 6 * FEW_INPUTS):  # of a few cheap ones the start takes most
        sample = inputs[:count]
        start = time.monotonic()
        trial.behaviours([()], [call for call, _ in sample])
        seconds = time.monotonic() - start
        each = seconds / max(1, len(sample))
        if seconds > SLOW_INPUTS or len(sample) < count:
            break
    most = min(1.5, 0.6 * left) / (each * (1 + min(MOST, len(found.survivors))))
    return inputs[: max(FEW_INPUTS, int(most))]


def choose(found: Repair, inputs: Sequence[tuple[Invocation, Tier]], hints: Hints) -> list[Cluster]:
    """Survivors grouped by behaviour, best first."""
    assert found.trial is not None
    survivors = distinct(found.trial, found.survivors)
    return clustered(found.trial, survivors, inputs, hints)
