"""A model and the search engine together (`refute.function.llm.hybrid`)."""

from __future__ import annotations

from dataclasses import dataclass

from refute.errors import InputError
from refute.function.contract import MethodResult
from refute.function.llm.hybrid import hybrid as work
from refute.function.llm.options import Options
from refute.methods import Context, method
from refute.problems import FunctionProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridOptions(Options):
    """The paper's, without the ablations that make no sense here."""

    def __post_init__(self) -> None:
        """Raises `InputError`."""
        Options.__post_init__(self)
        if not (self.backtrack and self.guard):
            raise InputError(
                "hybrid always discards what tests refuse: --no-backtrack and --no-guard "
                "are for the paper's methods"
            )


@method("hybrid", summary="a model and the search engine together", asks_model=True)
async def hybrid(problem: FunctionProblem, *, ctx: Context, options: HybridOptions) -> MethodResult:
    """See `refute.function.llm.hybrid.hybrid`."""
    return await work(problem, ctx=ctx, options=options)
