"""UTGen and UTDebug (arXiv 2502.01619): debug with generated unit tests that may be wrong."""

from __future__ import annotations

from refute.core.methods import Context, method
from refute.core.problems import FunctionProblem
from refute.function.contract import MethodResult
from refute.function.llm.generation import Generator, Sampler
from refute.function.llm.options import Options
from refute.function.llm.results import Suite, SuiteRun, certain_tests, conclusion, try_code
from refute_lab.baselines.utdebug import build_ut, debugged


async def utdebug(
    problem: FunctionProblem, *, ctx: Context, options: Options, generator: Generator
) -> MethodResult:
    """UTDebug (Algorithm 2): `debugged`, with the tests of BuildUT for each version of the code.

    Raises what `Asker.ask` raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    name, box = problem.entry_point, ctx.sandbox
    sampler, suites = Sampler(ctx.writer, options.sampling(ctx.seed)), list[Suite]()

    async def tested(code: str) -> SuiteRun:
        suite = await build_ut(
            problem, code, generator=generator, sampler=sampler, box=box, options=options
        )
        suites.append(suite)
        return await try_code(code, name, suite.tests, box)

    certain = await try_code(problem.code, name, certain_tests(problem), box)
    codes, edits, first = await debugged(
        problem, ctx=ctx, options=options, certain=certain, tested=tested
    )
    return conclusion(problem, options, codes, suites, edits, first, certain)


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
