"""What a module says of itself, objects that are built from it, and proposals that learn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.function.scenarios.described import (
    Described,
    Parameter,
    Signature,
    describe_module,
)
from refute.function.scenarios.observation import Observation
from refute.function.scenarios.proposing import (
    Proposer,
    Shown,
    Target,
    explore,
    runner,
)
from refute.sandbox import Program
from refute.sandbox.local import LocalSandbox

SHOP = """
from __future__ import annotations
import abc, datetime, enum, os
from dataclasses import dataclass
from typing import Iterable, Literal, Optional, TypedDict, Callable

class Size(enum.Enum):
    SMALL = 1
    LARGE = 2

@dataclass
class Item:
    name: str
    price: float
    size: Size = Size.SMALL

class Row(TypedDict):
    item: str
    count: int

class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> float: ...

class Square(Shape):
    def __init__(self, side: int) -> None:
        self.side = side
    def area(self) -> float:
        return float(self.side ** 2)

class Cart:
    def __init__(self, owner: str, *, limit: int) -> None:
        if limit < 1:
            raise ValueError("limit")
        self.owner, self.limit, self.items = owner, limit, []

    @classmethod
    def of(cls, items: list[Item]) -> Cart:
        cart = cls("me", limit=100)
        cart.items.extend(items)
        return cart

    def add(self, item: Item) -> None:
        self.items.append(item)

    def cheapest(self) -> Optional[Item]:
        return min(self.items, key=lambda i: i.price) if self.items else None

    @property
    def total(self) -> float:
        return sum(i.price for i in self.items)

def ship(cart: Cart, how: Literal["air", "sea"] = "sea", *, when: datetime.date) -> str:
    return f"{how} {len(cart.items)} {when:%Y}"

def fits(shape: Shape, room: float) -> bool:
    return shape.area() <= room

def spell(size: Size) -> str:
    return size.name.lower()

def read(rows: Iterable[Row]) -> int:
    return sum(row["count"] for row in rows)

def apply(f: Callable[[int], int], times: int) -> list:
    return [f(i) for i in range(min(times, 9))]

def untyped(cart):
    return cart.cheapest().name

def held(box):
    return f"{box.owner} of {box.limit}"

async def later(n: int) -> int:
    return n + 1

def year(dt):
    return _year(dt)

def _year(moment):
    return moment.year

def side(shape: Shape):
    assert isinstance(shape, Square)
    return shape.side

def ranked(words, key=_year, size=Size.LARGE):
    return key, size
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalSandbox, Path]]:
    folder = tmp_path_factory.mktemp("shop")
    (folder / "shop.py").write_text(SHOP)
    with LocalSandbox(readable=(folder,), import_path=(folder,)) as box:
        yield box, folder


def described(shop: tuple[LocalSandbox, Path], *names: str) -> Described:
    found = describe_module(shop[0], "shop", names)
    assert isinstance(found, Described), found
    return found


def shown(shop: tuple[LocalSandbox, Path], name: str, most: int = 64) -> list[Shown]:
    box, folder = shop
    about = described(shop, name)
    target = Target("shop", name, about.names[name], SHOP)
    program = Program(SHOP, name, filename=str(folder / "shop.py"), module="shop")
    proposer = Proposer(target, about, {str(folder / "shop.py"): SHOP}.get)
    return list(explore(proposer, runner(box, program), most=most))


@pytest.mark.parametrize(
    "name",
    ["Cart.of", "Cart.total", "Cart.cheapest", "ship", "fits", "spell", "read", "apply", "untyped",
     "held", "later"],
)  # fmt: skip
def test_everything_in_the_shop_can_be_called(shop: tuple[LocalSandbox, Path], name: str) -> None:
    found = shown(shop, name, most=128)
    assert any(one.seen.says for one in found)


def test_proposals_are_the_same_for_a_seed_and_never_twice(
    shop: tuple[LocalSandbox, Path],
) -> None:
    first = [one.proposal.scenario for one in shown(shop, "ship", 48)]
    assert first == [one.proposal.scenario for one in shown(shop, "ship", 48)]
    assert len({one.source for one in first}) == len(first)


def test_exploration_pays_for_few_time_outs() -> None:
    """Without an end, each proposal with a large number would cost one."""
    times = Parameter("times", 1, False, None, ("class", "builtins:int", []))
    code = "def spin(times):\n    for _ in range(times * 1_000_000_007): pass\n"
    target = Target("m", "spin", Signature("function", (times,)), code)
    proposer = Proposer(target, Described(), lambda file: None)
    paid, tried = 0, 0
    for _ in range(20):
        for one in proposer.batch(16):
            large = max(
                (abs(int(n)) for n in re.findall(r"\d{4,}", one.scenario.source)), default=0
            )
            seen = (
                Observation("cut short", error="never ends") if large else Observation("returned")
            )
            paid, tried = paid + bool(large), tried + 1
            proposer.learn(one, seen)
    assert tried > 100
    assert paid <= 24
