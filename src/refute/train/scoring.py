"""The intrinsic figures of a model in process: how often its unit tests attack and are right."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from refute.errors import ModelUnavailable
from refute.train.quiet import without_noise

if TYPE_CHECKING:
    from refute.datasets import Item
    from refute.function.bench import Result, Settings
    from refute.runs import Journal

__all__ = ["score"]


def score(
    spec: str,
    directory: Path,
    problems: Path,
    *,
    method: str = "utgen",
    n: int = 3,
    limit: int | None = None,
    seed: int = 0,
    max_tokens: int = 2048,
) -> Result:
    """The figures of `hf:SPEC` on a JSONL file of problems: n tests for each, without a vote.

    They are from the journal in `directory` as far as they are there already. Raises `InputError`,
    `ModelUnavailable`, `SandboxUnavailable`.
    """
    from refute.function.bench import Settings, damage, load_items, summarize
    from refute.function.llm.options import Options
    from refute.runs import Journal

    settings = Settings(
        dataset=str(problems),
        method=method,
        limit=limit,
        seed=seed,
        model=f"hf:{spec}",
        options=Options(n=n, m=0, vote=False, max_tokens=max_tokens),
    )
    items = load_items(settings, None)
    with without_noise(), Journal(directory, settings.header(items), damage=damage) as journal:
        asyncio.run(_ask(items, settings, journal, spec))
        result = summarize(items, settings, journal)
    if result.errors or result.missing:
        reason = next(iter(result.errors.values()), "no answers")
        raise ModelUnavailable(f"hf:{spec}: {len(result.errors)} problems have no result: {reason}")
    return result


async def _ask(items: Sequence[Item], settings: Settings, journal: Journal, spec: str) -> None:
    from refute.function.bench.loop import run_asking
    from refute.function.bench.solving import solver
    from refute.models.cache import SampleCache, cache_path
    from refute.models.hf import open_hf
    from refute.models.session import Session
    from refute.runs import cores
    from refute.sandbox.pool import SandboxPool

    with SandboxPool(cores()) as box, SandboxPool(cores()) as graders:
        async with Session(open_hf(spec), cache=SampleCache(cache_path())) as session:
            await run_asking(
                items,
                settings,
                journal,
                solver(settings.method, settings.options, box, {"model": session}),
                at_once=128,
                graders=graders,
                progress=lambda done: None,
            )
