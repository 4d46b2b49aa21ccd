"""What a module says of itself, objects that are built from it, and proposals that learn."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from refute.core.problems import Scenario
from refute.function.scenarios.building import Builder
from refute.function.scenarios.described import (
    ANY,
    Described,
    Parameter,
    Signature,
    describe_module,
)
from refute.function.scenarios.mentioned import is_pattern, matching, mentioned
from refute.function.scenarios.observation import Observation
from refute.function.scenarios.pieces import Namer, Piece
from refute.function.scenarios.proposing import (
    Bounds,
    Proposer,
    Shown,
    Target,
    explore,
    runner,
)
from refute.function.scenarios.receivers import function_returned, uses
from refute.sandbox import Program
from refute.sandbox.local import LocalSandbox
from refute.sandbox.values import Incomplete
from refute.source.syntax import find_function, parse_module

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

class Table:
    def __init__(self, a=1, b=2, c=None, d=4, e=5, f=6, g=7, h=8, i=9, j=0, k=1, row_styles=None):
        self.row_styles = list(row_styles or ())
    def style(self, index: int) -> str:
        return f"styled {index}" if self.row_styles else "plain"

class Metric:
    def distance(self, *words):
        raise NotImplementedError
    def closeness(self, *words):
        return 1 - self.distance(*words)

class Unlike(Metric):
    def distance(self, *words):
        return len(set(words)) - 1

def ranked(words, key=_year, size=Size.LARGE):
    return key, size

class Upper:
    def __init__(self, text: str) -> None:
        self.text = text
    def __get__(self, it, owner):
        return (it is None, owner.__name__, self.text.upper())
    def __set__(self, it, value):
        self.text = it.label = value
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


def test_signatures_and_classes_are_described(shop: tuple[LocalSandbox, Path]) -> None:
    about = described(shop, "Cart.of", "Cart.total", "ship", "later", "gone")
    kinds = {name: one.kind for name, one in about.names.items()}
    assert kinds == {
        "Cart.of": "class", "Cart.total": "property", "ship": "function", "later": "function",
    }  # fmt: skip
    assert "gone" in about.problems
    assert [p.name for p in about.names["ship"].required] == ["cart", "when"]
    assert about.classes["shop:Size"].members == ("SMALL", "LARGE")
    assert about.classes["shop:Shape"].abstract
    assert about.classes["shop:Shape"].subclasses == ("shop:Square",)


def test_a_module_that_does_not_import_says_why(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import nothing_like_that")
    with LocalSandbox(readable=(tmp_path,), import_path=(tmp_path,)) as box:
        said = describe_module(box, "broken", ["f"])
    assert said == "cannot be imported: ModuleNotFoundError: No module named 'nothing_like_that'"


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (("class", "shop:Size", []), ["Size.SMALL", "Size.LARGE"]),
        (("class", "shop:Item", []), ['Item("abc", 1.5)']),
        (("class", "shop:Shape", []), ["Square(1)"]),
        (("literal", ["air", "sea"]), ["'air'", "'sea'"]),
        (("union", [("none",), ("class", "builtins:bool", [])]), ["None", "True", "False"]),
        (("class", "builtins:list", [("class", "builtins:int", [])]), ["[1]", "[]", "[1, 0]"]),
        (("keys", {"item": ("class", "builtins:str", [])}), ["{'item': \"abc\"}"]),
        (("class", "datetime:timedelta", []), ["datetime.timedelta(0)"]),
    ],
)
def test_expressions_of_a_type(
    shop: tuple[LocalSandbox, Path], hint: tuple[object, ...], expected: list[str]
) -> None:
    builder = Builder(described(shop, "ship"), Namer("shop", ()))
    found = [piece.source for piece in builder.of_type(hint)]
    assert [one for one in expected if one not in found] == []


def test_names_of_other_modules_are_imported_and_never_shadow(
    shop: tuple[LocalSandbox, Path],
) -> None:
    namer = Namer("other", {"Item"})
    assert namer.name("shop:Item").source == "shop_Item"
    assert namer.name("shop:Item").imports == (("shop_Item", "shop:Item"),)
    assert namer.name("shop:Cart.of").source == "Cart.of"
    assert namer.name("other:Item").imports == ()


@pytest.mark.parametrize(
    "name",
    ["Cart.of", "Cart.total", "Cart.cheapest", "ship", "fits", "spell", "read", "apply", "untyped",
     "held", "later"],
)  # fmt: skip
def test_everything_in_the_shop_can_be_called(shop: tuple[LocalSandbox, Path], name: str) -> None:
    found = shown(shop, name, most=128)
    assert any(one.seen.says for one in found)


def test_sequences_bring_a_receiver_into_other_states(shop: tuple[LocalSandbox, Path]) -> None:
    values = {one.seen.value for one in shown(shop, "Cart.total", 96) if one.seen.says}
    assert len(values) > 2


def test_proposals_are_the_same_for_a_seed_and_never_twice(
    shop: tuple[LocalSandbox, Path],
) -> None:
    first = [one.proposal.scenario for one in shown(shop, "ship", 48)]
    assert first == [one.proposal.scenario for one in shown(shop, "ship", 48)]
    assert len({one.source for one in first}) == len(first)


def test_a_constructor_that_refuses_is_used_less(shop: tuple[LocalSandbox, Path]) -> None:
    found = shown(shop, "Cart.add", 128)
    refused = [one.seen.kind == "setup" for one in found]
    assert sum(refused[64:]) < 20


def test_types_are_told_by_habits_checks_and_defaults(shop: tuple[LocalSandbox, Path]) -> None:
    assert any(one.seen.says for one in shown(shop, "year"))
    assert any(one.seen.says for one in shown(shop, "side"))
    hints = {p.name: p.type for p in described(shop, "ranked").names["ranked"].parameters or ()}
    assert hints == {
        "words": ("any",), "key": ("callable",), "size": ("class", "shop:Size", []),
    }  # fmt: skip


def test_what_a_base_class_leaves_open_is_called_on_its_subclasses(
    shop: tuple[LocalSandbox, Path],
) -> None:
    found = [one.seen for one in shown(shop, "Metric.closeness", 128) if one.seen.says]
    assert {one.value for one in found} > {1}


def test_options_that_are_named_like_what_is_read_are_given(
    shop: tuple[LocalSandbox, Path],
) -> None:
    found = [one.seen.value for one in shown(shop, "Table.style") if one.seen.says]
    assert sum(one.startswith("styled") for one in found) > 2


@pytest.mark.parametrize("name", ["Upper.__get__", "Upper.__set__"])
def test_a_descriptor_is_reached_through_a_class_that_holds_it(
    shop: tuple[LocalSandbox, Path], name: str
) -> None:
    found = shown(shop, name)
    sources = [one.proposal.scenario.source for one in found]
    assert found
    assert not any("__get__" in one or "__set__" in one for one in sources)
    assert any(one.seen.says for one in found)
    if name == "Upper.__get__":
        seen = {one.seen.value[:2] for one in found if one.seen.says}
        assert seen >= {(True, "Owner"), (False, "Owner")}


def test_a_call_that_raised_while_recording_is_left_out() -> None:
    recorded = Scenario("cart.total()", ("cart = Cart()", "cart.add(-1)", "cart.add(2)"))
    target = Target("m", "total", Signature("function", ()), "def total(): ...")
    proposer = Proposer(target, Described(), lambda file: None, [recorded])
    [first] = proposer.batch(1)
    assert first.scenario == recorded
    proposer.learn(first, Observation("setup", error="ValueError", step=1))
    later = [one.scenario for one in proposer.batch(4)]
    assert Scenario("cart.total()", ("cart = Cart()", "cart.add(2)")) in later
    proposer.learn(first, Observation("setup", error="ValueError", step=0))  # what makes it stays
    assert not any(one.scenario.setup == recorded.setup[1:] for one in proposer.batch(4))


CODE = """
def adder(by):
    def unused(a, b, c): ...
    def add(x, *, twice=False):
        return x + by
    return add
"""


def builder() -> Builder:
    return Builder(Described(), Namer("m", ()))


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("    def inner(x): ...\n    return inner", "inner"),
        ("    def inner(x): ...\n    def other(y): ...\n    return wraps(f)(inner)", "inner"),
        ("    if f:\n        async def inner(x): ...\n        return inner\n    return f", "inner"),
        ("    return lambda x: x", "returned"),
        ("    def inner(x): ...\n    return inner_(3)", None),
    ],
)
def test_the_function_that_is_returned(body: str, name: str | None) -> None:
    node = find_function(parse_module(f"def f(f):\n{body}\n"), "f")
    found = function_returned(node)
    assert (None if found is None else found.name) == name
    assert found is None or [one.arg for one in found.args.args] == ["x"]


def test_calls_with_what_the_function_takes() -> None:
    node = function_returned(find_function(parse_module(CODE), "adder"))
    base = Piece("adder(1)", (("D", "decimal:Decimal"),), ("a = 1",))
    found = list(uses(base, "function", node, builder(), Random(1)))
    assert found
    assert all(one.source.startswith("adder(1)(") for one in found)
    assert any("twice=" in one.source for one in found)
    assert all(one.imports == base.imports and one.setup[:1] == base.setup for one in found)


def test_a_context_is_entered() -> None:
    [found] = uses(Piece("f()"), "_GeneratorContextManager", None, builder(), Random(1))
    assert found.source == "f().__enter__()"


def test_the_proposer_learns_that_a_result_must_be_called() -> None:
    signature = Signature("function", (Parameter("by", 1, False, None, ANY),))
    target = Target("m", "adder", signature, CODE)
    proposer = Proposer(target, Described(names={"adder": signature}), lambda path: None)
    first = proposer.batch(4)
    assert not any(")(" in one.scenario.source for one in first)
    proposer.learn(first[0], Observation("returned", Incomplete("", "function")))
    later = [one.scenario.source for one in proposer.batch(12)]
    assert any(one.startswith(f"{first[0].scenario.source}(") for one in later)


def asked(expression: str, *setup: str) -> Scenario:
    return Scenario(expression, setup)


@pytest.mark.parametrize(
    ("ended", "tried", "left_out"),
    [
        ("spin('a', 1000000000)", "spin('b', 1000000000)", True),
        ("spin('a', 1000000000)", "spin('b', -1000000000000)", True),
        ("spin('a', 1000000000)", "spin('b', 999999999)", False),
        ("spin('a', 1000000000)", "spin(1000000000, 1)", False),
        ("spin(5000, 1000000000)", "spin(5000, 1)", False),  # the largest is blamed
        ("it.spin(times=1000000000)", "other.spin(times=2000000000)", True),
        ("it.spin(times=1000000000)", "it.spin(size=1000000000)", False),
        ("spin(36)", "spin(36)", False),  # it never ends for another reason
        ("spin('a')", "spin(1000000000)", False),
    ],
)
def test_bounds(ended: str, tried: str, left_out: bool) -> None:
    bounds = Bounds()
    bounds.learn(asked(ended))
    assert bounds.exceeded(asked(tried)) is left_out


def test_a_receiver_made_with_it_is_left_out_too() -> None:
    bounds = Bounds()
    bounds.learn(asked("it.items()", "it = Range(1000000000)"))
    assert bounds.exceeded(asked("Range(10000000000).items()"))
    assert not bounds.exceeded(asked("it.items()", "it = Range(7)"))


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


TEXT = """
import re
TABLE = {"kilo": 1000}
UNREAD = "never"
WORDS = [MANY]

class Tag:
    OPEN = "<<"
    def read(self, text):
        if text.startswith(self.OPEN) or text in TABLE or text in WORDS:
            return re.match(r"(\\d+)px", text)
        return "own"
""".replace("MANY", ", ".join(repr(f"word{n}") for n in range(100)))


def test_own_ones_first_then_matches_then_what_is_read() -> None:
    tree = ast.parse(TEXT)
    node = find_function(tree, "Tag.read")
    assert node is not None
    numbers, texts = mentioned(tree, [node], "Tag", Random(1))
    assert "1000" in numbers
    assert {"'own'", "'<<'", "'kilo'"} <= set(texts)
    assert any(ast.literal_eval(one).endswith("px") for one in texts)
    assert texts.index("'own'") < texts.index("'kilo'")
    assert "'never'" not in texts
    assert "'word5'" not in texts  # a table of that size is data


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(\d+)-(\w+):(.*)$", r"(<\S*?>)", r"[^a-z/]+(x|yy){2,3}", r"(a)(?:b)?\1",
        r"\[default: (.*)\]", r"(?P<year>\d{4})-(?P<month>\d\d)",
    ],
)  # fmt: skip
def test_the_texts_match(pattern: str) -> None:
    assert is_pattern(pattern)
    made = matching(pattern, Random(1), 5)
    assert made
    assert all(re.search(pattern, text) for text in made)


def test_what_is_no_pattern_gives_nothing() -> None:
    assert not is_pattern("just words")
    assert matching("(", Random(1)) == []
    assert matching("(" * 3000, Random(1)) == []


def test_a_verbose_pattern_is_read_as_one() -> None:
    made = matching(r"(\d+)  # a number", Random(1), verbose=True)
    assert all(re.fullmatch(r"\d+", text) for text in made)
    assert made
