"""UTGen and UTDebug (arXiv 2502.01619): debug with generated unit tests that may be wrong."""

from __future__ import annotations

from operator import attrgetter

from refute.combinators import always, backtrack, refine
from refute.function.contract import MethodResult
from refute.function.llm.debugging import (
    Revision,
    Rounds,
    Sampler,
    conversation,
    feedback_on,
    revise,
)
from refute.function.llm.execution import SuiteRun, certain_tests, try_code
from refute.function.llm.generation import Generator, build_ut
from refute.function.llm.options import Options
from refute.function.llm.results import Suite, conclusion
from refute.methods import Context, method
from refute.problems import FunctionProblem
from refute.prompts import render


async def utdebug(
    problem: FunctionProblem, *, ctx: Context, options: Options, generator: Generator
) -> MethodResult:
    """UTDebug (Algorithm 2): in each of m rounds one failing test is shown to the model.

    The edit is taken only if the code then passes more of the whole suite; else code and
    conversation go back to where they were, the suite stays, and the next failing test is shown.
    A new version gets a new suite, made against it. With `options.m` = 0 it generates tests and
    stops. Raises what `Asker.ask` raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    name, box = problem.entry_point, ctx.sandbox
    sampler = Sampler(ctx.model, options.sampling(ctx.seed))
    more = backtrack(attrgetter("passed")) if options.backtrack else always
    rounds, suites = Rounds(options.guard, more), list[Suite]()

    async def tested(code: str) -> SuiteRun:
        suite = await build_ut(
            problem, code, generator=generator, ask=ctx.writer, box=box, options=options,
            seed=ctx.seed,
        )  # fmt: skip
        suites.append(suite)
        return await try_code(code, name, suite.tests, box)

    async def edit(version: Revision, refused: int) -> Revision | None:
        if version.trial is None:
            version.trial = await tested(version.code)
        failing = version.trial.failing
        if not failing:
            return None
        shown = failing[refused % len(failing)]
        feedback = render("test_feedback", **feedback_on(shown, name))
        return await revise(
            version, feedback, sampler=sampler, entry_point=name, box=box, shown=shown.test
        )

    certain = await try_code(problem.code, name, certain_tests(problem), box)
    start = Revision(problem.code, conversation(problem, problem.code), certain)
    start.trial = first = await tested(problem.code)
    versions = await refine(start, edit, rounds=options.m, accept=rounds.accept)
    codes = [version.code for version in versions]
    return conclusion(problem, options, codes, suites, rounds.edits, first, certain)


@method("random", summary="tests from the description alone", asks_model=True)
async def random(problem: FunctionProblem, *, ctx: Context, options: Options) -> MethodResult:
    """A model that does not see the code writes the tests (section 5.1)."""
    return await utdebug(problem, ctx=ctx, options=options, generator="random")


@method("prompted", summary="tests that a model is asked to break the code with", asks_model=True)
async def prompted(problem: FunctionProblem, *, ctx: Context, options: Options) -> MethodResult:
    """A model that is asked to break the code writes the tests (section 5.1)."""
    return await utdebug(problem, ctx=ctx, options=options, generator="prompted")


@method("utgen", summary="as prompted; for a model trained to write such tests", asks_model=True)
async def utgen(problem: FunctionProblem, *, ctx: Context, options: Options) -> MethodResult:
    """As `prompted`, put to a model that was trained for it (section 3)."""
    return await utdebug(problem, ctx=ctx, options=options, generator="prompted")
