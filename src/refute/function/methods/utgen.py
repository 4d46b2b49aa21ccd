"""UTGen with UTDebug: as `prompted`, put to a model that was trained for it (section 3)."""

from __future__ import annotations

from refute.function.contract import MethodResult
from refute.function.llm.debug import debug
from refute.function.llm.options import Options
from refute.methods import Context, method
from refute.problems import FunctionProblem


@method(
    "utgen",
    summary="as prompted; for a model trained to write such tests",
    asks_model=True,
)
async def utgen(problem: FunctionProblem, *, ctx: Context, options: Options) -> MethodResult:
    """UTDebug (Algorithm 2) with these tests."""
    return await debug(problem, ctx=ctx, options=options, generator="prompted")
