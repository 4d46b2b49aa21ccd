"""The baseline without unit tests: the model's own feedback (UTGen, section 5.2)."""

from __future__ import annotations

from refute.function.contract import MethodResult
from refute.function.llm.no_ut import debug_without_tests
from refute.function.llm.options import Options
from refute.methods import Context, method
from refute.problems import FunctionProblem


@method(
    "no-ut",
    summary="the model's own feedback, without tests",
    asks_model=True,
    writes_tests=False,
)
async def no_ut(problem: FunctionProblem, *, ctx: Context, options: Options) -> MethodResult:
    """Up to m rounds of feedback and edit."""
    return await debug_without_tests(problem, ctx=ctx, options=options)
