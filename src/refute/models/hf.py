"""`hf:PATH_OR_ID[+ADAPTER]`: a causal language model of transformers in this process.

Requests that arrive within a few milliseconds are answered in one batch, each sample a row of it
with its own sampling and its own random numbers. The model is loaded by the first request, so that
a run whose answers are all cached needs no GPU.

Sample i of a request with a seed is the same on every run on the same machine, whatever else is in
the batch, up to rounding: padding and batch size change the last bits of a probability, most in
half precision.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from refute.errors import InputError, ModelUnavailable
from refute.models.chat import cut_at_stop
from refute.models.checkpoint import PLAIN_STOP, Checkpoint, CheckpointSource, find, load, reasons
from refute.models.contract import Completion, Message, Sampling, Usage
from refute.models.microbatch import MicroBatcher, TooLarge
from refute.models.token_sampling import Draw, Ends

_ROWS = {"cuda": 64, "cpu": 16}
"""Samples in a batch. A CPU gains little from more, and a batch that is no longer wanted ends only
after the step that it is in."""


def open_hf(spec: str, *, batch_size: int | None = None) -> TransformersModel:
    """The model of `PATH_OR_ID[+ADAPTER]`; weights are loaded by the first request.

    `batch_size`: samples generated at once, 64 on a GPU and 16 on a CPU unless given; fewer where
    memory runs out.

    Raises `InputError` for a folder that is missing or no model, and without the extra ``[train]``.
    """
    return TransformersModel(find(spec), batch_size=batch_size)


@dataclass(frozen=True, slots=True)
class _Row:
    """One sample to draw."""

    prompt: tuple[int, ...]
    sampling: Sampling
    seed: str
    limit: int
    """New tokens: `max_tokens`, or what the context has left."""


class TransformersModel:
    """See the module. Tool calls are not offered: methods that use tools write them as text."""

    def __init__(self, source: CheckpointSource, *, batch_size: int | None) -> None:
        self._source = source
        self._name = f"hf:{source.name}"
        self._checkpoint: Checkpoint | None = None
        self._loading = threading.Lock()
        self._batch_size = batch_size
        self._batches: MicroBatcher[_Row, tuple[str, str, int]] = MicroBatcher(
            self._draw, alike=lambda row: row.sampling.max_tokens, limit=batch_size or 1
        )

    @property
    def name(self) -> str:
        """`hf:` and the source's name, with a fingerprint of a local model."""
        return self._name

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        """n samples. Raises `ModelUnavailable`, `ContextTooLong`; `InputError` for tools."""
        if sampling.tools:
            raise InputError(f"{self.name}: takes no tools; use a method that calls them as text")
        checkpoint, prompt = await asyncio.to_thread(self._prepare, tuple(messages))
        room = sampling.max_tokens
        if checkpoint.context is not None:
            room = min(room, checkpoint.context - len(prompt))
        seed = secrets.randbits(64) if sampling.seed is None else sampling.seed
        digest = hashlib.sha256(repr(prompt).encode()).hexdigest()  # unlike prompts draw unlike
        rows = [
            _Row(tuple(prompt), sampling, f"{seed + number}:{digest}", room)
            for number in range(first, first + n)
        ]
        futures = [asyncio.wrap_future(self._batches.submit(row)) for row in rows]
        try:
            answers = await asyncio.gather(*futures)
        finally:  # where one failed or the task was cancelled, nobody waits for the others
            for future in futures:
                future.cancel()
        return [
            Completion(text, reason, usage=Usage(len(prompt) if number == 0 else 0, tokens))
            for number, (text, reason, tokens) in enumerate(answers)
        ]

    async def close(self) -> None:
        """Cut short what is being generated and free the memory; idempotent."""
        await asyncio.to_thread(self._batches.close)
        if self._checkpoint is None:
            return
        self._checkpoint = None
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _prepare(self, messages: Sequence[Message]) -> tuple[Checkpoint, list[int]]:
        with self._loading:
            if self._checkpoint is None:
                self._checkpoint = _load(self._source)
                if self._batch_size is None:
                    kind = self._checkpoint.device.partition(":")[0]
                    self._batches.limit = _ROWS.get(kind, 16)
            checkpoint = self._checkpoint
        return checkpoint, checkpoint.prompt(messages)

    def _draw(
        self, rows: Sequence[_Row], wanted: Callable[[int], bool]
    ) -> list[tuple[str, str, int]]:
        """Text, finish reason and number of tokens of each row. Raises `TooLarge`."""
        checkpoint = self._checkpoint
        assert checkpoint is not None, "rows come from a loaded model"
        with reasons(f"{self.name}: generation failed"):
            return _generate(checkpoint, rows, wanted)


def _load(source: CheckpointSource) -> Checkpoint:
    try:
        checkpoint = load(source)
    except TooLarge as error:
        raise ModelUnavailable(f"out of memory: {error}") from None
    import transformers

    # A checkpoint's own habits (repetition penalty, top_k) are not in the request and so not in
    # the cache key: only its special tokens are kept.
    own = checkpoint.model.generation_config
    tokenizer = checkpoint.tokenizer
    eos = own.eos_token_id if own.eos_token_id is not None else tokenizer.eos_token_id
    ends = {*(eos if isinstance(eos, list) else [eos]), tokenizer.eos_token_id} - {None}
    pads = [own.pad_token_id, tokenizer.pad_token_id, *sorted(ends), 0]
    settings: Any = transformers.GenerationConfig
    checkpoint.model.generation_config = settings(
        eos_token_id=sorted(ends) or None,
        pad_token_id=next(pad for pad in pads if pad is not None),
        bos_token_id=own.bos_token_id,
    )
    return checkpoint


def _generate(
    checkpoint: Checkpoint, rows: Sequence[_Row], wanted: Callable[[int], bool]
) -> list[tuple[str, str, int]]:
    import torch
    from transformers import LogitsProcessorList, StoppingCriteriaList

    config = checkpoint.model.generation_config
    width = max(len(row.prompt) for row in rows)
    padding = [width - len(row.prompt) for row in rows]
    ids = [[config.pad_token_id] * p + [*r.prompt] for p, r in zip(padding, rows, strict=True)]
    mask = [[0] * pad + [1] * (width - pad) for pad in padding]
    extra = () if checkpoint.has_template else (PLAIN_STOP,)
    stops = [(*row.sampling.stop, *extra) for row in rows]
    ends = Ends(width, [row.limit for row in rows], stops, decode=checkpoint.text, wanted=wanted)
    draw = Draw([row.sampling for row in rows], [row.seed for row in rows])
    with torch.inference_mode():
        output: Any = checkpoint.model.generate(
            input_ids=torch.tensor(ids, device=checkpoint.device),
            attention_mask=torch.tensor(mask, device=checkpoint.device),
            do_sample=False,
            max_new_tokens=max(row.limit for row in rows),
            logits_processor=LogitsProcessorList([draw]),
            stopping_criteria=StoppingCriteriaList([ends]),
        )
    eos = frozenset(config.eos_token_id or ())
    new = output[:, width:].tolist()
    return [
        _read(checkpoint, ids[: ends.length[row]], eos, stops[row]) for row, ids in enumerate(new)
    ]


def _read(
    checkpoint: Checkpoint, ids: Sequence[int], eos: frozenset[int], stops: Sequence[str]
) -> tuple[str, str, int]:
    end = next((place for place, token in enumerate(ids) if token in eos), None)
    text, stopped = cut_at_stop(checkpoint.text(ids[:end]), stops)
    reason = "length" if end is None and not stopped else "stop"
    return text, reason, len(ids) if end is None else end + 1
