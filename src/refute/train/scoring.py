"""The intrinsic figures of a model in process: how often its unit tests attack and are right."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from refute.errors import ModelUnavailable
from refute.train.log_filters import without_noise

if TYPE_CHECKING:
    from refute.function.bench import BenchSummary
    from refute.models.session import Session

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
) -> BenchSummary:
    """The figures of `hf:SPEC` on a JSONL file of problems: n tests for each, without a vote.

    They are from the journal in `directory` as far as they are there already. Raises `InputError`,
    `ModelUnavailable`, `SandboxUnavailable`.
    """
    from refute.function.bench import RECORDS, BenchSettings, load_items, summarize, work_on
    from refute.function.llm.options import Options
    from refute.runs.run import Run

    settings = BenchSettings(
        dataset=str(problems),
        method=method,
        limit=limit,
        seed=seed,
        model=f"hf:{spec}",
        options=Options(n=n, m=0, vote=False, max_tokens=max_tokens),
    )
    items = load_items(settings, None)
    with without_noise(), Run(directory, settings.header(items), RECORDS) as run:
        work_on(run, items, settings, models=partial(_models, spec), at_once=128)
        result = summarize(items, settings, run.journal)
    if result.errors or result.missing:
        reason = next(iter(result.errors.values()), "no answers")
        raise ModelUnavailable(f"hf:{spec}: {len(result.errors)} problems have no result: {reason}")
    return result


@asynccontextmanager
async def _models(spec: str) -> AsyncIterator[dict[str, Session]]:
    from refute.models.cache import SampleCache, cache_path
    from refute.models.hf import open_hf
    from refute.models.session import Session

    async with Session(open_hf(spec), cache=SampleCache(cache_path())) as session:
        yield {"model": session}
