"""What is asked for, as data, and the models that it names, open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from refute.remarks import remark

if TYPE_CHECKING:
    from refute.models.contract import Model, Tally
    from refute.models.session import Session


class Opener(Protocol):
    """Opens the sessions of a worker, on an account that is kept elsewhere."""

    def session(self, spec: str, made: Callable[..., Session]) -> Session:
        """The session of a model; `made` takes what is on the account."""
        ...


OPENER: ContextVar[Opener | None] = ContextVar("opener", default=None)
"""Who opens the models of this worker; None: it opens them itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A method and its models, by name; None where one was not given."""

    method: str | None = None
    model: str | None = None
    """As `refute.models.specs.specs` says: "openai:NAME"."""
    tester: str | None = None
    """The model that writes the unit tests, where it is another one."""
    base_url: str | None = None
    concurrency: int = 64
    """Requests sent to the model at once."""
    cache: bool = True
    """Keep answers and use kept ones."""
    record: Path | None = None
    """Where every answer is written, for `replay:FILE`."""
    timeout: float = 300.0
    """Seconds for one request."""
    budget_usd: float | None = None
    budget_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of the method, those that were given, by the name of the field."""
    preset: str | None = None
    """Sets what is not among `options`: see `refute.presets`."""
    prompts: Path | None = None
    """A folder of templates that stand for ours of the same name: see `refute.prompts`."""


@asynccontextmanager
async def open_sessions(asked: Asked) -> AsyncIterator[dict[str, Session]]:
    """The models that are named, as `refute.methods.Context` calls them: `model`, and `tester`
    where it is another; none where none is named.

    They share the budget and the recording. What they have cost is said at the end.
    """
    if asked.model is None:
        yield {}
        return
    async with sessions(asked) as (model, tester):
        yield {"model": model} if tester is None else {"model": model, "tester": tester}


def askers(models: Mapping[str, Session], name: str) -> dict[str, Any]:
    """For one problem, by its name, what asks each of the models; by the same keys."""
    return {place: session.asker(name) for place, session in models.items()}


@asynccontextmanager
async def sessions(asked: Asked) -> AsyncIterator[tuple[Session, Session | None]]:
    """The open model, and the one that writes the tests where it is another; as in
    `open_sessions`."""
    from refute.models.budget import Budget, Ledger
    from refute.models.record import Recording

    clerk = OPENER.get()
    async with AsyncExitStack() as stack:
        assert asked.model is not None
        ledger, recording = Ledger(Budget(usd=asked.budget_usd, tokens=asked.budget_tokens)), None
        if clerk is None and asked.record is not None:
            recording = stack.enter_context(closing(Recording(asked.record)))

        async def opened(spec: str) -> Session:
            if clerk is None:
                session = _session(spec, asked, budget=ledger, recording=recording)
            else:
                session = clerk.session(spec, partial(_session, spec, asked))
            return await stack.enter_async_context(session)

        session = await opened(asked.model)
        tester = None if asked.tester is None else await opened(asked.tester)
        try:
            yield session, tester
        finally:
            both = [one for one in (session, tester) if one is not None and clerk is None]
            remark(said(one.model, one.tally, one.waiting) for one in both)


def _session(spec: str, asked: Asked, model: Model | None = None, **account: Any) -> Session:
    """`model`: what the spec means; None: it is opened. `account`: as for `Session`."""
    from refute.models.cache import SampleCache, cache_path
    from refute.models.session import Session
    from refute.models.specs import open_model

    own = spec == asked.model or spec.startswith("openai:")
    if model is None:
        model = open_model(
            spec,
            base_url=asked.base_url if own else None,
            concurrency=asked.concurrency,
            timeout=asked.timeout,
        )
    cache = SampleCache(cache_path()) if asked.cache else None
    return Session(model, cache=cache, concurrency=asked.concurrency, **account)


def said(model: str, tally: Tally, waiting: int | None) -> str:
    """What a model was asked, and of one that is answered later, how many samples are open."""
    if waiting is None:
        return f"{model}, asked now: {cost_line(tally)}"
    return f"{model}, answered by now: {cost_line(tally)}; open: {waiting:,} samples"


def cost_line(tally: Tally) -> str:
    """`12 requests, 96 samples and 8 from the cache, 10,234 + 2,048 tokens, $0.0123`."""
    parts = [f"{tally.requests:,} requests", f"{tally.samples:,} samples"]
    if tally.cached:
        parts[-1] += f" and {tally.cached:,} from the cache"
    parts.append(f"{tally.prompt_tokens:,} + {tally.completion_tokens:,} tokens")
    parts.append("price not known" if tally.usd is None else f"${tally.usd:.4f}")
    return ", ".join(parts)
