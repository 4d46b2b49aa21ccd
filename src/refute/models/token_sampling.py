"""Drawing tokens in a batch whose rows have their own sampling, seed, stop strings and length.

`Draw` is a logits processor and `Ends` a stopping criterion of transformers' `generate`, which
itself runs greedily: `Draw` leaves one token for its argmax to find. So each row's draws depend on
the row's own seed only, not on its neighbours, and one uniform number per row and step is all the
randomness there is (inverse-CDF sampling from the nucleus), the same on every device.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from refute.models.contract import Sampling


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
    None while it goes on.
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
