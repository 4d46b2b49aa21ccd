"""`Trial.run` works in a thread beside the sandbox."""

from __future__ import annotations

import threading

import pytest

from refute.core.problems import Call, UnitTest
from refute.function.search.mutants import singles
from refute.function.search.trial import Trial

CODE = "def f(x, y):\n    return [x + y * 2 for x in range(y) if x > 3 and y]"


class _Gone:
    """A sandbox whose every run fails."""

    takes_code = True

    def run_variants(self, *_: object) -> None:
        """See `Sandbox.run_variants`."""
        raise OSError("gone")


def test_what_the_sandbox_raises_is_raised() -> None:
    one = Trial(CODE, "f", (UnitTest(Call(args=(1, 2)), 3),), _Gone(), 0.0, 10_000)  # type: ignore[arg-type]
    edits = singles(one.focus, one.facts(""), lambda stmts: 0.0)
    before = set(threading.enumerate())
    with pytest.raises(OSError, match="gone"):
        list(one.run(((edit,), edit.weight) for edit in edits[:400]))
    assert set(threading.enumerate()) <= before, "no thread of the search is left"
