"""What is called changed between two commits, who calls it, and what speaks of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.diffing.changes import Changes, changed
from refute.diffing.modules import Modules, References
from refute.diffing.revisions import open_revisions
from refute.diffing.service import callers, stated
from refute.function.source import LARGEST_SOURCE
from refute.source.syntax import lifted_limits

from .repositories import changes_of, commit, one, two

BASE = {
    "pyproject.toml": "",
    "src/shop/__init__.py": "from .cart import total\nfrom . import rates\n",
    "src/shop/rates.py": (
        "RATE = 1\nTABLE = {'a': RATE}\nNAMES = ['x']\n\n\n"
        "def _round(x):\n    return x\n\n\ndef rate(x):\n    return RATE * x\n"
    ),
    "src/shop/cart.py": (
        "from shop.rates import _round, RATE as R\nfrom . import rates as r\n\n\n"
        "class Cart:\n    tax = 1\n\n"
        "    def total(self):\n        return self._sum() * self.tax\n\n"
        "    def _sum(self):\n        return _round(R)\n\n"
        "class Big(Cart):\n    def double(self):\n        return 2 * self._sum()\n\n"
        "    def taxed(self):\n        tax = 3\n        return super().tax + tax\n\n\n"
        "def total(x):\n    return r._round(x)\n\n\n"
        "def shadowed(RATE, _round):\n    return RATE + _round\n\n\n"
        "HANDLERS = {'t': _round}\n\n\n"
        "def handle(x):\n    return HANDLERS[x]\n"
    ),
    "setup.py": "x = 1\n",
    "docs/conf.py": "def f():\n    return 1\n",
    "tests/test_cart.py": "def helper():\n    return 1\n",
}


def edited(name: str, old: str, new: str) -> dict[str, str | None]:
    text = BASE[name]
    assert old in text
    return {name: text.replace(old, new)}


def names(changes: Changes) -> list[str]:
    return [f"{f.after.module}.{f.qualname}" for f in changes.functions]


def test_only_code_of_the_project_counts(tmp_path: Path) -> None:
    after = {
        "setup.py": "x = 2\n",
        "docs/conf.py": "def f():\n    return 2\n",
        "tests/test_cart.py": "def helper():\n    return 2\n",
        "data.bin": "x",
        "src/shop/rates.py": BASE["src/shop/rates.py"].replace("return x", "return -x"),
    }
    changes = changes_of(tmp_path, BASE, after)
    assert names(changes) == ["shop.rates._round"]
    found = changes.functions[0]
    assert (found.after.file, found.lines_before, found.lines_after) == (
        "src/shop/rates.py", (7,), (7,)
    )  # fmt: skip
    assert found.is_private
    assert found.docstring_line is None


def test_added_removed_and_renamed_files(tmp_path: Path) -> None:
    text = str(BASE["src/shop/cart.py"])
    after = {
        "src/shop/cart.py": None,
        "src/shop/basket.py": text.replace("2 * self", "3 * self").replace("shadowed", "other"),
        "src/shop/extra.py": "def extra(): ...\n",
    }
    changes = changes_of(tmp_path, BASE, after)
    double = one(changes, "Big.double")
    assert (double.before.module, double.after.module) == ("shop.cart", "shop.basket")
    assert [p.target for p in changes.added] == ["shop.basket.other", "shop.extra.extra"]
    assert [p.target for p in changes.removed] == ["shop.cart.shadowed"]


def test_a_changed_constant_changes_who_reads_it(tmp_path: Path) -> None:
    changes = changes_of(tmp_path, BASE, edited("src/shop/rates.py", "RATE = 1", "\nRATE = 2"))
    assert names(changes) == ["shop.cart.Cart._sum", "shop.rates.rate"]
    rate = one(changes, "rate")
    assert (rate.aspects, rate.lines_before, rate.lines_after) == (("uses RATE",), (11,), (12,))


def test_a_changed_class_attribute(tmp_path: Path) -> None:
    changes = changes_of(tmp_path, BASE, edited("src/shop/cart.py", "tax = 1", "tax = 2"))
    assert names(changes) == ["shop.cart.Cart.total", "shop.cart.Big.taxed"]


def test_a_new_constant_is_no_news_of_a_function_that_changed_to_read_it(tmp_path: Path) -> None:
    after = edited("src/shop/rates.py", "return RATE * x", "return HALF * x")
    after["src/shop/rates.py"] = str(after["src/shop/rates.py"]).replace(
        "RATE =", "HALF = 2\nRATE ="
    )
    assert one(changes_of(tmp_path, BASE, after), "rate").aspects == ("body",)


def test_a_changed_constant_of_another_file_is_told_beside_a_changed_body(tmp_path: Path) -> None:
    after = edited("src/shop/rates.py", "RATE = 1", "RATE = 2")
    after |= edited("src/shop/cart.py", "return _round(R)", "return -_round(R)")
    assert one(changes_of(tmp_path, BASE, after), "Cart._sum").aspects == ("body", "uses RATE")


def test_what_cannot_be_read_is_listed(tmp_path: Path) -> None:
    after = edited("src/shop/rates.py", "return x", "return (")
    after["src/shop/huge.py"] = "x = 1\n" * (LARGEST_SOURCE // 6 + 1)
    after["src/shop/deep.py"] = f"x = {'-' * 50_000}1\n"
    after["src/shop/coded.py"] = "# coding: nonsense\n"
    after |= edited("src/shop/cart.py", "2 * self", "3 * self")
    changes = changes_of(tmp_path, BASE, after)
    assert names(changes) == ["shop.cart.Big.double"]
    told = {u.path.rpartition("/")[2]: u for u in changes.unreadable}
    assert set(told) == {"rates.py", "huge.py", "deep.py", "coded.py"}
    assert (told["rates.py"].line, told["rates.py"].side) == (7, "HEAD")
    assert told["huge.py"].reason == "File too large"


def test_deep_code_is_compared(tmp_path: Path) -> None:
    chain = "".join(f"    elif x == {n}:\n        return {n}\n" for n in range(900))
    before = f"def f(x):\n    if x:\n        return 0\n{chain}"
    with lifted_limits():
        changes = changes_of(
            tmp_path, {"a.py": before}, {"a.py": before.replace("return 7\n", "return 8\n")}
        )
    assert changes.functions[0].lines_after == (19,)


@pytest.mark.parametrize("terms", [20_000, 50_000])
def test_code_that_is_too_deep_is_listed(tmp_path: Path, terms: int) -> None:
    before = f"def f():\n    return {'+'.join('1' * terms)}\n"
    with lifted_limits():
        changes = changes_of(tmp_path, {"a.py": before}, {"a.py": before.replace("n 1", "n 2")})
    assert changes.functions == ()
    reasons = {u.reason.removeprefix("syntax error: ") for u in changes.unreadable}
    assert reasons == {"nested too deeply"}


def test_many_bases_of_many_bases(tmp_path: Path) -> None:
    """A hostile hierarchy is not looked through class by class."""
    rows = [f"class C{n}({', '.join(f'C{m}' for m in range(n))}):\n    pass\n" for n in range(60)]
    before = "X = 1\n" + "".join(rows) + "class D(C59):\n    def f(self):\n        return self.X\n"
    changes = changes_of(tmp_path, {"a.py": before}, {"a.py": before.replace("X = 1", "X = 2")})
    assert changes.functions == ()


def calls(folder: Path, after: dict[str, str | None], name: str) -> list[str]:
    with two(folder, BASE, after) as revisions:
        function = one(changed(revisions), name)
        references = References(Modules(revisions.after))
        return [place.target for place in callers(references, function.after)]


def test_callers_of_a_private_function(tmp_path: Path) -> None:
    after = edited("src/shop/rates.py", "return x", "return -x")
    assert calls(tmp_path, after, "_round") == [
        "shop.cart.total",
        "shop.cart.handle",
        "shop.cart.Cart.total",
        "shop.cart.Big.double",
    ]


def test_callers_are_bounded(tmp_path: Path) -> None:
    users = "".join(f"def u{n}():\n    return _f()\n" for n in range(40))
    before = {"m.py": f"def _f():\n    return 1\n{users}"}
    with two(tmp_path, before, {"m.py": before["m.py"].replace("return 1", "return 2")}) as found:
        function = one(changed(found), "_f")
        assert len(callers(References(Modules(found.after)), function.after)) == 12


CODE = "class Box:\n    def get(self):\n        return 1\n\n\ndef rate(x):\n    return 1\n"
NEW_CODE = CODE.replace("return 1", "return 2")


@pytest.mark.parametrize(
    ("after", "message", "function", "expected"),
    [
        (
            {"tests/test_a.py": "import a\n\n\ndef test():\n    x = 1\n    a.rate(1)\n"},
            "x", "rate", ("test", "tests/test_a.py:6"),
        ),
        ({"tests/test_a.py": "CASES = [rate]\n"}, "x", "rate", ("test", "tests/test_a.py:1")),
        # a test that was there before and does not change says nothing
        ({"tests/test_old.py": "\ndef test_old():\n    rate(1)\n"}, "x", "rate", None),
        ({"tests/test_a.py": "def test():\n    separate.get()\n"}, "x", "Box.get", None),
        (
            {"tests/test_a.py": "from a import Box\ndef test():\n    Box().get()\n"},
            "x", "Box.get", ("test", "tests/test_a.py:3"),
        ),
        ({"a.py": NEW_CODE.replace("(x):\n", '(x):\n    """New."""\n')},
         "x", "rate", ("docstring", "a.py:7")),
        ({"newsfragments/12.bugfix": "`a.rate()` gives 2\n"},
         "x", "rate", ("changelog", "newsfragments/12.bugfix:1")),
        ({}, "title\n\nrate() is 2", "rate", ("message", "title")),
        ({}, "rate: two", "rate", ("message", "rate: two")),
        ({}, "at any rate, a release", "rate", None),
        ({}, "Box.get is two", "Box.get", ("message", "Box.get is two")),
    ],
)  # fmt: skip
def test_what_speaks_of_a_change(
    tmp_path: Path,
    after: dict[str, str],
    message: str,
    function: str,
    expected: tuple[str, str] | None,
) -> None:
    before = {
        "a.py": CODE,
        "CHANGES.md": "old rate()\n",
        "tests/test_old.py": "def test_old():\n    rate(1)\n",
    }
    changes = changes_of(tmp_path, before, {"a.py": NEW_CODE, **after}, message)
    said = stated(changes, one(changes, function))
    assert (said and (said.kind, said.where)) == expected


def test_names_of_odd_files(tmp_path: Path) -> None:
    odd = "new\nline ü.py"
    commit(tmp_path, {odd: CODE})
    commit(tmp_path, {odd: NEW_CODE})
    with open_revisions(tmp_path, "HEAD~1..HEAD") as revisions:
        found = changed(revisions).functions
    assert [f.after.file for f in found] == [odd, odd]


def test_no_file_is_read_when_the_time_is_up(tmp_path: Path) -> None:
    after = edited("src/shop/rates.py", "return RATE * x", "return x")
    with two(tmp_path, BASE, after) as revisions:
        found = changed(revisions, end=0.0)
    assert not found.functions
    assert [(one.path, one.reason) for one in found.unreadable] == [
        ("src/shop/rates.py", "no time was left for it")
    ]
