"""Reward models: how good an answer is, without running it (the judge's baseline).

The paper (UTGen, arXiv 2502.01619, best-of-N) compares generated tests with such a model,
`PAPER_REWARD_MODEL`.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from refute.errors import ModelUnavailable
from refute.models.contract import Message
from refute_lab.models.checkpoint import (
    Checkpoint,
    CheckpointSource,
    MicroBatcher,
    TooLarge,
    find,
    load,
    reasons,
)

PAPER_REWARD_MODEL = "hf:Skywork/Skywork-Reward-Llama-3.1-8B-v0.2"


class Scorer(Protocol):
    """Ranks answers to one prompt. Only the order of scores means anything."""

    @property
    def name(self) -> str:
        """Name of the scorer in journals."""
        ...

    async def score(self, prompt: str, answers: Sequence[str]) -> list[float]:
        """One score for each answer, higher is better.

        Raises `ModelUnavailable`, `ContextTooLong`.
        """
        ...

    async def close(self) -> None:
        """Release memory; idempotent."""
        ...


def open_reward(spec: str = PAPER_REWARD_MODEL, *, batch_size: int = 16) -> RewardModel:
    """The reward model of `hf:PATH_OR_ID[+ADAPTER]`; loaded by the first request.

    Raises `InputError` for a folder that is missing or no model, and without the extra ``[train]``.
    """
    return RewardModel(find(spec.removeprefix("hf:")), batch_size=batch_size)


@functools.cache
def shared_reward(spec: str) -> RewardModel:
    """`open_reward`, the same for all problems of a run, which are worked on at once.

    Nobody closes it: it stays loaded as long as the process. Raises as `open_reward`.
    """
    return open_reward(spec)


class RewardModel:
    """A sequence classifier of transformers with one output, over prompt and answer as a chat."""

    def __init__(self, source: CheckpointSource, *, batch_size: int) -> None:
        self._source = source
        self._name = f"hf:{source.name}"
        self._checkpoint: Checkpoint | None = None
        self._loading = threading.Lock()
        self._batches: MicroBatcher[tuple[int, ...], float] = MicroBatcher(
            self._rate, alike=lambda row: None, limit=batch_size
        )

    @property
    def name(self) -> str:
        """`hf:` and the source's name, with a fingerprint of a local model."""
        return self._name

    async def score(self, prompt: str, answers: Sequence[str]) -> list[float]:
        """See `Scorer`. The answers of concurrent calls share batches."""
        rows = await asyncio.to_thread(self._prepare, prompt, tuple(answers))
        futures = [asyncio.wrap_future(self._batches.submit(row)) for row in rows]
        try:
            return list(await asyncio.gather(*futures))
        finally:
            for future in futures:
                future.cancel()

    async def close(self) -> None:
        """Free the memory; idempotent."""
        await asyncio.to_thread(self._batches.close)
        self._checkpoint = None

    def _prepare(self, prompt: str, answers: Sequence[str]) -> list[tuple[int, ...]]:
        with self._loading:
            if self._checkpoint is None:
                try:
                    self._checkpoint = load(self._source, scorer=True)
                except TooLarge as error:
                    raise ModelUnavailable(f"out of memory: {error}") from None
            checkpoint = self._checkpoint
        asked = [Message("user", prompt)]
        return [tuple(checkpoint.exchange(asked, answer)) for answer in answers]

    def _rate(self, rows: Sequence[Sequence[int]], wanted: Callable[[int], bool]) -> list[float]:
        checkpoint = self._checkpoint
        assert checkpoint is not None, "rows come from a loaded model"
        with reasons(f"{self.name}: scoring failed"):
            return _scores(checkpoint, rows)


def _scores(checkpoint: Checkpoint, rows: Sequence[Sequence[int]]) -> list[float]:
    import torch

    width = max(map(len, rows))
    # transformers reads the score at the last token that is not the padding token. Many tokenizers
    # pad with a token that also ends a text: the padding here is one that no row holds.
    used = set().union(*rows)
    pad = next(token for token in range(len(used) + 1) if token not in used)
    model = checkpoint.model
    for config in {id(c): c for c in (model.config, model.config.get_text_config())}.values():
        config.pad_token_id = pad
    ids = [[*row] + [pad] * (width - len(row)) for row in rows]
    mask = [[1] * len(row) + [0] * (width - len(row)) for row in rows]
    with torch.inference_mode():
        logits: Any = model(
            input_ids=torch.tensor(ids, device=checkpoint.device),
            attention_mask=torch.tensor(mask, device=checkpoint.device),
        ).logits
    scores: list[float] = logits[:, 0].float().tolist()
    return scores
