"""What reading says of tests: what they check, whether they demand less, what they replace."""

from __future__ import annotations

import ast

import pytest

from refute.gating.checks import checks_of, functions_of, is_tautology
from refute.gating.knockout import Branch, literals_of, named_branches, silenced, without_branch
from refute.gating.tricks import knows_that_it_is_tested, patched, runner_changes
from refute.gating.weakened import added_skips, weakenings
from refute.gating.words import told_words

from ..issue.shop import diff


def weaker(before: str, after: str) -> list[str]:
    old, new = (f"def test_a():\n    {body}\n" for body in (before, after))
    return [one.what.partition(":")[0] for one in weakenings(old, new)]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("assert f(1) == 2\n    assert f(2) == 3", "assert f(1) == 2", "an assertion is gone"),
        ("assert f(1) == 2", "assert f(1)", "a comparison became a look at truth alone"),
        ("assert f(1) == 2", "assert f(1) is not None", "a comparison became a look"),
        ("assert f(1) == 2", "assert f(1) >= 2", "`==` became `>=`"),
        ("assert f(1) == 2", "assert f(1) in (2, 3)", "`==` became `in`"),
        ("assert f(1) == 2", "assert f(1) == 2 or True", "an assertion stands behind `or True`"),
        ("assert f(1) == 2", "if f(1):\n        assert f(1) == 2", "an assertion stands behind"),
        (
            "assert f(1) == 2",
            "try:\n        assert f(1) == 2\n    except Exception:\n        pass",
            "an assertion stands behind `try`",
        ),
        ("assert f(1) == 2.5", "assert f(1) == approx(2.5, abs=1)", "an exact comparison became"),
        ("assert f() == approx(2, abs=0.1)", "assert f() == approx(2, abs=1)", "the tolerance is"),
        (
            "self.assertAlmostEqual(f(), 2, places=5)",
            "self.assertAlmostEqual(f(), 2, places=1)",
            "the tolerance is wider",
        ),
        ("self.assertEqual(f(), 2)", "self.assertTrue(f())", "a comparison became a look"),
        (
            "with raises(KeyError):\n        f()",
            "with raises(Exception):\n        f()",
            "a broader exception is expected",
        ),
        (
            "with raises(KeyError):\n        f()",
            "with raises((KeyError, ValueError)):\n        f()",
            "a broader exception is expected",
        ),
        (
            "with raises(ValueError, match='no'):\n        f()",
            "with raises(ValueError):\n        f()",
            "the exception's message",
        ),
        ("assert f() == [1, 2]", "assert len(f()) == 2", "only `len(f())` is compared"),
    ],
)
def test_demands_less(before: str, after: str, told: str) -> None:
    (found,) = weaker(before, after)
    assert found.startswith(told)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("assert f(1) == 2", "assert f(1) == 3"),  # whether that is right, running must show
        ("assert f(1) == 2", "assert f(1) == 2\n    assert f(2) == 3"),
        ("assert f(1)", "assert f(1) == 2"),
        ("assert f(1) >= 2", "assert f(1) == 2"),
        ("assert f() == approx(2, abs=1)", "assert f() == approx(2, abs=0.1)"),
        ("with raises(Exception):\n        f()", "with raises(KeyError):\n        f()"),
        ("self.assertEqual(f(), 2)", "assert f() == 2"),
        ("x = f()\n    assert x == 2", "assert f() == 2"),
    ],
)
def test_demands_as_much(before: str, after: str) -> None:
    assert weaker(before, after) == []


def test_skips_that_are_added() -> None:
    plain = "def test_a():\n    assert f()\n"
    skipped = "import pytest\n@pytest.mark.skipif(X, reason='r')\n" + plain
    assert [one.function for one in added_skips(plain, skipped)] == ["test_a"]
    assert list(added_skips(skipped, skipped)) == []
    assert list(added_skips("", skipped)) == [], "a new test may be for one platform alone"
    (new,) = added_skips("", "@pytest.mark.xfail\n" + plain)
    assert "xfail" in new.what
    (whole,) = added_skips(plain, f"pytestmark = pytest.mark.skip\n{plain}")
    assert whole.what == "pytestmark = pytest.mark.skip"


@pytest.mark.parametrize(
    ("check", "cannot_fail"),
    [
        ("assert True", True),
        ("assert 1 == 1", True),
        ("assert x == x", True),
        ("assert f(1) == 2 or True", True),
        ("assert (f(1) == 2, 'message')", True),
        ("self.assertTrue(True)", True),
        ("assert f(1)", False),
        ("assert f(1) == 2", False),
        ("with raises(E):\n        f()", False),
    ],
)
def test_tautologies(check: str, cannot_fail: bool) -> None:
    (function,) = functions_of(ast.parse(f"def test_a():\n    {check}\n")).values()
    (found,) = checks_of(function)
    assert is_tautology(found) is cannot_fail


# -- tricks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "before", "after", "told"),
    [
        ("conftest.py", "", "def pytest_runtest_makereport(item): ...", "the hook"),
        ("t/conftest.py", "", "@pytest.fixture(autouse=True)\ndef a(): ...", "is used by every"),
        ("conftest.py", "@fixture\ndef a(): return 1", "@fixture\ndef a(): return 2", "gives some"),
        ("conftest.py", "", "import shop\nshop.total = None", "runs before every test"),
        ("conftest.py", "", "collect_ignore = ['test_a.py']", "runs before every test"),
        ("pytest.ini", "[pytest]\n", "[pytest]\naddopts = -k 'not a'\n", "setting addopts"),
        ("setup.cfg", "[tool:pytest]\nx = 1\n", "[tool:pytest]\nx = 1\n    2\n", "setting x"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\n",
            "[tool.pytest.ini_options]\naddopts = '-x'\n",
            "setting addopts",
        ),
        ("pyproject.toml", "", "[project.entry-points.pytest11]\na = 'b'\n", "a plugin of pytest"),
        ("pyproject.toml", "", "[tool.refute]\nbudget = 1\n", "refute's own configuration"),
        ("sitecustomize.py", None, "import shop", "is imported or read"),
        ("shop.pth", None, "import shop", "is imported or read"),
    ],
)
def test_changes_of_how_tests_run(path: str, before: str | None, after: str, told: str) -> None:
    (found,) = runner_changes(path, before, after)
    assert told in found.what


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        (
            "conftest.py",
            "",
            "import pytest\n\n@pytest.fixture\ndef a():\n    return 1\n\nSIZE = 3\n",
        ),
        ("pyproject.toml", "[project]\nversion = '1'\n", "[project]\nversion = '2'\n"),
        (
            "setup.cfg",
            "[metadata]\nname = a\n",
            "[metadata]\nname = b\n[tool:pytest]\nmarkers = x\n",
        ),
        ("sitecustomize.py", "import shop", None),
    ],
)
def test_changes_that_do_nothing_to_tests(path: str, before: str, after: str | None) -> None:
    assert list(runner_changes(path, before, after)) == []


@pytest.mark.parametrize(
    "text",
    [
        "import shop.cart\nshop.cart.total = 1",
        "from shop import cart\nsetattr(cart, 'total', 1)",
        "from shop import cart\ndef test(monkeypatch):\n    monkeypatch.setattr(cart, 'total', 1)",
        "def test(monkeypatch):\n    monkeypatch.setattr('shop.cart.total', 1)",
        "from unittest import mock\n@mock.patch('shop.cart.total')\ndef test(m): ...",
        "from unittest.mock import patch\nfrom shop import cart\n"
        "def test():\n    with patch.object(cart, 'total'): ...",
        "import sys\nsys.modules['shop.cart'] = None",
        "import unittest\nunittest.TestCase.assertEqual = None",
    ],
)
def test_replacements_of_what_is_tested(text: str) -> None:
    (found,) = patched("test_a.py", "", text, {"total"}, ["shop.cart"])
    assert "replaced" in found.what
    assert list(patched("test_a.py", text, text, {"total"}, ["shop.cart"])) == []


def test_other_replacements_are_the_tests_own() -> None:
    text = (
        "import time\nfrom shop import cart\n\ndef test_a(monkeypatch):\n"
        "    monkeypatch.setattr(time, 'time', int)\n    cart.rate = 3\n    self.total = 1\n"
    )
    assert list(patched("test_a.py", "", text, {"total"}, ["shop.cart"])) == []


def test_code_that_looks_for_tests() -> None:
    new = "import os\nA = 1\nif 'PYTEST_CURRENT_TEST' in os.environ:\n    A = 2\n"
    patch = diff("a.py", "import os\nA = 1\n", new)
    (found,) = knows_that_it_is_tested(patch, {"a.py": new})
    assert found.where == "a.py:3"


# -- variants --------------------------------------------------------------------------------------


def test_silenced_functions_answer_at_once() -> None:
    text = (
        "def mark(f):\n    return f\n\n@mark\ndef a():\n    return 1\n\nclass C:\n"
        "    def __init__(self):\n        self.x = 1\n    def b(self):\n        return self.x\n"
    )
    names: dict[str, object] = {}
    exec(silenced(text, "None"), names)
    c = names["C"]()  # type: ignore[operator]
    assert (c.x, c.b()) == (1, None)
    assert names["a"]() == 1, "decorated: what it is bound to is not known"  # type: ignore[operator]


SPECIAL = """def total(prices, less):
    if prices == [7] and less == 9:
        return 5
    return sum(prices) - less
"""


def test_branches_for_the_values_of_a_test() -> None:
    test = functions_of(ast.parse("def test_a():\n    assert total([7], 9) == 5\n"))["test_a"]
    given, expected = literals_of([test], {"total"})
    (branch,) = named_branches("a.py", SPECIAL, [2, 3], given, expected)
    assert branch == Branch("a.py", 2, "prices == [7] and less == 9")
    assert "if False:" in without_branch(SPECIAL, branch)
    other = SPECIAL.replace("[7]", "[8]")
    assert named_branches("a.py", other, [2, 3], given, expected) == []
    border = SPECIAL.replace("prices == [7] and less == 9", "not prices or less == 0")
    assert named_branches("a.py", border, [2, 3], given, expected) == []
    table = "def name(code):\n    if code == 404:\n        return 'gone'\n    return 'ok'\n"
    test = functions_of(ast.parse("def test_a():\n    assert name(404) == 'gone'\n"))["test_a"]
    assert named_branches("a.py", table, [2, 3], *literals_of([test], {"name"})) == []


def test_a_table_of_the_values_of_a_test() -> None:
    text = "KNOWN = {(7, 9): 5}\n\ndef f(a, b):\n    return KNOWN.get((a, b), a - b)\n"
    test = functions_of(ast.parse("def test_a():\n    assert f(7, 9) == 5\n"))["test_a"]
    (branch,) = named_branches("a.py", text, [1], *literals_of([test], {"f"}))
    assert without_branch(text, branch).startswith("KNOWN = {}")


# -- words -----------------------------------------------------------------------------------------


def said(message: str, values: tuple[str, ...] = ("7",)) -> str:
    words = told_words("", {}, {}, [message] if message else [], "")
    return words.of("test_total", ["total"], values)


def test_what_a_message_says() -> None:
    assert said("total: no longer below zero")
    assert said("total() of these is 7")[:11] == "the message"
    assert said("test_total had it wrong")
    assert not said("")
    assert not said("total: tidy up")
    assert not said("everything should be better now")


def test_what_a_docstring_says() -> None:
    old = 'def total():\n    """The sum."""\n'
    new = 'def total():\n    """The sum; of nothing, None instead of 0."""\n'
    words = told_words("", {"a.py": old}, {"a.py": new}, [], "")
    assert words.of("test_a", ["total"]) == "the docstring of total"
    assert words.of("test_a", ["other"]) == ""
