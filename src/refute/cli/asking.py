"""From options to models that can be asked: sessions, the method's name, and what it has cost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from refute.cli.output import consoles, remark

if TYPE_CHECKING:
    from refute.cli.options import ModelOptions
    from refute.function.contract import Ask, MethodResult
    from refute.function.target import Module
    from refute.function.verbs import Solver
    from refute.methods import MethodSpec
    from refute.models.budget import Ledger
    from refute.models.contract import Tally
    from refute.models.record import Recording
    from refute.models.session import Session
    from refute.problems import FunctionProblem
    from refute.sandbox import Sandbox

__all__ = ["chosen_method", "cost_line", "maybe_sessions", "options_of", "sessions", "solver_of"]

_FOR_MODELS = {
    "tester": "--tester",
    "base_url": "--base-url",
    "record": "--record",
    "budget_usd": "--budget-usd",
    "budget_tokens": "--budget-tokens",
}
"""Options about a model, which mean nothing where none is asked."""
_FLAGS = {"m": "--rounds", "n": "-n"}
"""Options of methods whose names are not their flags'."""


def chosen_method(asked: ModelOptions, *, counted: bool = False) -> MethodSpec[Any, Any]:
    """The method: the named one, else the best that the options allow.

    `counted`: `-n` means something to every method. Raises `InputError` for an unknown name, and
    where method, model and options do not go together.
    """
    from refute.errors import InputError
    from refute.registry import method_of

    spec = method_of(asked.method or ("search" if asked.model is None else "hybrid"), "function")
    name = spec.name
    if not spec.asks_model and asked.model is not None:
        raise InputError(f"--method {name} asks no model; leave --model out")
    known = {field.name for field in fields(spec.options)}
    for option, value in asked.of_methods().items():
        if value is not None and option not in known and not (counted and option == "n"):
            raise InputError(f"{_flag(option)} {_whose(option, spec)}")
    if spec.asks_model and asked.model is None:
        raise InputError(f"--method {name} asks a model; name one with --model, e.g. openai:NAME")
    for option, flag in _FOR_MODELS.items():
        if not spec.asks_model and getattr(asked, option) is not None:
            raise InputError(f"{flag} is for methods that ask a model: name one with --model")
    return spec


def options_of(spec: MethodSpec[Any, Any], asked: ModelOptions, **more: Any) -> Any:
    """The method's options: the paper's values where none was given. `more` is taken where the
    method has such an option. Raises `InputError`."""
    from refute.methods import options_from

    known = {field.name for field in fields(spec.options)}
    given = {**asked.of_methods(), **more}
    return options_from(spec, {name: value for name, value in given.items() if name in known})


def _flag(option: str) -> str:
    return _FLAGS.get(option, "--" + option.replace("_", "-"))


def _whose(option: str, spec: MethodSpec[Any, Any]) -> str:
    """Why `spec` has no such option, and which methods have it."""
    from refute.registry import METHODS

    specs = [one for one in METHODS.all() if one.level == "function"]
    having = [one for one in specs if option in {field.name for field in fields(one.options)}]
    if not spec.asks_model and all(one.asks_model for one in having):
        return "is for methods that ask a model: name one with --model"
    return f"is no option of {spec.name}; of {', '.join(one.name for one in having)}"


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
    fixing: bool = True,
) -> Iterator[Solver]:
    """What `hunt` and `debug` work with: the chosen method, with its model where it asks one.

    `box`: for methods that compute. Not `fixing`: `hunt`, which wants tests only.
    """
    from refute.errors import InputError
    from refute.function.verbs import inline

    spec = chosen_method(asked, counted=not fixing)
    if spec.name == "none":
        raise InputError("--method none is for bench: it grades the code as it is")
    if not fixing and not spec.writes_tests:
        raise InputError(f"--method {spec.name} writes no unit tests; it is for debug and bench")
    options = options_of(spec, asked, **({} if fixing else {"m": 0}))
    if spec.cpu_bound:
        yield inline(spec, options, box, seed=seed)
        return
    with _asking(spec, options, asked, module, seed) as solver:
        yield solver


@contextmanager
def _asking(
    spec: MethodSpec[Any, MethodResult],
    options: Any,
    asked: ModelOptions,
    module: Module,
    seed: int,
) -> Iterator[Solver]:
    """One event loop, one session and a few sandboxes for all functions of the module."""
    from refute.function.verbs import open_box
    from refute.methods import Context
    from refute.runs import cores
    from refute.sandbox.pool import SandboxPool

    with (
        SandboxPool(cores(), make=lambda: open_box(module)) as pool,
        asyncio.Runner() as runner,
    ):
        stack = AsyncExitStack()
        models = runner.run(stack.enter_async_context(maybe_sessions(asked)))

        def solve(problem: FunctionProblem, ask: Ask | None, seconds: float) -> MethodResult:
            name = problem.entry_point
            askers: dict[str, Any] = {place: one.asker(name) for place, one in models.items()}
            ctx = Context(sandbox=pool, seed=seed, ask=ask, seconds=seconds, **askers)
            return runner.run(spec(problem, ctx=ctx, options=options))

        try:
            yield solve
        finally:
            runner.run(stack.aclose())


@asynccontextmanager
async def maybe_sessions(asked: ModelOptions) -> AsyncIterator[dict[str, Session]]:
    """The models that were named, as `Context` calls them: `model`, and `tester` where it is
    another; none where none was named."""
    if asked.model is None:
        yield {}
        return
    async with sessions(asked) as (model, tester):
        yield {"model": model} if tester is None else {"model": model, "tester": tester}


def _show_log() -> None:
    """What the models have to say, on stderr, as the remarks of the command."""
    log = logging.getLogger("refute.models")
    if not log.handlers:
        log.addHandler(_Remarks())
        log.propagate = False


class _Remarks(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        remark(consoles()[1], [record.getMessage()])
