"""Scenarios carved from tests and doctests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from refute.core.problems import Scenario
from refute.function.scenarios.carving import (
    TestIndex,
    carve,
)

CART = '''
from decimal import Decimal

RATE = 1


class Cart:
    """Goods.

    >>> cart = Cart(tax=1)
    >>> cart.add("doc", 3)
    >>> cart.total()
    3
    """

    def __init__(self, tax=0): ...
    @classmethod
    def of(cls, *pairs): ...
    @property
    def size(self): ...
    def add(self, name, price): ...
    def total(self): ...


class Other:
    def add(self, name): ...


def slug(text, sep="-"): ...
def fetch(url): ...
'''


def carved(
    name: str, text: str, file: str = "tests/test_cart.py", module: str = "shop.cart"
) -> list[str]:
    return [one.source for one in carve_all([(file, dedent(text))], name, module=module)]


def carve_all(
    files: list[tuple[str, str]], name: str, module: str = "shop.cart", most: int = 40
) -> list[Scenario]:
    target = f"shop.cart:{name}"
    text = CART if module == "shop.cart" else ""
    return carve(files, [target], module=module, text=text, most=most)[target]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("with pytest.raises(TypeError):\n    slug(None)", ["slug(None)"]),
        ("pytest.raises(TypeError, slug, 1, sep='x')", ["slug(1, sep='x')"]),
        ("text = 'a'\nunused = 5\nresult = slug(text)", ["text = 'a'\nslug(text)"]),
        ("for x in ['a', 'b']:\n    assert slug(x)", ["x = 'a'\nslug(x)", "x = 'b'\nslug(x)"]),
        ("assert [slug(x) for x in names()]", []),
        (
            "rows = load()\nfor x in 'ab':\n    slug(x)",
            ["x = next(iter('ab'))\nslug(x)"],
        ),
        ("x = [1]\nx.append(2)\nslug(x)", ["x = [1]\nx.append(2)\nslug(x)"]),
        ("def up(t):\n    t\nslug(up('a'))", ["def up(t):\n    t\nslug(up('a'))"]),
        ("a = 1\nwhile a:\n    b = slug(a)\nslug(b)", []),
        ("with open('f') as file:\n    slug(file)", ["file = open('f')\nslug(file)"]),
    ],
)  # fmt: skip
def test_the_statements_that_a_call_needs(body: str, expected: list[str]) -> None:
    indented = "\n".join(f"    {line}" for line in body.split("\n"))
    text = f"import pytest\nfrom shop import slug\n\ndef test_it():\n{indented}\n"
    assert carved("slug", text) == expected


def test_methods_with_what_was_done_to_the_object_before() -> None:
    text = """
        from shop import Cart
        def test_total():
            c = Cart(tax=2)
            other = Cart()
            other.add("b", 2)
            c.add("a", 1)
            assert c.total() == 3
            assert c.size == 1
        """
    assert carved("Cart.total", text) == ["c = Cart(tax=2)\nc.add('a', 1)\nc.total()"]
    assert carved("Cart.size", text) == ["c = Cart(tax=2)\nc.add('a', 1)\nc.size"]
    assert carved("Cart", text) == ["Cart()", "Cart(tax=2)"]
    assert carved("Other.add", text) == []


def test_rows_and_fixtures() -> None:
    text = """
        import pytest
        from shop import Cart, slug
        WORDS = ["x"]

        @pytest.fixture
        def full(empty):
            empty.add("a", 1)
            yield empty

        @pytest.mark.parametrize("text, sep", [("a", "-"), pytest.param("b", None, id="b")])
        def test_rows(text, sep):
            assert slug(text, sep)

        def test_constant():
            slug(WORDS)

        def test_fixture(full, tmp_path):
            full.total()
            slug(tmp_path)

        def test_foreign(monkeypatch):
            slug(monkeypatch)

        class TestCart(TestCase):
            def test_total(self):
                cart = Cart()
                self.assertEqual(cart.total(), 0)
                self.assertRaises(ValueError, slug, "a")
        """
    shared = """
        import pytest
        from shop import Cart
        @pytest.fixture
        def empty():
            return Cart(3)
        """
    files = [("t/conftest.py", dedent(shared)), ("t/test_it.py", dedent(text))]
    assert [one.source for one in carve_all(files, "Cart.total")] == [
        "cart = Cart()\ncart.total()",
        "empty = Cart(3)\nempty.add('a', 1)\nfull = empty\nfull.total()",
    ]
    assert {one.source for one in carve_all(files, "slug")} == {
        "slug('a', '-')",
        "slug('b', None)",
        "WORDS = ['x']\nslug(WORDS)",
        "tmp_path = pathlib.Path('.')\nslug(tmp_path)",
        "slug('a')",
    }


def test_doctests_and_awaited_calls() -> None:
    assert carved("Cart.total", CART, "src/shop/cart.py") == [
        "cart = Cart(tax=1)\ncart.add('doc', 3)\ncart.total()"
    ]
    text = "from shop.cart import fetch\nasync def test_it():\n    x = await fetch('a')\n"
    assert carved("fetch", text) == ["fetch('a')"]


@pytest.mark.parametrize(
    "text",
    [
        "def test_it(:\n",
        "from shop import slug\ndef test_it():\n    slug(" + "-" * 3000 + "1)\n",
        "from shop import slug\ndef test_it():\n    slug(" + "1 + " * 5000 + "1)\n",
        "from shop import slug\ndef test_it():\n    slug(0x" + "f" * 9000 + ")\n",
        "from shop import slug\ndef test_it():\n    slug('" + "a" * 9000 + "')\n",
        "from shop import slug\nx = slug\nslug = x\ndef test_it():\n    slug(y for y in slug)\n",
        "\x00",
    ],
)
def test_odd_files_are_left_out(text: str) -> None:
    good = "from shop import slug\ndef test_it():\n    slug('good')\n"
    files = [("test_odd.py", text), ("test_good.py", good)]
    found = carve_all(files, "slug")
    assert "slug('good')" in [one.source for one in found]
    assert all(len(one.source) <= 4000 for one in found)


def test_files_are_found_best_first_and_links_are_not_followed(tmp_path: Path) -> None:
    for name, text in {
        "shop/cart.py": "def slug(): ...",
        "tests/test_cart.py": "slug('a')",
        "tests/test_other.py": "slug('a')",
        "tests/test_none.py": "nothing",
        "tests/conftest.py": "",
        "build/tests/test_cart.py": "slug('a')",
        "scripts/run.py": "slug('a')",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tests" / "test_link.py").symlink_to("/dev/zero")
    found = TestIndex(tmp_path, "shop").find("shop.cart", ["slug"])
    names = [str(path.relative_to(tmp_path)) for path in found]
    assert names[0] == "tests/conftest.py"
    assert names.index("tests/test_cart.py") < names.index("tests/test_other.py")
    assert sorted(names[1:]) == ["shop/cart.py", "tests/test_cart.py", "tests/test_other.py"]
