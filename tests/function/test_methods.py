"""Methods, properties and coroutines: what their examples and tests say, and how they are fixed."""

from __future__ import annotations

from textwrap import dedent

import pytest

from refute.core.problems import DoctestSession, FunctionProblem, Trust, UnitTest
from refute.function.contract import MethodResult, State
from refute.function.examples import understood
from refute.function.search.engine import search
from refute.sandbox import Program
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.local import LocalSandbox

CART = '''\
import functools


class Cart:
    """Things to be paid.

    >>> prices = {}
    >>> prices.update(tea=1)
    >>> cart = Cart(0.5)
    >>> cart.add("tea", 2.0, count=3)
    >>> cart.total()
    9.0
    >>> cart.half
    4.5
    """

    __slots__ = ("__dict__", "prices", "tax")

    def __init__(self, tax=0.0):
        """
        >>> Cart(0.25).tax
        0.25
        """
        self.tax = tax
        self.prices = {}

    def add(self, name, price, count=1):
        self.prices[name] = self.prices.get(name, 0.0) + price * count

    def update(self, other):
        self.prices.update(other)

    def total(self):
        """
        >>> cart = Cart()
        >>> cart.total()
        0.0
        >>> cart.add("tea", 2.0)
        >>> cart.add("milk", 1.5, count=2)
        >>> cart.total()
        5.0
        """
        return float(sum(self.prices.values())) * (1 + self.tax)

    @functools.cached_property
    def half(self):
        return self.total() / 2

    @property
    def empty(self):
        return not self.prices

    @classmethod
    def of(cls, *names):
        """
        >>> Cart.of("a", "b").total()
        2.0
        """
        cart = cls()
        for name in names:
            cart.add(name, 1.0)
        return cart

    @staticmethod
    def rounded(price):
        """
        >>> Cart.rounded(2.345)
        2.35
        """
        return round(price, 2)

    def __add__(self, other):
        """
        >>> a = Cart.of("x")
        >>> (a + Cart.of("y")).total()
        2.0
        >>> (a + Cart()).total()
        1.0
        """
        both = type(self)(self.tax)
        both.prices = {**self.prices, **other.prices}
        return both

    async def paid(self):
        """
        >>> import asyncio
        >>> asyncio.run(Cart.of("x").paid())
        1.0
        """
        return self.total()


class Other:
    """
    >>> Other().total()
    7
    """

    def total(self):
        return 7


async def later(n):
    """
    >>> import asyncio
    >>> asyncio.run(later(2))
    3
    >>> asyncio.run(later(-2))
    -1
    """
    return n + 1
'''


def problem(name: str, code: str = CART) -> FunctionProblem:
    return FunctionProblem("t", "", f"{name.rpartition('.')[2]}()", name, code)


def known(box: LocalSandbox, one: FunctionProblem) -> dict[str, bool]:
    """The last step of each example that is believed, and whether it passes."""
    tests = [t for t in understood(one, box=box)[0].examples or () if t.trust < Trust.HINT]
    outcomes = box.run(Program(one.code, one.entry_point), [t.call for t in tests])
    return {
        _last(test): matches(outcome, expect_test(test))
        for test, outcome in zip(tests, outcomes, strict=True)
    }


def _last(test: UnitTest) -> str:
    call = test.call
    return call.steps[-1].strip() if isinstance(call, DoctestSession) else repr(call)


@pytest.mark.parametrize(
    ("name", "examples"),
    [
        ("Cart.total", {"cart.total()"}),
        ("Cart.add", {'cart.add("tea", 2.0, count=3)'}),  # what total shows is total's
        ("Cart.half", {"cart.half"}),  # a property is called where it is read
        ("Cart.empty", set()),
        ("Cart.update", set()),  # a dictionary's is not its
        ("Cart.__init__", {"Cart(0.25).tax"}),
        ("Cart.of", {'Cart.of("a", "b").total()'}),
        ("Cart.rounded", {"Call(args=(2.345,), kwargs={})"}),
        ("Cart.__add__", {'(a + Cart.of("y")).total()', "(a + Cart()).total()"}),
        ("Cart.paid", {'asyncio.run(Cart.of("x").paid())'}),
        ("Other.total", {"Other().total()"}),
        ("later", {"asyncio.run(later(2))", "asyncio.run(later(-2))"}),
    ],
)
def test_the_examples_that_call_it(box: LocalSandbox, name: str, examples: set[str]) -> None:
    assert known(box, problem(name)) == dict.fromkeys(examples, True)


# -- fixes -----------------------------------------------------------------------------------------


def fixed(box: LocalSandbox, name: str, right: str, wrong: str) -> MethodResult:
    assert CART.count(right) == 1
    one, _ = understood(problem(name, CART.replace(right, wrong)), box=box)
    result = search(one, box=box, budget=600.0, max_candidates=60)
    assert result.failing
    return result


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("Cart.total", "(1 + self.tax)", "(1 - self.tax)"),
        ("Cart.half", "self.total() / 2", "self.total() / 3"),
        ("Cart.rounded", "round(price, 2)", "round(price, 1)"),
        ("later", "return n + 1", "return n - 1"),
        ("Cart.__add__", "**other.prices", "**self.prices"),
    ],
)
def test_the_body_is_edited(box: LocalSandbox, name: str, right: str, wrong: str) -> None:
    result = fixed(box, name, right, wrong)
    assert any(right in one.code for one in result.candidates), result.notes


def test_objects_tell_fixes_apart_and_make_the_tests(box: LocalSandbox) -> None:
    result = fixed(box, "Cart.total", "(1 + self.tax)", "(1 - self.tax)")
    assert result.state is State.FIXED
    derived = [one.test for one in result.failing if one.test.source == "search"]
    assert derived
    for test in derived:
        assert isinstance(test.call, DoctestSession)
        assert any(".total()" in step for step in test.call.steps)


def test_no_input_is_made_up_for_an_object(box: LocalSandbox) -> None:
    code = dedent(
        """
        class Box:
            def first(self, items):
                return items[0] + self.x
        """
    )
    result = search(problem("Box.first", code), box=box, budget=600.0, max_candidates=10)
    assert result.state is State.CANNOT_TELL
    assert not result.findings
