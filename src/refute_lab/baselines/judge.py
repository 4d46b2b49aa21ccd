"""Best of N: rank candidate programs for one task, by generated tests or by what they do.

The paper's judge (UTGen, arXiv 2502.01619, best of N) generates three unit tests for each
candidate, collates them and takes the candidate that passes the most. Here a judge gives each
candidate a `Score`, and `ranked` orders them by a rule. Ours (`trusted`):

1. fewer failures among the certain tests (given, or stated formally by the description);
2. a higher score: the share of the generated tests that it passes, each test counted with its
   confidence; a reward model's score; without a model there is none;
3. more agreement: the mean share of the other candidates that return the same on probing inputs.

What is equal in all three has the same rank, and stands in the order in which it was given. The
paper's rules (Table 3) look at one figure: at how many of the generated tests are passed (`count`),
or at the reward model's score (`reward`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from refute.core.combinators import cross_check, rank
from refute.core.problems import Call, FunctionProblem, ProjectTest, UnitTest, Want
from refute.errors import InputError
from refute.function.formatting import call_source
from refute.function.llm.generation import Generator, Sampler, same_output
from refute.function.llm.options import SuiteOptions
from refute.function.llm.results import Output, Suite, SuiteRun, certain_tests, try_code
from refute.function.llm.search_partner import multiplied
from refute.function.suite import SECONDS, run_with
from refute.models.contract import Asker, together
from refute.prompts import render
from refute.sandbox import Limits, Outcome, Program, Raised, Returned
from refute.sandbox.equality import equal
from refute.sandbox.pool import AsyncSandbox
from refute.sandbox.values import MalformedValue
from refute.workspace.factory import committed, in_checkout
from refute.workspace.running import reason_of
from refute_lab.baselines.utdebug import build_ut
from refute_lab.models.reward import Scorer


@dataclass(frozen=True, slots=True)
class Majority:
    """The output that most programs return for one input."""

    output: Returned
    support: int
    """Programs that return it."""
    of: int
    """Programs that were run on it."""
    rest: tuple[tuple[Returned, int], ...] = ()
    """The other outputs with their programs."""

    @property
    def share(self) -> float:
        """Of all programs, in (0, 1]."""
        return self.support / self.of


def agree(one: Outcome, other: Outcome) -> bool:
    """Return whether two programs returned equal values; an exception agrees with nothing."""
    if not isinstance(one, Returned) or not isinstance(other, Returned):
        return False
    try:
        return one == other or equal(one.value, other.value)
    except MalformedValue:
        return False


def majority(column: Sequence[Outcome]) -> Majority | None:
    """Return what most programs return for one input: the first seen of equal outputs.

    None where fewer than half of them return at all (the input is then most likely not allowed),
    and where what they return cannot be compared.
    """
    kinds: list[tuple[Returned, int]] = []
    for outcome in column:
        if not isinstance(outcome, Returned) or not _comparable(outcome):
            continue
        for at, (known, count) in enumerate(kinds):
            if agree(outcome, known):
                kinds[at] = known, count + 1
                break
        else:
            kinds.append((outcome, 1))
    if not kinds or 2 * sum(count for _, count in kinds) < len(column):
        return None
    best = max(kinds, key=lambda kind: kind[1])
    rest = tuple(kind for kind in kinds if kind is not best)
    return Majority(best[0], best[1], len(column), rest)


def _comparable(outcome: Returned) -> bool:
    """Return whether it holds a complete value; a hostile program may return any bytes."""
    try:
        outcome.value  # noqa: B018
    except MalformedValue:
        return False
    return outcome.complete


def alike(rows: Sequence[Sequence[Outcome]]) -> list[list[int]]:
    """The numbers of the programs, those together that do the same on every input, in the order in
    which they come. What raises the same type of exception does the same here."""
    groups: list[list[int]] = []
    for number, row in enumerate(rows):
        for group in groups:
            if all(map(_same, rows[group[0]], row)):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _same(one: Outcome, other: Outcome) -> bool:
    if isinstance(one, Returned) and isinstance(other, Returned):
        return agree(one, other)
    if isinstance(one, Raised) and isinstance(other, Raised):
        return one.type == other.type
    return type(one) is type(other)


Rule = Literal["trusted", "count", "reward"]
"""See the module."""
_LIMITS = Limits(cpu=0.3, memory=512 << 20, output=1 << 20, stop_after=3)


@dataclass(frozen=True, slots=True)
class Placed:
    """One candidate in the ranking."""

    index: int
    """Its number in the order given, from 0."""
    rank: int
    """Counted from 1; equals share a rank, and the next one's counts them all."""
    passed: int
    """Tests that it passes, certain and generated."""
    certain: int
    """Certain tests that it fails."""
    score: float | None
    """Higher is better; comparable within one judgement only. None: nothing was there to give one
    (no generated test, no reward model)."""
    agreement: float
    """In [0, 1]."""


@dataclass(frozen=True, slots=True)
class CandidateRanking:
    """The candidates best first, and the tests that they were run on."""

    tests: tuple[UnitTest, ...]
    """Certain tests first."""
    ranking: tuple[Placed, ...]
    rule: Rule = "trusted"
    suites: tuple[Suite, ...] = ()
    """Tests generated against the candidates."""

    @property
    def best(self) -> int:
        """The number of the first candidate."""
        return self.ranking[0].index


@dataclass(frozen=True, slots=True)
class JudgeEvidence:
    """Evidence that a judge uses."""

    tests: tuple[UnitTest, ...] = ()
    """Generated tests."""
    scores: tuple[float, ...] | None = None
    """One for each candidate; None: of the tests that it passes, by the rule."""
    rule: Rule = "trusted"
    suites: tuple[Suite, ...] = ()
    """Origins of the tests."""


class Judge(Protocol):
    """Source of the evidence: tests by a model, a reward model, or behaviour alone."""

    async def __call__(
        self, problem: FunctionProblem, candidates: Sequence[str], *, box: AsyncSandbox
    ) -> JudgeEvidence:
        """The evidence on `candidates`, module sources that all define the problem's function.

        Raises what asking a model raises, and `SandboxUnavailable`.
        """
        ...


@dataclass(frozen=True, slots=True)
class ProjectRuns:
    """The project's own tests, and how many of them each candidate passes."""

    tests: tuple[UnitTest, ...]
    passed: tuple[int, ...]


def runs_of(candidates: Sequence[str], tests: Path, code: Path, python: Path | None) -> ProjectRuns:
    """Run a project's tests with each candidate in the place of the file `code`. Raises
    `InputError`, `WorkspaceUnavailable`."""
    passed: list[set[str]] = []
    names: dict[str, None] = {}
    with committed((tests, code), python) as (root, checkout):
        files = (tests.resolve().relative_to(root).as_posix(),)
        place = code.resolve().relative_to(root).as_posix()
        with in_checkout(checkout, "")[1]() as workspace:
            for text in candidates:
                report, doubt = run_with(workspace, place, text, files, SECONDS)
                good = {one.id for one in report.results if one.outcome == "passed"}
                passed.append(set() if doubt else good)
                names |= dict.fromkeys(one.id for one in report.results if one.phase != "collect")
    if not names:
        raise InputError(f"{tests}: no test was run: {report.remark or reason_of(report.output)}")
    units = tuple(UnitTest(ProjectTest(name), Want(None), source=str(tests)) for name in names)
    return ProjectRuns(units, tuple(map(len, passed)))


async def judge_candidates(
    problem: FunctionProblem,
    candidates: Sequence[str],
    *,
    by: Judge,
    box: AsyncSandbox,
    seed: int,
    runs: ProjectRuns | None = None,
) -> CandidateRanking:
    """Rank `candidates`. `problem.code` need not be one of them, and is not run. `runs`: what the
    project's own tests did, if there are any; they are certain tests.

    Raises `ValueError` without candidates, and what the judge raises.
    """
    if not candidates:
        raise ValueError("no candidates")
    certain = certain_tests(problem)
    evidence = await by(problem, candidates, box=box)
    known = [call_source(test.call, problem.entry_point) for test in certain]
    if evidence.rule == "count":
        known = []  # nothing but the generated tests speaks
    fresh = [t for t in evidence.tests if call_source(t.call, problem.entry_point) not in known]
    tested = [test.call for test in (*certain, *fresh)]
    calls: list[Call] = []
    for code in candidates:
        asked = replace(problem, code=code)
        calls = calls or await multiplied(asked, tested, box, seed=seed)
    name = problem.entry_point
    facts: list[tuple[SuiteRun, SuiteRun, Sequence[Outcome]]] = []
    for code in candidates:
        sure = await try_code(code, name, certain, box)
        trial = await try_code(code, name, fresh, box)
        probed = await box.run(Program(code, name), calls, _LIMITS) if calls else []
        facts.append((sure, trial, (*sure.outcomes, *trial.outcomes, *probed)))
    shared = cross_check([outcomes for _, _, outcomes in facts], agree)
    counted = evidence.rule == "count"
    own = [float(t.passed) if counted else _share(t) for _, t, _ in facts]
    scores: Sequence[float | None] = own if evidence.scores is None else evidence.scores
    runs = runs or ProjectRuns((), (0,) * len(candidates))
    placed = [
        Placed(
            index,
            1,
            sure.passed + trial.passed + ran,
            len(certain) + len(runs.tests) - sure.passed - ran,
            scores[index],
            shared[index],
        )
        for index, ((sure, trial, _), ran) in enumerate(zip(facts, runs.passed, strict=True))
    ]
    tests = (*runs.tests, *certain, *fresh)
    order = ranked(placed, evidence.rule)
    return CandidateRanking(tests, order, evidence.rule, evidence.suites)


def ranked(placed: Sequence[Placed], rule: Rule = "trusted") -> tuple[Placed, ...]:
    """In the order of the rule (see the module), with ranks."""

    def key(one: Placed) -> tuple[float, ...]:
        score = one.score or 0.0  # None is that of all of them
        if rule != "trusted":
            return (-score,)
        return one.certain, -score, -round(one.agreement, 9)

    return tuple(replace(one, rank=number) for number, one in rank(placed, key))


def by_tests(
    ask: Asker,
    *,
    options: SuiteOptions,
    seed: int,
    generator: Generator = "prompted",
    rule: Rule = "trusted",
) -> Judge:
    """The paper's judge: `options.n` tests made against each candidate, collated by the rule. By
    `count` equal candidates get a suite each, else one between them."""

    async def evidence(
        problem: FunctionProblem, candidates: Sequence[str], *, box: AsyncSandbox
    ) -> JudgeEvidence:
        sampler = Sampler(ask, options.sampling(seed))
        suites = await together(
            build_ut(
                replace(problem, code=code),
                code,
                generator=generator,
                sampler=sampler,
                box=box,
                options=options,
            )
            for code in (candidates if rule == "count" else dict.fromkeys(candidates))
        )
        tests = [test for suite in suites for test in suite.tests]
        return JudgeEvidence(
            tests=collated(tests, problem.entry_point, rule), rule=rule, suites=tuple(suites)
        )

    return evidence


def by_reward(scorer: Scorer) -> Judge:
    """The paper's baseline: a reward model reads the task and the program, and ranks alone."""

    async def evidence(
        problem: FunctionProblem, candidates: Sequence[str], *, box: AsyncSandbox
    ) -> JudgeEvidence:
        prompt = render(
            "write_code", signature=problem.signature, description=problem.description.strip()
        )
        answers = [render("code_answer", code=code.strip("\n")) for code in candidates]
        scores = await scorer.score(prompt, answers)
        return JudgeEvidence(scores=tuple(scores), rule="reward")

    return evidence


def by_behaviour() -> Judge:
    """No model: certain tests, then agreement, decide."""

    async def evidence(
        problem: FunctionProblem, candidates: Sequence[str], *, box: AsyncSandbox
    ) -> JudgeEvidence:
        return JudgeEvidence()

    return evidence


def collated(
    tests: Sequence[UnitTest], entry_point: str, rule: Rule = "trusted"
) -> tuple[UnitTest, ...]:
    """The tests without duplicates: of those with the same call and, by value, the same output the
    surest.

    By `trusted` of those that contradict each other too: the output that was voted for most often
    over all candidates stays, the first seen of equals. The paper's `count` keeps each.
    """
    groups: dict[str, list[list[UnitTest]]] = {}
    for test in tests:
        kinds = groups.setdefault(call_source(test.call, entry_point), [])
        for kind in kinds:
            if same_output(_output(test), _output(kind[0])):
                kind.append(test)
                break
        else:
            kinds.append([test])
    kept = []
    for kinds in groups.values():
        if rule == "trusted":
            kinds = [max(kinds, key=lambda kind: sum(test.confidence for test in kind))]
        kept += [max(kind, key=lambda test: test.confidence) for kind in kinds]
    return tuple(kept)


def _output(test: UnitTest) -> Output:
    return Output(test.expected, test.raises)


def _share(trial: SuiteRun) -> float | None:
    """The share of the tests that are passed, each counted with its confidence; None: no test."""
    total = sum(test.confidence for test in trial.tests)
    passed = sum(t.confidence for t, ok in zip(trial.tests, trial.verdicts, strict=True) if ok)
    return passed / total if total else None
