"""Debugging with the tests that are given: the upper bound, where they are right.

The released code of UTGen has modes in which the reference answers (`*_oracle`). Here the harness
hands right tests in as given ones (`refute bench --set failing_tests=N`, `gold_outputs=true`): the
method sees tests and no answer key, and does the same with tests of a user's own (`--tests FILE`).
`none` is the lower bound: a bench then grades the dataset's own programs.
"""

from __future__ import annotations

from dataclasses import replace

from refute.core.methods import Context, NoOptions, method
from refute.core.problems import FunctionProblem
from refute.function.contract import MethodResult
from refute.function.llm.options import DebugOptions
from refute.function.llm.results import SuiteRun, certain_tests, conclusion, try_code
from refute_lab.baselines.utdebug import debugged


@method(
    "given",
    summary="the tests that are given, as feedback; writes none",
    asks_model=True,
    writes_tests=False,
)
async def given(problem: FunctionProblem, *, ctx: Context, options: DebugOptions) -> MethodResult:
    """Algorithm 2 with one suite for all versions: the given tests.

    Raises what `Asker.ask` raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    name, box = problem.entry_point, ctx.sandbox
    ours = set(map(id, problem.tests))
    stated = [test for test in certain_tests(problem) if id(test) not in ours]

    async def tested(code: str) -> SuiteRun:
        return await try_code(code, name, problem.tests, box)

    certain = await try_code(problem.code, name, stated, box)
    codes, edits, first = await debugged(
        problem, ctx=ctx, options=options, certain=certain, tested=tested
    )
    result = conclusion(problem, options, codes, (), edits, first, certain)
    notes = result.notes if problem.tests else (*result.notes, "no test is given")
    return replace(result, given=(*certain.tests, *problem.tests), notes=notes)


@method("none", summary="leaves the code as it is: grades the dataset's own", cpu_bound=True)
async def none(problem: FunctionProblem, *, ctx: Context, options: NoOptions) -> MethodResult:
    """Find nothing."""
    return MethodResult(given=problem.tests, failing=())
