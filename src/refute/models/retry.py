"""How long to go on asking a server that does not answer well."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Bounds on one request; all of them hold. Times are in seconds."""

    tries: int = 8
    first_tries: int = 3
    """While the server has never answered: it may not be there at all."""
    attempt: float = 300.0
    """One try, from sending to the last byte of the answer."""
    total: float = 900.0
    """All tries and the pauses between them."""
    pause: float = 0.5
    """The first pause, doubled each time."""
    longest_pause: float = 60.0

    def backoff(self, failures: int) -> float:
        """The pause after so many failures: exponential, the upper half of it by chance.

        Chance keeps requests that failed together from coming back together.
        """
        pause = min(self.longest_pause, self.pause * 2.0 ** min(failures - 1, 30))
        return pause * random.uniform(0.5, 1.0)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait that the server asks for, as a number or a date; None: it does not say."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    if seconds is not None or text is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
