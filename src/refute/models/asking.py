"""Names of a method and its models as data, and the open models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.parameters import parameter
from refute.core.remarks import remark

if TYPE_CHECKING:
    from refute.models.contract import Tally
    from refute.models.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A method and its models, by name; None where one was not given."""

    model: str | None = parameter(
        None, "openai:NAME, hf:PATH... (`refute help model`).", metavar="SPEC"
    )
    """As `refute.models.providers.specs` says: "openai:NAME"."""
    method: str | None = parameter(
        None, "Method; `refute methods` lists them.", metavar="NAME", in_files=True
    )
    preset: str | None = parameter(
        None,
        "Options by name: paper; for functions also released, released-intrinsic.",
        metavar="NAME",
        of_model=True,
        in_files=True,
    )
    """Sets what is not in `set`: see `refute.core.registry`."""
    prompts: Path | None = parameter(
        None,
        "Folder of prompt templates that replace built-in ones of the same name.",
        metavar="DIR",
        of_model=True,
    )
    tester: str | None = parameter(
        None, "Another model for writing the tests.", metavar="SPEC", of_model=True
    )
    base_url: str | None = parameter(
        None, "Server of openai: (or OPENAI_BASE_URL).", metavar="URL", of_model=True
    )
    concurrency: int = parameter(
        64, "Requests sent to the model at once.", at_least=1, of_model=True, in_files=True
    )
    cache: bool = parameter(True, "Keep answers and use kept ones.", of_model=True, in_files=True)
    record: Path | None = parameter(
        None, "Write every answer there, for replay:FILE.", of_model=True
    )
    timeout: float = parameter(
        300.0,
        "Seconds for one request.",
        metavar="SECONDS",
        above=0,
        of_model=True,
        in_files=True,
    )
    budget_usd: float | None = parameter(
        None, "Stop before it costs more dollars.", at_least=0, of_model=True, in_files=True
    )
    budget_tokens: int | None = parameter(
        None, "Stop before it takes more tokens.", at_least=0, of_model=True, in_files=True
    )
    set: Mapping[str, Any] = field(default_factory=dict)
    """Options of the method, those that were given, by the name of the field."""


@asynccontextmanager
async def open_sessions(asked: Asked) -> AsyncIterator[dict[str, Session]]:
    """The models that are named, as `refute.core.methods.Context` calls them: `model`, and `tester`
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
    from refute.models.cache import Recording

    async with AsyncExitStack() as stack:
        assert asked.model is not None
        ledger, recording = Ledger(Budget(usd=asked.budget_usd, tokens=asked.budget_tokens)), None
        if asked.record is not None:
            recording = stack.enter_context(closing(Recording(asked.record)))

        async def opened(spec: str) -> Session:
            session = _session(spec, asked, budget=ledger, recording=recording)
            return await stack.enter_async_context(session)

        session = await opened(asked.model)
        tester = None if asked.tester is None else await opened(asked.tester)
        try:
            yield session, tester
        finally:
            both = [one for one in (session, tester) if one is not None]
            remark(said(one.model, one.tally, one.waiting) for one in both)


def _session(spec: str, asked: Asked, **account: Any) -> Session:
    """`account`: as for `Session`."""
    from refute.models.cache import SampleCache, cache_path
    from refute.models.providers import open_model
    from refute.models.session import Session

    own = spec == asked.model or spec.startswith("openai:")
    model = open_model(
        spec,
        base_url=asked.base_url if own else None,
        concurrency=asked.concurrency,
        timeout=asked.timeout,
    )
    cache = SampleCache(cache_path()) if asked.cache else None
    return Session(model, cache=cache, concurrency=asked.concurrency, **account)


def said(model: str, tally: Tally, waiting: int | None) -> str:
    """Say how much a model was asked, and how many samples of a later answer are open."""
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
