"""The baselines that do not debug: write the function anew from its description.

UTGen (arXiv 2502.01619) lacks them; by its own figures one fresh sample solves more of MBPP+Fix
than three rounds of debugging do (docs/utgen.md). A method that debugs has to beat them at equal
tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import FunctionProblem
from refute.function.contract import MethodResult
from refute.function.llm.generation import (
    Sampler,
    passed_over,
    read_proposal,
    shape_of,
    test_request,
    voted_on,
)
from refute.function.llm.options import SamplingOptions
from refute.function.llm.results import (
    Attempt,
    EditRound,
    Suite,
    SuiteRun,
    Unreadable,
    certain_tests,
    conclusion,
    try_code,
)
from refute_lab.baselines.utdebug import Solution, draw_solutions, with_programs


@dataclass(frozen=True, slots=True, kw_only=True)
class RegenerateOptions(SamplingOptions):
    """Of `regenerate`."""

    solutions: int = parameter(1, "Programs that are written.", at_least=1, at_most=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeTOptions(SamplingOptions):
    """Of `codet`."""

    solutions: int = parameter(10, "Programs that are written.", at_least=1, at_most=1000)
    written_tests: int = parameter(10, "Unit tests that are written.", at_least=1, at_most=1000)

    @property
    def n(self) -> int:
        """The tests that its suite shall have."""
        return self.written_tests


@method(
    "regenerate",
    summary="writes the function anew, without looking at the code",
    asks_model=True,
    writes_tests=False,
)
async def regenerate(
    problem: FunctionProblem, *, ctx: Context, options: RegenerateOptions
) -> MethodResult:
    """The first of the programs that passes the most certain tests.

    Raises what `Asker.ask` raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    drawn = await draw_solutions(
        problem, Sampler(ctx.model, options.sampling(ctx.seed)), options.solutions
    )
    tests = certain_tests(problem)
    runs = [
        await try_code(one.code or "", problem.entry_point, tests, ctx.sandbox) for one in drawn
    ]
    readable = [at for at, one in enumerate(drawn) if one.code is not None]
    best = max(readable, key=lambda at: runs[at].passed, default=None)
    nothing = SuiteRun((), (), ())
    return await _result(problem, ctx, options, drawn, best, Suite(), nothing, "written anew")


@method(
    "codet",
    summary="programs and tests from the description alone choose each other (CodeT)",
    asks_model=True,
)
async def codet(problem: FunctionProblem, *, ctx: Context, options: CodeTOptions) -> MethodResult:
    """CodeT (Chen et al. 2022, arXiv 2207.10397): dual execution agreement.

    Programs that pass the same tests are a consensus set; its score is the number of its programs
    times the number of the tests that they pass. The first program of the best set is taken.

    Raises what `Asker.ask` raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    box, sampling = ctx.sandbox, options.sampling(ctx.seed)
    drawn = await draw_solutions(problem, Sampler(ctx.model, sampling), options.solutions)
    request = test_request(problem, problem.code, "random")
    answers = await Sampler(ctx.writer, sampling).draw(request, options.written_tests)
    shape, attempts, seen = shape_of(problem), list[Attempt](), set[str]()
    for number, answer in enumerate(answers):
        proposal = await read_proposal(answer, problem, shape, box)
        written = f"{proposal.source(problem.entry_point)} {proposal.stated}"
        fresh = not isinstance(proposal.call, Unreadable) and written not in seen
        seen.add(written)
        made = voted_on(proposal, None) if fresh else passed_over(proposal)
        attempts.append(replace(made, number=number))
    suite = Suite(tuple(attempts))
    sets: dict[tuple[bool, ...], list[int]] = {}
    for at, one in enumerate(drawn):
        if one.code is not None:
            run = await try_code(one.code, problem.entry_point, suite.tests, box)
            sets.setdefault(run.verdicts, []).append(at)
    scores = {passed: len(members) * sum(passed) for passed, members in sets.items()}
    best = sets[max(scores, key=lambda passed: scores[passed])][0] if sets else None
    first = await try_code(problem.code, problem.entry_point, suite.tests, box)
    return await _result(problem, ctx, options, drawn, best, suite, first, "of the best set")


async def _result(
    problem: FunctionProblem,
    ctx: Context,
    options: SamplingOptions,
    drawn: Sequence[Solution],
    best: int | None,
    suite: Suite,
    first: SuiteRun,
    why: str,
) -> MethodResult:
    edits = [
        EditRound(
            1,
            one.answer,
            one.code,
            at == best and one.code != problem.code,
            (one.unreadable.told if one.unreadable else why if at == best else "another is taken"),
            unreadable=one.unreadable,
        )
        for at, one in enumerate(drawn)
    ]
    code = None if best is None else drawn[best].code
    stated = certain_tests(problem)
    certain = await try_code(problem.code, problem.entry_point, stated, ctx.sandbox)
    codes = [problem.code, code or problem.code]
    found = conclusion(problem, options, codes, [suite], edits, first, certain)
    return with_programs(found, [one.code for one in drawn])
