"""Written tests: what people would write, in both styles; they run, and black leaves them alone."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Scenario
from refute.function.scenarios.observation import Observation
from refute.function.scenarios.writing import Context, Style, render_test
from refute.sandbox.values import Incomplete, Iterated, Opaque
from refute.source.literals import NotLiteral

UNIT = Style("unittest")
CODE = '''\
"""A shop."""
import asyncio
import enum
from collections import OrderedDict


class Empty(Exception):
    pass


class Kind(enum.Enum):
    SMALL = 1


class Item:
    def __init__(self, name, price):
        self.name, self.price, self._seen = name, price, object()


class Cart:
    def __init__(self, tax=0):
        self.items, self._tax = [], tax

    def add(self, name, price=1):
        self.items.append(Item(name, price))
        return price

    def clear(self):
        self.items = []

    def retax(self, tax):
        self._tax = tax

    def total(self):
        if not self.items:
            raise Empty("nothing")
        return sum(one.price for one in self.items) * (1 + self._tax)

    def last(self):
        return self.items[-1]

    def kind(self):
        return Kind.SMALL

    async def fetch(self):
        await asyncio.sleep(0)
        return self.items[0].price

    async def each(self):
        for one in self.items:
            yield one.price


def ratio(a, b):
    return a / b


def evens(limit):
    if limit < 0:
        raise ValueError(limit)
    yield from range(0, limit, 2)


def sort(items, say=None):
    items.sort()
    if say:
        print(say)


def same(value, *others, **named):
    return value


async def double(number):
    return 2 * number
'''


def returned(value: Any, **more: Any) -> Observation:
    return Observation("returned", value, **more)


def raised(error: str) -> Observation:
    return Observation("raised", error=error)


def cart(*items: Any) -> Opaque:
    return Opaque((("items", list(items)), ("_tax", 0)), "<Cart>", "Cart")


ITEM = Opaque((("name", "a"), ("price", 4), ("_seen", Incomplete("", "object"))), "<Item>", "Item")
ADDED = ("c = Cart()", 'c.add("a", 4)')
IMPORTS = (("Decimal", "decimal:Decimal"), ("math", "math"))
LONG = (
    f'result = same(\n    "{"a" * 30}",\n    "{"b" * 30}",\n    key=[0, 1, 2],\n    other="c",\n)\n'
    "# as before\n"
)
CASES: dict[str, tuple[Scenario, Observation, str, str]] = {
    "value": (
        Scenario("c.total()", ("c = Cart(tax=1)", "c.add('a', price=2)")), returned(4),
        'c = Cart(tax=1)\nc.add("a", price=2)\n# as before\nassert c.total() == 4',
        'c = Cart(tax=1)\nc.add("a", price=2)\n# as before\nself.assertEqual(c.total(), 4)',
    ),
    "builtin error": (
        Scenario("ratio(1, 0)"), raised("ZeroDivisionError"),
        "# as before\nwith pytest.raises(ZeroDivisionError):\n    ratio(1, 0)",
        "# as before\nwith self.assertRaises(ZeroDivisionError):\n    ratio(1, 0)",
    ),
    "float": (Scenario("ratio(1, 3)"), returned(1 / 3),
              "# as before\nassert ratio(1, 3) == pytest.approx(0.333333333333)",
              "# as before\nself.assertAlmostEqual(ratio(1, 3), 0.333333333333, places=7)"),
    "nan": (Scenario("same(float('nan'))"), returned(math.nan),
            '# as before\nassert math.isnan(same(float("nan")))',
            '# as before\nself.assertTrue(math.isnan(same(float("nan"))))'),
    "object": (
        Scenario("c.last()", ADDED), returned(ITEM),
        'c = Cart()\nc.add("a", 4)\nresult = c.last()\n# as before\n'
        'assert (result.name, result.price) == ("a", 4)',
        'c = Cart()\nc.add("a", 4)\nresult = c.last()\n# as before\n'
        'self.assertEqual((result.name, result.price), ("a", 4))',
    ),
    "generator": (Scenario("evens(5)"), returned(Iterated((0, 2, 4), False, "generator")),
                  "# as before\nassert list(evens(5)) == [0, 2, 4]",
                  "# as before\nself.assertEqual(list(evens(5)), [0, 2, 4])"),
    "coroutines": (
        Scenario("c.fetch()", ("c = Cart()", "c.add('a', double(2))")), returned(4),
        'async def scenario():\n    c = Cart()\n    c.add("a", await double(2))\n'
        "    return await c.fetch()\n\n# as before\nassert asyncio.run(scenario()) == 4",
        'async def scenario():\n    c = Cart()\n    c.add("a", await double(2))\n'
        "    return await c.fetch()\n\n# as before\nself.assertEqual(asyncio.run(scenario()), 4)",
    ),
    "argument": (
        Scenario("sort([3, 1])"), returned(None, changed=(("argument 1", [3, 1], [1, 3]),)),
        "argument = [3, 1]\nsort(argument)\n# as before\nassert argument == [1, 3]",
        "argument = [3, 1]\nsort(argument)\n# as before\nself.assertEqual(argument, [1, 3])",
    ),
    "printed": (
        Scenario("sort(x, say='done')", ("x = [2, 1]",)),
        returned(None, printed="done\n", changed=(("argument 1", [2, 1], [1, 2]),)),
        'x = [2, 1]\ncapsys.readouterr()\nsort(x, say="done")\n# as before\nassert x == [1, 2]\n'
        'assert capsys.readouterr().out == "done\\n"',
        "x = [2, 1]\nwith contextlib.redirect_stdout(io.StringIO()) as printed:\n"
        '    sort(x, say="done")\n# as before\nself.assertEqual(x, [1, 2])\n'
        'self.assertEqual(printed.getvalue(), "done\\n")',
    ),
    "long": (
        Scenario(f"same({'a' * 30!r}, {'b' * 30!r}, key={list(range(3))!r}, other='c')"),
        returned("a" * 30),
        f'{LONG}assert result == "{"a" * 30}"',
        f'{LONG}self.assertEqual(result, "{"a" * 30}")',
    ),
}  # fmt: skip
CONTEXT = Context.of(CODE)


def written(case: str, style: Style) -> str:
    scenario, seen, _, _ = CASES[case]
    name = f"test_{case.replace(' ', '_')}"
    return render_test(scenario, seen, module="shop.stock", name=name, style=style,
                       comment="as before", context=CONTEXT)  # fmt: skip


def body(text: str, depth: int) -> str:
    lines = text.rstrip("\n").partition("def test_")[2].split("\n")[1:]
    return "\n".join(line[depth:] for line in lines)


@pytest.mark.parametrize("case", CASES)
def test_golden_bodies(case: str) -> None:
    assert body(written(case, Style()), 4) == CASES[case][2]
    assert body(written(case, UNIT), 8) == CASES[case][3]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    (root / "shop").mkdir()
    (root / "shop" / "__init__.py").touch()
    (root / "shop" / "stock.py").write_text(CODE)
    for case in CASES:
        name = case.replace(" ", "_")
        (root / f"test_{name}.py").write_text(written(case, Style(annotated=True)))
        (root / f"test_unit_{name}.py").write_text(written(case, UNIT))
    return root


def test_they_pass_on_the_code_that_they_describe(files: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
    done = subprocess.run([*command, "."], cwd=files, capture_output=True, text=True, timeout=120,
                          env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f"{2 * len(CASES)} passed" in done.stdout


def test_black_leaves_them_alone(files: Path) -> None:
    black = pytest.importorskip("black")
    for path in files.glob("test_*.py"):
        text = path.read_text()
        assert black.format_str(text, mode=black.Mode()) == text


@pytest.mark.parametrize(
    "seen",
    [returned(Incomplete("<f>", "function")), Observation("cut short"), Observation("setup"),
     returned({"a": ITEM})],
)  # fmt: skip
def test_what_has_no_source_is_not_written(seen: Observation) -> None:
    with pytest.raises(NotLiteral):
        render_test(Scenario("f()"), seen, module="m", name="test_f")
