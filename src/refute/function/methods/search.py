"""The search engine: examples in, failing tests and fixes out, without a model."""

from __future__ import annotations

from dataclasses import dataclass

from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import FunctionProblem
from refute.function.contract import MethodResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """Options that the engine's figures depend on."""

    budget: float = parameter(10.0, "Seconds for one problem.", above=0)
    max_candidates: int | None = parameter(
        None, "Candidates for one problem, whatever the time.", at_least=1
    )
    """Makes a run independent of the machine's speed."""


@method("search", summary="searches for a fix by the examples; asks no model", cpu_bound=True)
async def search(problem: FunctionProblem, *, ctx: Context, options: SearchOptions) -> MethodResult:
    """See `refute.function.search.search`. Raises `SandboxUnavailable`."""
    from refute.function.search.engine import search as found

    return await ctx.sandbox.do(
        lambda box: found(
            problem,
            box=box,
            budget=options.budget if ctx.seconds is None else ctx.seconds,
            seed=ctx.seed,
            ask=ctx.ask,
            max_candidates=options.max_candidates,
        )
    )
