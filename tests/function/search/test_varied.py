"""Examples with other values in them."""

from __future__ import annotations

from random import Random

from refute.core.problems import DoctestSession, FunctionProblem, UnitTest, Want
from refute.function.contract import State
from refute.function.search.engine import search
from refute.function.search.varied import varied
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


TWICE = """
def twice(f):
    return lambda x: f(f(f(x)))
"""


def test_fixes_are_compared_on_them() -> None:
    """Functions that come back have no values of their own: what they do, examples show."""
    steps = ("g = twice(lambda n: n * 3 + 1)\n", "g(2)\n")
    tests = (UnitTest(DoctestSession(steps), Want("22\n")),)
    problem = FunctionProblem("own/1", "", "def twice(f)", "twice", TWICE, tests=tests)
    with LocalSandbox() as box:
        result = search(problem, box=box, max_candidates=1_500)
    assert "lambda x: f(f(x))" in result.candidates[0].code
    assert (result.candidates[0].confidence or 0) > 0.5, "others do not do the same"


WINDOWS = """
def windows(seq, reverse=False):
    sizes = range(1, len(seq) + 1)
    if not reverse:
        sizes = reversed(sizes)
    return (seq[at : at + size] for size in sizes for at in range(len(seq) - size + 1))
"""


def test_a_changed_default_is_told_from_a_changed_condition() -> None:
    """Both pass the example; which is right shows where the parameter is given."""
    step = "for one in windows('abc'):\n    print(one)\n"
    test = UnitTest(DoctestSession((step,)), Want("a\nb\nc\nab\nbc\nabc\n"))
    problem = FunctionProblem("p", "", "windows(seq)", "windows", WINDOWS, tests=(test,))
    with LocalSandbox() as box:
        result = search(problem, box=box, budget=20.0)
    assert result.candidates
    assert result.state is State.PROPOSED  # it was fixed, with `reverse=True` in the first line
