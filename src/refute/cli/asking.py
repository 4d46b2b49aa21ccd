"""From options to models that can be asked: sessions, the method's name, and what it has cost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from typing import TYPE_CHECKING

from refute.cli.output import consoles, remark

if TYPE_CHECKING:
    from refute.cli.options import ModelOptions
    from refute.function.contract import MethodResult
    from refute.function.llm.methods import LlmMethod
    from refute.function.target import Module
    from refute.function.verbs import Solver
    from refute.models.budget import Ledger
    from refute.models.contract import Tally
    from refute.models.record import Recording
    from refute.models.session import Session
    from refute.problems import FunctionProblem
    from refute.sandbox import Sandbox

__all__ = ["chosen_method", "cost_line", "sessions", "solver_of"]

WITHOUT_MODEL = ("none", "search")
_FOR_MODELS = {
    "tester": "--tester",
    "base_url": "--base-url",
    "record": "--record",
    "budget_usd": "--budget-usd",
    "budget_tokens": "--budget-tokens",
    "n": "-n",
    "k": "--k",
    "m": "--rounds",
    "vote": "--vote",
    "backtrack": "--backtrack",
    "guard": "--guard",
    "temperature": "--temperature",
    "top_p": "--top-p",
    "max_tokens": "--max-tokens",
}
"""Options that mean nothing where no model is asked."""


def chosen_method(asked: ModelOptions, *, counted: bool = False) -> str:
    """The method's name: the given one, else the best that the options allow.

    `counted`: `-n` means something to the search too. Raises `InputError` for an unknown name, and
    where method, model and options do not go together.
    """
    from refute.errors import InputError

    if asked.method in WITHOUT_MODEL and asked.model is not None:
        raise InputError(f"--method {asked.method} asks no model; leave --model out")
    if asked.method in WITHOUT_MODEL or (asked.method is None and asked.model is None):
        for name, option in _FOR_MODELS.items():
            if getattr(asked, name) is not None and not (counted and name == "n"):
                raise InputError(f"{option} is for methods that ask a model: name one with --model")
        return asked.method or "search"
    from refute.function.llm.methods import METHODS

    method = asked.method or ("hybrid" if "hybrid" in METHODS else "utgen")
    if method not in METHODS:
        known = ", ".join((*WITHOUT_MODEL, *METHODS))
        raise InputError(f"--method {method}: no such method; there are {known}")
    if asked.model is None:
        raise InputError(f"--method {method} asks a model; name one with --model, e.g. openai:NAME")
    return method


@asynccontextmanager
async def sessions(asked: ModelOptions) -> AsyncIterator[tuple[Session, Session | None]]:
    """The open model, and the one that writes the tests where it is another.

    They share the budget and the recording. What they have cost is said on stderr at the end.
    """
    from refute.models.budget import Budget, Ledger
    from refute.models.record import Recording

    _show_log()
    async with AsyncExitStack() as stack:
        assert asked.model is not None
        ledger = Ledger(Budget(usd=asked.budget_usd, tokens=asked.budget_tokens))
        recording = None
        if asked.record is not None:
            recording = stack.enter_context(closing(Recording(asked.record)))

        async def opened(spec: str) -> Session:
            return await stack.enter_async_context(_session(spec, asked, ledger, recording))

        session = await opened(asked.model)
        tester = None if asked.tester is None else await opened(asked.tester)
        try:
            yield session, tester
        finally:
            both = [one for one in (session, tester) if one is not None]
            remark(
                consoles()[1], (f"{one.model}, asked now: {cost_line(one.tally)}" for one in both)
            )


def _session(
    spec: str, asked: ModelOptions, ledger: Ledger, recording: Recording | None
) -> Session:
    from refute.models.cache import SampleCache, cache_path
    from refute.models.opening import open_model
    from refute.models.session import Session

    own = spec == asked.model or spec.startswith("openai:")
    model = open_model(
        spec,
        base_url=asked.base_url if own else None,
        concurrency=asked.concurrency,
        timeout=asked.timeout,
    )
    cache = SampleCache(cache_path()) if asked.cache else None
    return Session(
        model, cache=cache, budget=ledger, concurrency=asked.concurrency, recording=recording
    )


def cost_line(tally: Tally) -> str:
    """`12 requests, 96 samples and 8 from the cache, 10,234 + 2,048 tokens, $0.0123`."""
    parts = [f"{tally.requests:,} requests", f"{tally.samples:,} samples"]
    if tally.cached:
        parts[-1] += f" and {tally.cached:,} from the cache"
    parts.append(f"{tally.prompt_tokens:,} + {tally.completion_tokens:,} tokens")
    parts.append("price not known" if tally.usd is None else f"${tally.usd:.4f}")
    return ", ".join(parts)


@contextmanager
def solver_of(
    asked: ModelOptions,
    module: Module,
    box: Sandbox,
    *,
    seed: int,
    m: int | None = None,
) -> Iterator[Solver]:
    """What `hunt` and `debug` work with: the search in `box`, or the chosen method and its model.

    `m`: rounds of debugging, whatever was asked for (`hunt` wants tests only).
    """
    from refute.errors import InputError
    from refute.function.verbs import searching

    method = chosen_method(asked, counted=m == 0)
    if method == "none":
        raise InputError("--method none is for bench: it grades the code as it is")
    if method == "search":
        yield searching(box, seed=seed)
        return
    from refute.function.llm.methods import METHODS

    if m == 0 and not METHODS[method].tests:
        raise InputError(f"--method {method} writes no unit tests; it is for debug and bench")
    options = asked.method_options(**({} if m is None else {"m": m}))
    with _asking(METHODS[method].make(options), asked, module, seed) as solver:
        yield solver


@contextmanager
def _asking(work: LlmMethod, asked: ModelOptions, module: Module, seed: int) -> Iterator[Solver]:
    """One event loop, one session and a few sandboxes for all functions of the module."""
    from refute.function.verbs import open_box
    from refute.runs import cores
    from refute.sandbox.pool import SandboxPool

    with (
        SandboxPool(cores(), make=lambda: open_box(module)) as pool,
        asyncio.Runner() as runner,
    ):
        stack = AsyncExitStack()
        session, tester = runner.run(stack.enter_async_context(sessions(asked)))

        async def solve(problem: FunctionProblem) -> MethodResult:
            name = problem.entry_point
            other = None if tester is None else tester.asker(name)
            did = await work(problem, ask=session.asker(name), box=pool, seed=seed, tester=other)
            return did.result

        try:
            yield lambda problem, ask, seconds: runner.run(solve(problem))
        finally:
            runner.run(stack.aclose())


def _show_log() -> None:
    """What the models have to say, on stderr, as the remarks of the command."""
    log = logging.getLogger("refute.models")
    if not log.handlers:
        log.addHandler(_Remarks())
        log.propagate = False


class _Remarks(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        remark(consoles()[1], [record.getMessage()])
