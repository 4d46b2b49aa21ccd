"""`Trial.run`: candidates are compiled while the sandbox runs those before them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pytest

from refute.core.problems import Call, Invocation, UnitTest
from refute.function.search.edit import Edit
from refute.function.search.mutants import singles
from refute.function.search.trial import FIRST_BATCH, Trial
from refute.sandbox import Limits, Outcome, Program, Returned
from refute.sandbox.contract import DEFAULT_LIMITS
from refute.sandbox.values import encode

CODE = "def f(x, y):\n    return [x + y * 2 for x in range(y) if x > 3 and y]"


class _Box:
    """Answers each call with None; `before` is what happens before a batch is answered."""

    takes_code = True

    def __init__(self) -> None:
        self.busy = False
        self.batches: list[int] = []

    def before(self) -> None:
        """Nothing here."""

    def run_variants(
        self,
        programs: Sequence[Program],
        calls: Sequence[Invocation],
        limits: Limits = DEFAULT_LIMITS,
    ) -> list[list[Outcome]]:
        """See `Sandbox.run_variants`."""
        self.busy = True
        self.before()
        self.batches.append(len(programs))
        self.busy = False
        return [[Returned(encode(None)) for _ in calls] for _ in programs]


def trial(box: _Box) -> Trial:
    return Trial(CODE, "f", (UnitTest(Call(args=(1, 2)), 3),), box, 0.0, 10_000)  # type: ignore[arg-type]


def candidates(one: Trial) -> list[tuple[tuple[Edit, ...], float]]:
    edits = singles(one.focus, one.facts(""), lambda stmts: 0.0)
    return [((edit,), edit.weight) for edit in edits][:400]


def test_the_next_candidates_are_compiled_meanwhile() -> None:
    """The first batch ends only when one candidate more than it holds was asked for."""
    more, box = threading.Event(), _Box()
    one = trial(box)
    found: list[bool] = []
    box.before = lambda: found.append(more.wait(10))  # type: ignore[method-assign]
    offered = candidates(one)

    def some() -> Iterator[tuple[tuple[Edit, ...], float]]:
        for number, candidate in enumerate(offered):
            if number > 2 * FIRST_BATCH:
                more.set()
            yield candidate

    results = list(one.run(some()))
    assert all(found)
    assert box.batches[0] == FIRST_BATCH
    order = [id(edits[0]) for edits, _ in offered]
    seen = [order.index(id(result.edits[0])) for result in results]
    assert seen == sorted(seen)
    assert len(seen) == one.tried == sum(box.batches)


def test_what_the_sandbox_raises_is_raised() -> None:
    box = _Box()
    one = trial(box)

    def fail() -> None:
        raise OSError("gone")

    box.before = fail  # type: ignore[method-assign]
    before = set(threading.enumerate())
    with pytest.raises(OSError, match="gone"):
        list(one.run(candidates(one)))
    assert set(threading.enumerate()) <= before, "no thread of the search is left"
