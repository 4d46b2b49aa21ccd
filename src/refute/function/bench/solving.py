"""A method, its options and its models, as the loop calls it: problem in, work out."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields
from functools import reduce
from typing import Any

from refute.function.bench.loop import Solve
from refute.function.bench.records import Work, work_of
from refute.methods import Context
from refute.models.asking import askers
from refute.models.contract import Tally
from refute.models.session import Session
from refute.problems import FunctionProblem
from refute.registry import METHODS
from refute.sandbox.pool import AsyncSandbox

__all__ = ["solver"]


def solver(
    method: str,
    options: Any,
    box: AsyncSandbox,
    models: Mapping[str, Session],
) -> Solve:
    """`method` is a name in `METHODS`; `models`: by the names that `Context` has for them."""
    spec = METHODS.get(method)

    async def solve(problem: FunctionProblem, name: str, seed: int) -> Work:
        asking = askers(models, name)
        ctx = Context(sandbox=box, seed=seed, **asking)
        start = time.monotonic()
        found = await spec(problem, ctx=ctx, options=options)
        seconds = time.monotonic() - start
        tallies = [ask.tally for ask in asking.values()]
        return work_of(found, problem, seconds, reduce(sum_of, tallies) if tallies else None)

    return solve


def sum_of(first: Tally, second: Tally) -> Tally:
    """What both have cost; a price that is not known makes the sum unknown."""
    names = [f.name for f in fields(Tally) if f.name != "usd"]
    total = Tally(**{name: getattr(first, name) + getattr(second, name) for name in names})
    known = first.usd is not None and second.usd is not None
    total.usd = (first.usd or 0.0) + (second.usd or 0.0) if known else None
    return total
