"""The paper's random tests: a model that does not see the code (UTGen, section 5.1)."""

from __future__ import annotations

from refute.function.contract import MethodResult
from refute.function.llm.debug import debug
from refute.function.llm.options import Options
from refute.methods import Context, method
from refute.problems import FunctionProblem


@method("random", summary="tests from the description alone", asks_model=True)
async def random(problem: FunctionProblem, *, ctx: Context, options: Options) -> MethodResult:
    """UTDebug (Algorithm 2) with these tests."""
    return await debug(problem, ctx=ctx, options=options, generator="random")
