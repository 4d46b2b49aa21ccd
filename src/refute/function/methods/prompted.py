"""The paper's prompted tests: a model that is asked to break the code (UTGen, section 5.1)."""

from __future__ import annotations

from refute.function.contract import MethodResult
from refute.function.llm.debug import debug
from refute.function.llm.options import Options
from refute.methods import Context, method
from refute.problems import FunctionProblem


@method("prompted", summary="tests that a model is asked to break the code with", asks_model=True)
async def prompted(problem: FunctionProblem, *, ctx: Context, options: Options) -> MethodResult:
    """UTDebug (Algorithm 2) with these tests."""
    return await debug(problem, ctx=ctx, options=options, generator="prompted")
