"""A registered method, its options and its models, as the loop calls it: problem in, work out."""

from __future__ import annotations

import time
from dataclasses import fields

from refute.function.bench.loop import Solve
from refute.function.bench.records import Work, work_with_model
from refute.function.llm.methods import METHODS
from refute.function.llm.options import Options
from refute.models.contract import Tally
from refute.models.session import Session
from refute.problems import FunctionProblem
from refute.sandbox.pool import AsyncSandbox

__all__ = ["solver"]


def solver(
    method: str,
    options: Options,
    box: AsyncSandbox,
    session: Session,
    tester: Session | None = None,
) -> Solve:
    """`method` is a name in `METHODS`; `tester` asks the model that writes the unit tests."""
    work = METHODS[method].make(options)

    async def solve(problem: FunctionProblem, name: str, seed: int) -> Work:
        ask = session.asker(name)
        other = None if tester is None else tester.asker(name)
        start = time.monotonic()
        did = await work(problem, ask=ask, box=box, seed=seed, tester=other)
        seconds = time.monotonic() - start
        tally = ask.tally if other is None else sum_of(ask.tally, other.tally)
        return work_with_model(did, problem, seconds, tally)

    return solve


def sum_of(first: Tally, second: Tally) -> Tally:
    """What both have cost; a price that is not known makes the sum unknown."""
    names = [f.name for f in fields(Tally) if f.name != "usd"]
    total = Tally(**{name: getattr(first, name) + getattr(second, name) for name in names})
    known = first.usd is not None and second.usd is not None
    total.usd = (first.usd or 0.0) + (second.usd or 0.0) if known else None
    return total
