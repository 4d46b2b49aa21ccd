"""An asker that keeps to one issue's bounds: samples of the model, and seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence

from refute.core.methods import Bounds
from refute.errors import ContextTooLong, LimitReached
from refute.models.contract import Asker, Completion, Message, Sampling, Tally


class OutOfBounds(LimitReached):
    """The issue's bounds are used up. A method ends with the best that it has; no error."""


class Bounded:
    """Asks through `ask`, never for more than `bounds.calls` samples, cached ones included.

    Cached samples count, so that a resumed run makes the same choices as an undisturbed one.
    """

    def __init__(self, ask: Asker, bounds: Bounds, writer: Asker | None = None) -> None:
        """`writer`: who is asked for tests, where that is another model."""
        self._ask = ask
        self._writer = writer or ask
        self._bounds = bounds
        self._start = time.monotonic()
        self.used = 0

    @property
    def tally(self) -> Tally:
        """Cost of the issue's questions."""
        return self._ask.tally

    @property
    def left(self) -> int:
        """Samples that may still be asked for; 0 once the time is up."""
        return max(0, self._bounds.calls - self.used) if self.seconds_left > 0 else 0

    @property
    def seconds_left(self) -> float:
        """Seconds until the method has to end."""
        return self._bounds.seconds - (time.monotonic() - self._start)

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        n: int = 1,
        first: int = 0,
        sampling: Sampling = Sampling(),  # noqa: B008 (frozen)
        of_tests: bool = False,
    ) -> list[Completion]:
        """As `Asker.ask`. Raises `OutOfBounds` where that would be too many."""
        if n > self.left:
            raise OutOfBounds(f"{n} more samples asked for, {self.left} are left")
        self.used += n
        try:
            asked = self._writer if of_tests else self._ask
            return await asked.ask(messages, n=n, first=first, sampling=sampling)
        except ContextTooLong:
            self.used -= n  # nothing was drawn: it may be asked for again, shorter
            raise
