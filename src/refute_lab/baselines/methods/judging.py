"""Best of N over a dataset (UTGen, arXiv 2502.01619, Table 3): programs are sampled, a judge picks.

The code under test is not looked at: programs are written from the description alone, and stand for
themselves. `judge:random`, `judge:prompted` and `judge:utgen` take the program that passes the most
unit tests, three generated for each; `judge:reward` the one that a reward model scores best;
`judge:behaviour` asks for no tests, and takes the one that returns what most do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import FunctionProblem, Trust
from refute.function.contract import Candidate, MethodResult
from refute.function.llm.generation import Generator, Sampler
from refute.function.llm.options import SamplingOptions, SuiteOptions
from refute.function.llm.results import EditRound, traced
from refute_lab.baselines.judge import (
    Judge,
    Rule,
    by_behaviour,
    by_reward,
    by_tests,
    judge_candidates,
)
from refute_lab.baselines.utdebug import Solution, draw_solutions
from refute_lab.models.reward import PAPER_REWARD_MODEL, shared_reward


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions(SuiteOptions):
    """The paper's: three tests for each of ten programs, the plain count of passed tests."""

    samples: int = parameter(10, "Programs that are sampled and judged.", at_least=1, at_most=1000)
    certain: bool = parameter(
        False, "Let the description's examples come first, and weigh tests by their confidence."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOfOptions(SamplingOptions):
    """Of a judge that asks for no tests."""

    samples: int = parameter(10, "Programs that are sampled and judged.", at_least=1, at_most=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardOptions(BestOfOptions):
    """And the reward model."""

    reward: str = parameter(PAPER_REWARD_MODEL, "The reward model: hf:PATH_OR_ID.")


async def _judged(
    problem: FunctionProblem, ctx: Context, options: JudgeOptions | BestOfOptions, by: Judge
) -> MethodResult:
    """The best of the programs. Raises what the judge and `Asker.ask` raise."""
    sampler = Sampler(ctx.model, options.sampling(ctx.seed))
    drawn = await draw_solutions(problem, sampler, options.samples, module="")
    written, edits = tuple(one.code for one in drawn), tuple(map(_written, drawn))
    readable = [one for one in written if one is not None]
    if not readable:
        trace = replace(traced((), edits), programs=written, alone=True)
        return MethodResult(given=(), failing=(), trace=trace, generated=())
    bare = replace(problem, code=readable[0])
    found = await judge_candidates(bare, readable, by=by, box=ctx.sandbox, seed=ctx.seed)
    best, first = readable[found.best], found.ranking[0]
    trace = replace(traced(found.suites, edits), programs=written, alone=True)
    tests = tuple(one for one in found.tests if one.trust is Trust.PREDICTED)
    line = f"best of {len(readable)}: passes {first.passed} of {len(found.tests)} tests"
    score = 1.0 if first.score is None else first.score
    chosen = Candidate(best, score, (line,))
    return MethodResult(given=(), failing=(), candidates=(chosen,), trace=trace, generated=tests)


def _written(one: Solution) -> EditRound:
    """A program as the journal keeps it (`refute data build-fix` reads it there)."""
    told = "judged" if one.unreadable is None else one.unreadable.told
    return EditRound(1, one.answer, one.code, False, told, unreadable=one.unreadable)


async def _by_tests(
    problem: FunctionProblem, ctx: Context, options: JudgeOptions, generator: Generator
) -> MethodResult:
    rule: Rule = "trusted" if options.certain else "count"
    by = by_tests(ctx.writer, options=options, seed=ctx.seed, generator=generator, rule=rule)
    return await _judged(problem, ctx, options, by)


@method(
    "judge:random",
    summary="best of N by tests from the description alone",
    asks_model=True,
    writes_tests=False,
)
async def judge_random(
    problem: FunctionProblem, *, ctx: Context, options: JudgeOptions
) -> MethodResult:
    """Table 3, random unit tests."""
    return await _by_tests(problem, ctx, options, "random")


@method(
    "judge:prompted",
    summary="best of N by tests that a model is asked to break each program with",
    asks_model=True,
    writes_tests=False,
)
async def judge_prompted(
    problem: FunctionProblem, *, ctx: Context, options: JudgeOptions
) -> MethodResult:
    """Table 3, prompted unit tests."""
    return await _by_tests(problem, ctx, options, "prompted")


@method(
    "judge:utgen",
    summary="as judge:prompted; for a --tester trained to write such tests",
    asks_model=True,
    writes_tests=False,
)
async def judge_utgen(
    problem: FunctionProblem, *, ctx: Context, options: JudgeOptions
) -> MethodResult:
    """Table 3, UTGen's unit tests."""
    return await _by_tests(problem, ctx, options, "prompted")


@method(
    "judge:behaviour",
    summary="best of N by what most programs return",
    asks_model=True,
    writes_tests=False,
)
async def judge_behaviour(
    problem: FunctionProblem, *, ctx: Context, options: BestOfOptions
) -> MethodResult:
    """Not in the paper: certain tests, then agreement."""
    return await _judged(problem, ctx, options, by_behaviour())


@method(
    "judge:reward",
    summary="best of N by a reward model",
    asks_model=True,
    writes_tests=False,
)
async def judge_reward(
    problem: FunctionProblem, *, ctx: Context, options: RewardOptions
) -> MethodResult:
    """Table 3, the reward model."""
    return await _judged(problem, ctx, options, by_reward(shared_reward(options.reward)))
