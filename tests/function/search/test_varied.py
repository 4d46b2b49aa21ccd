"""Examples with other values in them."""

from __future__ import annotations

from random import Random

import pytest

from refute.function.search import search
from refute.function.search.varied import varied
from refute.problems import DoctestSession, FunctionProblem, UnitTest, Want
from refute.sandbox.local import LocalSandbox


def test_one_literal_is_another_at_a_time() -> None:
    session = DoctestSession(("g = Graph([(1, 2)])\n", "f(g, 'ab', f'{g}')\n"))
    found = [*varied([session], Random(0))]
    assert len(set(found)) == len(found) > 10
    for new in found:
        changed = [a != b for a, b in zip(new.steps, session.steps, strict=True)]
        assert changed.count(True) == 1
    assert any("'aba'" in new.steps[1] or "'abb'" in new.steps[1] for new in found)
    assert any("[]" in new.steps[0] or "(2, 2)" in new.steps[0] for new in found)


def test_what_is_only_kept_is_shown() -> None:
    (first, *_) = varied([DoctestSession(("u = f([1, 2])\n",))], Random(0))
    assert first.steps[-1].startswith("(u, [*u]")


@pytest.mark.parametrize("steps", [("f(\n",), ("f(x)\n",), ("f(" + "1, " * 1000 + ")\n",)])
def test_what_holds_no_literal_or_is_long_is_left_alone(steps: tuple[str, ...]) -> None:
    assert [*varied([DoctestSession(steps)], Random(0))] == []


TWICE = """
def twice(f):
    return lambda x: f(x)
"""


def test_fixes_are_compared_on_them() -> None:
    """Functions that come back have no values of their own: what they do, examples show."""
    steps = ("g = twice(lambda n: n * 3 + 1)\n", "g(2)\n")
    tests = (UnitTest(DoctestSession(steps), Want("22\n")),)
    problem = FunctionProblem("own/1", "", "def twice(f)", "twice", TWICE, tests=tests)
    with LocalSandbox() as box:
        result = search(problem, box=box, max_candidates=1_500)
    assert "f(f(x))" in result.candidates[0].code
    assert (result.candidates[0].confidence or 0) > 0.5, "others do not do the same"
