"""`pytest --refute-debug`: what a failing test suspects, and the fix of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from refute.recording import blaming
from refute.recording.spectra import Place, Suspect, read_failing, suspects, to_json

from ..diffing.repositories import commit

pytest_plugins = ["pytester"]

RATE, SHIPPING = Place("shop.py", 1, "rate"), Place("shop.py", 5, "shipping")
PLACES = {("shop.py", 2): RATE, ("shop.py", 6): SHIPPING, ("shop.py", 8): SHIPPING}
ALL, FAST = frozenset(PLACES), frozenset({("shop.py", 2), ("shop.py", 6)})


def test_what_the_failing_tests_alone_execute_is_suspected_most() -> None:
    [one, other] = suspects({"t.py::a": ALL, "t.py::b": ALL}, {"t.py::c": FAST}, PLACES, {})
    assert one.suspects == other.suspects
    assert one.suspects[0] == Suspect(SHIPPING, 8, 1.0)  # 2 / sqrt(2 * 2)
    assert one.suspects[1] == Suspect(RATE, 2, 0.8165)  # 2 / sqrt(2 * 3)
    assert one.passing == ("t.py::c",)


def test_of_equals_what_raised_comes_first() -> None:
    [one] = suspects({"t.py::a": ALL}, {}, PLACES, {"t.py::a": [("shop.py", 6), ("shop.py", 2)]})
    assert [each.place for each in one.suspects] == [SHIPPING, RATE]
    [one] = suspects({"t.py::a": ALL}, {}, PLACES, {"t.py::a": [("shop.py", 2), ("shop.py", 6)]})
    assert [each.place for each in one.suspects] == [RATE, SHIPPING]


def test_what_is_read_is_data() -> None:
    found = suspects({"t.py::a": ALL}, {"t.py::c": FAST}, PLACES, {})
    text = to_json(found)
    assert read_failing(text) == found
    for old, new in (
        ('"version": 1', '"version": 2'),
        ('"file": "shop.py"', '"file": "../shop.py"'),
        ('"file": "t.py"', '"file": "/etc/passwd"'),
        ('"line": 8', '"line": true'),
        ('"line": 8', '"line": -1'),
        ('"passing": [', '"passing": [1, '),
        ('"failing": [', '"failing": [[], '),
    ):
        assert old in text
        with pytest.raises(ValueError, match=r"version|not what"):
            read_failing(text.replace(old, new, 1))
    with pytest.raises(ValueError, match="not what"):
        read_failing("[" * 100_000)


CODE = """
def checked(cost):
    return cost


def rate(weight):
    return 15 if weight > 20 else 5


def shipping(weight, fast=False):
    cost = rate(weight)
    if fast:
        cost = checked(cost) - 10
    return cost
"""
TESTS = """
from shop import shipping


def test_slow():
    assert shipping(1) == 5
    assert shipping(21) == 15


def test_fast():
    assert shipping(30, fast=True) == 25
"""


@pytest.fixture
def shop(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    commit(pytester.path, {"shop.py": CODE, "test_shop.py": TESTS})
    return pytester.path


def test_a_fix_is_shown_and_not_applied(pytester: pytest.Pytester, shop: Path) -> None:
    options = ("-p", "refute.recording.plugin", "-p", "no:cacheprovider", "--refute-debug=10")
    done = pytester.runpytest_subprocess(*options)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*refute: what may be to blame*",
            "test_shop.py::test_fast suspects shop.py::checked, shop.py::shipping, shop.py::rate",
            "not searched: shop.py::checked: the tests call it through others alone",
            "shop.py::shipping: *: turns 1 failing test green, 1 that passes and run it stays so",
            "-        cost = checked(cost) - 10",
            "+        cost = checked(cost) + 10",
        ]
    )
    assert (shop / "shop.py").read_text() == CODE


def test_where_no_refute_can_be_started_the_command_is_printed(
    pytester: pytest.Pytester, shop: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(blaming, "_refute", lambda: None)
    done = pytester.runpytest_inprocess("-p", "refute.recording.plugin", "--refute-debug")
    done.stdout.fnmatch_lines(
        [f"refute debug --failing .refute/failing.json --budget 10.0 --python {sys.executable}"]
    )
    [one] = read_failing((shop / ".refute" / "failing.json").read_text())
    assert one.test == "test_shop.py::test_fast"
    assert one.suspects[1].place.name == "shipping"
