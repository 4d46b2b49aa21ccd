"""Examples of descriptions and of callers, understood by replaying them."""

from __future__ import annotations

import pytest

from refute.core.problems import FunctionProblem
from refute.function.contract import MethodResult, State
from refute.function.examples import understood
from refute.function.search.engine import search
from refute.sandbox.local import LocalSandbox

SCALED = '''
def scaled(x, k):
    """
    >>> scaled(2, 2)
    4
    """
    return x - k
'''
TOTAL = '''
def total(prices, rate):
    """
    >>> total([10, 20], 10)
    {total}
    """
    return sum(scaled(p, rate) for p in prices)
'''


def problem(code: str, name: str = "scaled") -> FunctionProblem:
    return FunctionProblem("t", "", f"{name}(x)", name, code)


def searched(code: str, box: LocalSandbox) -> MethodResult:
    known, _ = understood(problem(code), box=box)
    return search(known, box=box, budget=10.0, max_candidates=400)


def body(result: MethodResult) -> str:
    """The last line of the first fix of `scaled`."""
    return result.candidates[0].code.split("def total")[0].rstrip().rpartition("\n")[2].strip()


@pytest.mark.parametrize(("total", "line"), [(300, "return x * k"), (50, "return x + k")])
def test_what_a_caller_shows_chooses_the_fix(total: int, line: str, box: LocalSandbox) -> None:
    result = searched(SCALED + TOTAL.format(total=total), box)
    assert body(result) == line


def test_a_fix_that_spoils_an_example_of_a_caller_is_only_proposed(box: LocalSandbox) -> None:
    code = SCALED.replace("- k", "* k + 1") + TOTAL.format(total=302)
    result = searched(code, box)
    assert result.state == State.PROPOSED
    assert any("passes now and would fail" in line for line in result.reservations)


def test_a_caller_alone_makes_nothing_red(box: LocalSandbox) -> None:
    code = SCALED.replace("x - k", "x * k") + TOTAL.format(total=50)
    assert searched(code, box).state == State.PASSES


def test_the_doctests_of_a_description_count_where_the_code_has_none(box: LocalSandbox) -> None:
    told = "Scale it.\n\n>>> k = 3\n>>> scaled(2, k)\n6\n>>> scaled(2, 0)\n0\n"
    code = "def scaled(x, k):\n    return x + k\n"
    asked = FunctionProblem("t", told, "scaled(x, k)", "scaled", code)
    result = search(asked, box=box, budget=10.0, max_candidates=200)
    assert [one.test.source for one in result.failing[:2]] == [
        "description line 4",
        "description line 6",
    ]
    assert body(result) == "return x * k"
