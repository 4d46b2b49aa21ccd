"""Shrinking: near the least that still shows the same; bounded, deterministic, ever smaller."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from refute.core.problems import Scenario
from refute.function.scenarios.shrinking import shrink, size


class Asked:
    """`keeps` of a property of the value, in process; what it was asked."""

    def __init__(self, holds: Callable[[Any], Any], **names: Any) -> None:
        self.holds, self.names = holds, {"f": lambda *args, **named: (*args, *named.items())}
        self.names |= {"datetime": datetime, **names}
        self.batches: list[list[Scenario]] = []

    def __call__(self, batch: Sequence[Scenario]) -> list[bool]:
        self.batches.append(list(batch))
        return [self.one(scenario) for scenario in batch]

    def one(self, scenario: Scenario) -> bool:
        space = dict(self.names)
        try:
            for statement in scenario.setup:
                exec(statement, space)
            return bool(self.holds(eval(scenario.expression, space)))
        except Exception:
            return False

    @property
    def sources(self) -> list[str]:
        return [one.source for batch in self.batches for one in batch]


@pytest.mark.parametrize(
    ("large", "holds", "least"),
    [
        ("f(*[None])", lambda v: v == (None,), "f(None)"),
        ("f([5, 60, 70, 3, 9])", lambda v: sum(v[0]) > 100, "f([31, 70])"),
        ("f(123456)", lambda v: v[0] >= 1000, "f(1000)"),
        ("f(0.7512345)", lambda v: 0.7 < v[0] < 1, "f(0.8)"),
        ("f('hello, World 12')", lambda v: any(map(str.isupper, v[0])) and "e" in v[0], "f('eA')"),
        ("f(b'ab\\x00cd')", lambda v: 0 in v[0], r"f(b'\x00')"),
        ("f({'a': [1], 'b': {'c': 'xy', 'd': 1}})", lambda v: v[0]["b"]["c"] == "x" * 1 + "y",
         "f({'b': {'c': 'xy'}})"),
        ("f([5, 17, 99, 17, 3])", lambda v: len(set(v[0])) < len(v[0]), "f([0, 0])"),
        ("f(datetime.datetime(2024, 2, 29, 12, 30))", lambda v: v[0].day == 29,
         "f(datetime.datetime(1, 1, 29))"),
        ("f(lambda x: [1, 2], f'{3}a')", lambda v: callable(v[0]), "f(lambda x: [])"),
    ],
)  # fmt: skip
def test_values_are_shrunk(large: str, holds: Any, least: str) -> None:
    asked = Asked(holds)
    assert asked.one(Scenario(large)), "the large one shows it"
    assert shrink(Scenario(large), asked).source == least


class Cart:
    def __init__(self, tax: float = 0) -> None:
        self.tax, self.prices = tax, list[Any]()

    def add(self, price: Any) -> Cart:
        self.prices.append(price)
        return self

    def total(self) -> Any:
        return sum(self.prices) * (1 + self.tax)


@pytest.mark.parametrize(
    ("setup", "expression", "holds", "least"),
    [
        (("c = Cart(tax=2)", "c.add(3)", "c.add(50)", "d = Cart()", "d.add(1)"), "c.total()",
         lambda v: v > 20, "c = Cart()\nc.add(21)\nc.total()"),
        (("c = Cart()", "d = Cart()", "d.add(0)"), "d.total()", lambda v: v == 0, "Cart().total()"),
        (("x = [1, 2, 3]", "y = sorted(x)", "z = y"), "f(z, 5)", lambda v: 2 in v[0], "f([2])"),
    ],
)  # fmt: skip
def test_statements_are_shrunk(setup: Any, expression: str, holds: Any, least: str) -> None:
    large = Scenario(expression, setup)
    asked = Asked(holds, Cart=Cart)
    assert asked.one(large)
    found = shrink(large, asked)
    assert size(found) <= size(Scenario(least.rpartition("\n")[2], tuple(least.split("\n")[:-1])))


def test_asks_in_small_batches_only_once_for_ever_smaller_scenarios() -> None:
    asked = Asked(lambda v: sum(v[0]) > 100)
    large = Scenario(f"f({list(range(40, 80))})", (), (), (3,))
    found = shrink(large, asked)
    assert max(map(len, asked.batches)) <= 32
    assert len(set(asked.sources)) == len(asked.sources)
    assert large.source not in asked.sources
    assert all(size(one) < size(large) for batch in asked.batches for one in batch)
    assert found.lines == (3,)
    again = Asked(lambda v: sum(v[0]) > 100)
    assert shrink(large, again) == found
    assert again.sources == asked.sources


@pytest.mark.parametrize("most", [0, 1, 7, 20])
def test_asks_about_no_more_than_it_may(most: int) -> None:
    asked = Asked(lambda v: sum(v[0]) > 100)
    large = Scenario(f"f({list(range(40, 80))})")
    found = shrink(large, asked, most=most)
    assert len(asked.sources) <= most
    assert asked.one(found)


@pytest.mark.parametrize("source", ["f([1, 2", "f(\0)", "(" * 500 + ")" * 500])
def test_what_is_not_python_is_given_back(source: str) -> None:
    assert shrink(Scenario(source), lambda batch: [True] * len(batch)) == Scenario(source)
