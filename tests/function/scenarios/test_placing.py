"""Where a project's tests lie, and a test put among them: nothing lost, nothing imported twice."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from refute.function.scenarios.bodies import Style
from refute.function.scenarios.placing import Placement, insert, place_test

NEW = """\
import pytest

from shop.cart import Cart, Empty


def test_total():
    # as before
    with pytest.raises(Empty):
        Cart().total()
"""
CASE = """\
import unittest

from shop.cart import Cart


class TestCart(unittest.TestCase):
    def test_total(self):
        # as before
        self.assertEqual(Cart().total(), 0)
"""


def project(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py").replace("_toml", ".toml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# -- where -----------------------------------------------------------------------------------------


def test_the_file_of_the_modules_name(tmp_path: Path) -> None:
    project(tmp_path, tests__test_cart_py="def test_a(): Cart()\n",
            tests__test_shop_py="from shop.cart import Cart\ndef test_b(): Cart()\n")  # fmt: skip
    found = place_test(tmp_path, "shop.cart", "Cart.total")
    assert found == Placement(tmp_path / "tests" / "test_cart.py", True, Style())


def test_a_new_file_beside_the_others_in_their_style(tmp_path: Path) -> None:
    project(
        tmp_path,
        pyproject_toml="[tool.black]\nline-length = 100\n",
        tests__test_a_py="import unittest\nclass A(unittest.TestCase):\n"
        "    def test_a(self) -> None: ...\n    def test_b(self) -> None: ...\n",
        tests__test_b_py="def test_c(): ...\n",
        venv__test_cart_py="",
    )
    found = place_test(tmp_path, "shop.cart", "Cart.total")
    style = Style("unittest", annotated=True, width=100)
    assert found == Placement(tmp_path / "tests" / "test_cart.py", False, style)
    (tmp_path / "tests" / "shop").mkdir()
    assert place_test(tmp_path, "shop.cart", "f").path == tmp_path / "tests/shop/test_cart.py"


# -- put there -------------------------------------------------------------------------------------


def test_behind_the_related_test_with_the_imports_that_lack() -> None:
    text = '''\
"""Tests."""

import os

from shop.cart import Cart


def test_total():
    assert Cart().total() == 0


def test_other():
    assert os.sep
'''
    assert (
        insert(text, NEW, "Cart.total")
        == '''\
"""Tests."""

import os

import pytest

from shop.cart import Cart, Empty


def test_total():
    assert Cart().total() == 0


def test_total_2():
    # as before
    with pytest.raises(Empty):
        Cart().total()


def test_other():
    assert os.sep
'''
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from shop.cart import Cart", "from shop.cart import Cart, Empty"),
        (
            "from shop.cart import (\n    Cart,\n    total,\n)",
            "from shop.cart import (\n    Cart,\n    Empty,\n    total,\n)",
        ),
    ],
)
def test_an_import_grows_in_its_own_layout(before: str, after: str) -> None:
    found = insert(f"{before}\n\n\ndef test_a():\n    assert Cart()\n", NEW, "Cart.total")
    assert found is not None
    assert f"import pytest\n\n{after}\n\n\ndef test_a" in found


def test_into_a_test_case_and_as_one_of_its_own() -> None:
    text = "import unittest\n\nimport shop.cart\n\n\nclass Carts(unittest.TestCase):\n" \
        "    def test_total(self):\n        shop.cart.Cart().total()\n\n\n" \
        "if __name__ == '__main__':\n    unittest.main()\n"  # fmt: skip
    found = insert(text, CASE, "Cart.total")
    assert "        shop.cart.Cart().total()\n\n    def test_total_2(self):\n" in found
    assert found.count("import unittest\n") == 1
    assert found.count("class ") == 1
    alone = insert(
        "def test_a():\n    pass\n\n\nif __name__ == '__main__':\n    test_a()\n", CASE, "f"
    )
    assert "\n\n\nclass TestCart(unittest.TestCase):\n    def test_total" in alone
    assert alone.endswith("\n\n\nif __name__ == '__main__':\n    test_a()\n")


@pytest.mark.parametrize(
    "text",
    ["", '"""Tests."""\n', "import os\n\nX = 1", "from shop.cart import (  # all\n    Cart,\n)\n",
     "from __future__ import annotations\n\nX = 1\n", "try:\n    import pytest\nfinally: ...\n",
     "X = '''\n\n\n'''\n", "def test_a():\n    pass\n# the end\n", "import pytest; import os\n",
     "class TestCart:\n    total = 1\n\n    @staticmethod\n    def test_a(): Cart().total\n"],
)  # fmt: skip
@pytest.mark.parametrize("new", [NEW, CASE])
def test_every_file_stays_whole_and_grows_by_a_test(text: str, new: str) -> None:
    for ends in ("\n", "\r\n"):
        found = insert(text.replace("\n", ends), new, "Cart.total")
        assert found.count("def test_") == text.count("def test_") + 1
        assert ("\r\n" in found) is (ends == "\r\n" and "\n" in text)
        assert "\r" not in found.replace("\r\n", "\n") or ends == "\r\n"
        names = [one for one in ast.walk(ast.parse(found)) if isinstance(one, ast.alias)]
        used = {"Cart", "pytest" if new is NEW else "unittest"}
        assert used <= {one.asname or one.name for one in names}


@pytest.mark.parametrize(
    "text",
    ["def test_a(:\n", "Cart = 1\n", "from other import Cart\n", "import shop as pytest\n", "\0",
     "def Empty(): ...\n"],
)  # fmt: skip
def test_where_it_would_break_something_it_is_not_put(text: str) -> None:
    assert insert(text, NEW, "Cart.total") is None
