"""The text of an issue, its bounds, and the results of repository-level methods."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from refute.core.methods import Bounds
from refute.core.problems import IssuePrediction
from refute.core.storage import parse_json, read_file
from refute.errors import ContextTooLong, InputError, LimitReached
from refute.models.contract import Asker, Completion, Message, Sampling, Tally

FixState = Literal["fixed", "proposed", "cannot tell"]
"""Claim about a fix: evidence that is independent of it agrees; it may be right, and a
reason not to call it so is known; nothing speaks for it."""


Verdict = Literal["fixed", "not fixed", "breaks tests", "does not apply", "cannot tell"]
"""Verdict of the tests on a fix."""


@dataclass(frozen=True, slots=True)
class DraftedFix:
    """A change of the code that a method drafted while it wrote tests, with what speaks for it."""

    patch: str
    """Unified diff of code files."""
    answers: int = 1
    """Number of answers that held just this change."""
    score: float = 0.0
    """The method's own order: more is better."""
    broken: tuple[str, ...] = ()
    """Existing tests near it that pass on the original code and fail with it."""
    near: tuple[str, ...] = ()
    """Existing test files that were run with it."""
    green: frozenset[str] = frozenset()
    """Tests of drafts that do not know it, none refused by a judge, that fail now and pass with it;
    each with the number of its draft in front, as in `3 tests/test_a.py::test_b`."""
    red: frozenset[str] = frozenset()
    """Those that fail with it."""


@dataclass(frozen=True, slots=True)
class FixClaim:
    """Claim about the fix in a prediction, and the reason."""

    state: FixState
    reasons: tuple[str, ...]
    """One-line reasons: of a fixed one the evidence, else what is wanting."""
    tests: str = ""
    """The test patch that fails now and passes with the fix; "": none was found."""
    failing: tuple[str, ...] = ()
    """Ids of its tests that fail now and pass with the fix."""
    rivals: tuple[str, ...] = ()
    """Other fixes of good standing, as unified diffs, the best first."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A prediction with what led to it."""

    prediction: IssuePrediction
    steps: tuple[dict[str, Any], ...] = ()
    """The journal of the method: one JSON object per step (`kind`, and what was asked, run, seen);
    enough to show a reader why the prediction is what it is."""
    alternatives: tuple[IssuePrediction, ...] = ()
    """All samples, the prediction's own included, where a method drew several: what the oracle
    grader of pass@k chooses from. No method looks at grades."""
    fixes: tuple[DraftedFix, ...] = ()
    """Changes of the code that were drafted on the way."""
    claim: FixClaim | None = None
    """About the fix that the prediction is; None: it is tests."""


_LARGEST = 1 << 20


def read_issue(source: str) -> str:
    """Title, a line feed and body of the issue in file `source` (`-`: standard input).

    JSON is taken for an exported GitHub issue: `title` and `body`, alone, in a list of one, or
    under `issue` (as in an event). Raises `InputError`.
    """
    if source == "-":
        data = sys.stdin.buffer.read(_LARGEST + 1)
    else:
        try:
            data = read_file(Path(source), limit=_LARGEST + 1, pipe=True)
        except OSError as error:
            raise InputError(f"{source}: {error.strerror}") from None
    name = "standard input" if source == "-" else source
    if len(data) > _LARGEST:
        raise InputError(f"{name}: longer than 1 MiB; an issue is a text that people read")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: not UTF-8 text (byte {error.start})") from None
    if text.lstrip().startswith(("{", "[")):
        text = _exported(text, name)
    if not text.strip():
        raise InputError(f"{name}: the issue is empty")
    return text


def _exported(text: str, name: str) -> str:
    try:
        document: Any = parse_json(text)
    except ValueError:
        return text  # prose may begin with a bracket as well
    if isinstance(document, list) and len(document) == 1:
        document = document[0]
    if isinstance(document, dict) and isinstance(document.get("issue"), dict):
        document = document["issue"]
    if not isinstance(document, dict) or not isinstance(document.get("title"), str):
        raise InputError(f"{name}: JSON without a `title`; give GitHub's form of one issue")
    body = document.get("body")
    if body is not None and not isinstance(body, str):
        raise InputError(f"{name}: `body` is not text")
    return f"{document['title']}\n{(body or '').replace(chr(13) + chr(10), chr(10))}"


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
