"""No method: the code as it is, so that a bench grades the dataset's own programs."""

from __future__ import annotations

from refute.core.methods import Context, NoOptions, method
from refute.core.problems import FunctionProblem
from refute.function.contract import MethodResult


@method("none", summary="leaves the code as it is: grades the dataset's own", cpu_bound=True)
async def none(problem: FunctionProblem, *, ctx: Context, options: NoOptions) -> MethodResult:
    """Find nothing."""
    return MethodResult(given=problem.tests, failing=())
