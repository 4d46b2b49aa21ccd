"""`hf:PATH_OR_ID[+ADAPTER]`: a causal language model of transformers in this process.

Requests that arrive within a few milliseconds are answered in one batch, each sample a row of it
with its own sampling and its own random numbers. The model is loaded by the first request, so that
a run whose answers are all cached needs no GPU.

Sample i of a request with a seed is the same on every run on the same machine, whatever else is in
the batch, up to rounding: padding and batch size change the last bits of a probability, most in
half precision.

Tokens are drawn in a batch whose rows have their own sampling, seed, stop strings and length.
`Draw` is a logits processor and `Ends` a stopping criterion of transformers' `generate`, which
itself runs greedily: `Draw` leaves one token for its argmax to find. So each row's draws depend on
the row's own seed only, not on its neighbours, and one uniform number per row and step is all the
randomness there is (inverse-CDF sampling from the nucleus), the same on every device.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from refute.errors import InputError, ModelUnavailable
from refute.models.contract import Completion, Message, Sampling, Usage
from refute.models.dialects import cut_at_stop
from refute.models.providers import Provider
from refute_lab.models.checkpoint import (
    PLAIN_STOP,
    Checkpoint,
    CheckpointSource,
    MicroBatcher,
    TooLarge,
    find,
    load,
    reasons,
)


class Draw:
    """Leaves one token per row: by temperature and nucleus (top-p); T = 0 leaves the row alone."""

    def __init__(self, samplings: Sequence[Sampling], seeds: Sequence[str]) -> None:
        self._drawn = [row for row, sampling in enumerate(samplings) if sampling.temperature > 0]
        self._temperatures = [samplings[row].temperature for row in self._drawn]
        self._masses = [samplings[row].top_p for row in self._drawn]
        self._uniforms = [random.Random(seeds[row]) for row in self._drawn]

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """`scores`: float tensor (rows, vocabulary); returned with all but the drawn at -inf."""
        import torch

        if not self._drawn:
            return scores

        def column(values: list[float]) -> Any:
            return torch.tensor(values, dtype=torch.float32, device=scores.device)[:, None]

        rows = torch.tensor(self._drawn, device=scores.device)
        logits = scores[rows].float() / column(self._temperatures)
        shares, tokens = torch.sort(torch.softmax(logits, -1), descending=True, stable=True)
        total = shares.cumsum(-1)
        kept = (total - shares) < column(self._masses)  # what comes before has less than top_p
        kept[:, 0] = True
        mass = (shares * kept).sum(-1, keepdim=True)
        uniform = column([generator.random() for generator in self._uniforms])
        place = torch.searchsorted(total, uniform * mass, right=True)
        place = torch.minimum(place, kept.sum(-1, keepdim=True) - 1)
        only = torch.full_like(logits, float("-inf")).scatter_(-1, tokens.gather(-1, place), 0.0)
        return scores.index_copy(0, rows, only.to(scores.dtype))


class Ends:
    """Notes where each row ends besides at an end-of-sequence token.

    `length[i]` is the number of new tokens after which row i was full, stopped or no longer wanted;
    None while it continues.
    """

    def __init__(
        self,
        prompt_length: int,
        limits: Sequence[int],
        stops: Sequence[Sequence[str]],
        *,
        decode: Callable[[Sequence[int]], str],
        wanted: Callable[[int], bool],
    ) -> None:
        """`prompt_length`: of the padded prompts; `limits`: new tokens that each row may have."""
        self.length: list[int | None] = [None] * len(limits)
        self._prompt_length = prompt_length
        self._limits = limits
        self._stops = stops
        self._decode = decode
        self._wanted = wanted
        # A token that shows is at least one byte: so many tokens hold the longest stop string,
        # and a few more are spared for what decoding drops at the beginning of a text.
        self._tails = [max((len(s.encode()) for s in strings), default=0) + 4 for strings in stops]

    def __call__(self, input_ids: Any, scores: Any, **ignored: Any) -> Any:
        """Boolean tensor (rows,): which rows are over."""
        import torch

        new = input_ids.shape[1] - self._prompt_length
        for row, length in enumerate(self.length):
            if length is None and self._over(row, new, input_ids):
                self.length[row] = new
        over = [length is not None for length in self.length]
        return torch.tensor(over, dtype=torch.bool, device=input_ids.device)

    def _over(self, row: int, new: int, input_ids: Any) -> bool:
        if new >= self._limits[row] or not self._wanted(row):
            return True
        stops = self._stops[row]
        if not stops:
            return False
        tail = self._decode(input_ids[row, -min(self._tails[row], new) :].tolist())
        if not any(stop in tail for stop in stops):
            return False
        whole = self._decode(input_ids[row, self._prompt_length :].tolist())
        return any(stop in whole for stop in stops)  # the tail alone may decode differently


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


HF = Provider(
    name="hf",
    syntax="hf:PATH_OR_ID[+ADAPTER]",
    summary="weights on this machine, for smoke tests, with the extra [train]",
    open=lambda rest, _: open_hf(rest),
)
