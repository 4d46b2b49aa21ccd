"""What the experiments of the gate do, one by one; `test_endings.py` has them together."""

from __future__ import annotations

import base64
import pickle
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from refute.gating import judging
from refute.gating.change import open_change
from refute.gating.experiments import _disguised, _is_special
from refute.gating.reading import names_to_weigh, told_words
from refute.hardening import testing
from refute.recording.replaying import replayed
from refute.workspace import running, testruns
from refute.workspace.factory import Checkout

from .endings import RIGHT, planted

OLD = '''"""Old."""
LIMIT = 1


def total(prices, less=0):
    """The sum."""
    return sum(prices) - less


class Box:
    size = 1

    def fits(self, n):
        return n < self.size
'''
NEW = '''"""New."""
LIMIT = 2  # not one


def total(prices, less=1):
    """The sum, never below zero."""
    return max(0, _net(prices, less))  # a phrase


def _net(prices, less):
    return sum(prices) - less


class Box:
    size = 2

    def fits(self, n):
        return n < self.size
'''


def loaded(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__file__": "shop.py", "__name__": "shop"}
    exec(text, space)
    return space


def test_nothing_of_a_disguised_module_can_be_read() -> None:
    found = _disguised(OLD, NEW)
    space = loaded(found.text)
    assert (space["total"]([1], 3), space["LIMIT"]) == (0, 2)
    assert (space["__doc__"], space["total"].__doc__) == ("Old.", "The sum.")
    assert "phrase" not in found.text
    assert "max" not in found.text
    assert sorted(found.chosen.values()) == ["_net", "total"]
    assert found.names == {"LIMIT", "size"}


def test_local_variables_have_other_names_in_a_disguise() -> None:
    """A test that reads `co_varnames` would turn by a name alone."""
    new = "def width(low, high):\n    fixed = [n for n in (high, low)]\n    return fixed[0] - low\n"
    width = loaded(_disguised("def width(low, high):\n    return high - low\n", new).text)["width"]
    assert width(3, 5) == 2
    assert width.__code__.co_varnames[:2] == ("low", "high")
    assert "fixed" not in width.__code__.co_varnames


@pytest.mark.parametrize(
    ("change", "given", "special"),
    [
        ("max(0, n - 5)", {"n": 3}, False),
        ("0 if n == 3 else n - 5", {"n": 3}, True),
        ("{3: 0}.get(n, n - 5)", {"n": 3}, True),
        ("n - 5 if n > 3 else n - 4", {"n": 3}, False),
        ("n * 1", {"n": 0}, None),
    ],
)
def test_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, given: Any, special: bool | None
) -> None:
    call = base64.b64encode(pickle.dumps(("near_by", "f", given))).decode()
    rows = []
    for body in ("n - 5", change):
        (tmp_path / "near_by.py").write_text(f"def f(n):\n    return {body}\n")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "near_by", raising=False)
        sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
        rows.append(replayed(call, beside=True))
        sys.dont_write_bytecode = kept
    assert _is_special(*rows) is special


@pytest.mark.parametrize(
    ("old", "new", "weighed"),
    [
        ("def test_a():\n    assert f(1)\n", "", set()),
        ("def test_a():\n    assert f(1)\n", "def test_b(): ...\n", set()),
        ("def test_a():\n    assert f(1)\n", "def test_a(): ...\n", {"test_a"}),
        ("def test_a():\n    assert f(1)\n", "del test_a\n", None),
        ("def check(): ...\n", "def check(): 1\n", None),
        ("NEAR = 1\n", "NEAR = 2\n", None),
    ],
)
def test_which_tests_are_weighed(old: str, new: str, weighed: set[str] | None) -> None:
    path, texts = "test_a.py", (old, old + new)
    patch = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    before, after = ({path: text} for text in texts)
    change: Any = SimpleNamespace(tests=patch, before=before, after=after)
    assert names_to_weigh(change) == weighed


def test_how_often_pytest_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most three times as often as red and green alone would."""
    starts: Counter[str] = Counter()
    real = {(testruns, "_run"): testruns._run, (testing, "run_inside"): running.run_inside}
    for (module, name), one in real.items():

        def run(*given: Any, one: Any = one, **how: Any) -> Any:
            starts["pytest"] += 1
            return one(*given, **how)

        monkeypatch.setattr(module, name, run)
    change = open_change(Checkout(planted(RIGHT[0], tmp_path / "repo"), Path(sys.executable)))
    judged = judging.judge(change, judging.Settings(behaviour=False))
    assert (judged.verdict, starts["pytest"]) == ("proven", 6)


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
