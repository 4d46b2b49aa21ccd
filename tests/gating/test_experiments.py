"""What the experiments of the gate do, one by one; `test_endings.py` has them together."""

from __future__ import annotations

import base64
import importlib
import pickle
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from refute.diffing.changes import Passage
from refute.gating import judging
from refute.gating.change import open_change
from refute.gating.experiments import _disguised
from refute.gating.reading import names_to_weigh, told_words
from refute.gating.strength import Beside, one_example, special, variants_of
from refute.hardening import testing
from refute.hardening.mutants import other_outcomes
from refute.issue.observed_calls import Call
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


def test_knocked_out_functions_are_those_of_before() -> None:
    space = loaded(_disguised(OLD, NEW).knocked_out)
    assert (space["total"]([1]), space["total"]([1], 3)) == (1, -2)
    with pytest.raises(SystemError):
        space["_net"]([1], 1)


POINT = """class P:
    def __init__(self, x, y):
        self.x, self.y = x, y


def f({}):
    {}
"""
AS_BEFORE, EXAMPLE = "but for the test's own values", "one example only"


@pytest.mark.parametrize(
    ("old", "new", "given", "told"),
    [
        ("return n - 5", "return max(0, n - 5)", {"n": 3}, ""),
        ("return n - 5", "return 0 if n == 3 else n - 5", {"n": 3}, AS_BEFORE),
        ("return n - 5", "return n - 5 if n > 3 else n - 4", {"n": 3}, ""),
        ("return p.x - p.y", "return abs(p.x) + p.y", {"p": (3, 4)}, ""),
        ("return y % 4 == 0", "return y % 4 == 0 and y != 1900", {"y": 1900}, "a value is 1900"),
        (
            "return y % 4 == 0",
            "return y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)",
            {"y": 1900},
            "",
        ),
        ("return n > 10", "return n >= 9", {"n": 9}, ""),
        ("return lambda x: n", "return lambda x: n + (n == 7)", {"n": 7}, AS_BEFORE),
        ("return map(str, [n])", "return map(str, [n + (n == 7)])", {"n": 7}, AS_BEFORE),
        ("return n", "return n * 3 if n % 2 == 0 else n", {"n": 4}, ""),
        ("return p.x - p.y", "return abs(p.y)", {"p": (0, 3)}, EXAMPLE),
        ("return int(t[:-1])", "return t", {"t": "x2k"}, "accepts t="),
        ("return {'m': 60}[t[-1]]", "return {'m': 60}.get(t[-1], 7)", {"t": "2d"}, EXAMPLE),
        ("return {'m': 60}[t[-1]]", "return {'m': 60}.get(t[-1])", {"t": "2d"}, ""),
        (
            "import datetime; return datetime.date(2023, m, d)",
            "import datetime\n    try: return datetime.date(2023, m, d)\n"
            "    except ValueError: return datetime.date(2023, m, 28)",
            {"m": 2, "d": 31},
            "gives 28 wherever it raised",
        ),
        (
            "return bytes([n])",
            "return bytes([n - 256]) if n > 255 else bytes([n])",
            {"n": 300},
            "still raises ValueError",
        ),
        (
            '\'like "4k", "2M"\'; return int(t)',
            "'like \"4k\", \"2M\"'; return int(t.rstrip('k'))",
            {"t": "4k"},
            "for '2M', which its docstring names",
        ),
        (
            '\'"4K", but not "4g"\'; return "0123456789kK".index(t[1]) and t',
            '\'"4K", but not "4g"\'; return "0123456789kK".index(t[1]) and t.lower()',
            {"t": "4K"},
            "",
        ),
    ],
)
def test_what_is_near_a_turned_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, given: Any, told: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    texts = [POINT.format(", ".join(given), body) for body in (old, new)]
    change: Any = SimpleNamespace(before={"near_by.py": texts[0]}, after={"near_by.py": texts[1]})
    variants = variants_of(change, {"near_by.py": ["f"]})
    rows = []
    for text in (*texts, *(one.mutant.text for one in variants)):
        (tmp_path / "near_by.py").write_text(text)
        monkeypatch.delitem(sys.modules, "near_by", raising=False)
        point = importlib.import_module("near_by").P
        held = {n: point(*one) if isinstance(one, tuple) else one for n, one in given.items()}
        call = base64.b64encode(pickle.dumps(("near_by", "f", held))).decode()
        rows.append(replayed(call, beside=True))
    calls = [Beside(rows[0], rows[1], dict(enumerate(rows[2:])))]
    found = special(calls, variants, "f") or one_example(calls, variants, "f")
    assert told in found if told else not found


@pytest.mark.parametrize(
    ("old", "new", "weighed"),
    [
        ("def test_a():\n    assert f(1)\n", "", set()),
        ("def test_a():\n    assert f(1)\n", "def test_b(): ...\n", set()),
        ("def test_a():\n    assert f(1)\n", "def test_a(): ...\n", {"test_a"}),
        ("def test_a():\n    assert f(1)\n", "del test_a\n", None),
        ("def check(): ...\n", "def check(): 1\n", None),
        ("NEAR = 1\ndef test_a(): NEAR\ndef test_b(): 1\n", "NEAR = 2\n", None),
        ("def test_a(near): 1\n", "def near(): 1\n", None),
        ("class T:\n    N = 1\n    def test_a(s): s.N\n", "T.N = 2\n", None),
        ("class T:\n    N = 1\n    def test_a(s): s.N\n", "class T:\n    N = 2\n", None),
        ("def test_a(): 1\n", "@fixture(autouse=True)\ndef f(): 1\n", None),
        ("def setUp(): 1\n", "def setUp(): 2\n", None),
        ("def test_a(): f()\n", "from near import *\n", None),
        ("def test_a(): 1\n", "import a\ndef test_b(): a\n", set()),
    ],
)
def test_which_tests_are_weighed(old: str, new: str, weighed: set[str] | None) -> None:
    path, texts = "test_a.py", (old, old + new)
    patch = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    before, after = ({path: text} for text in texts)
    change: Any = SimpleNamespace(tests=patch, before=before, after=after)
    assert names_to_weigh(change) == weighed


def test_other_outcomes_of_a_call() -> None:
    def outcomes(outcome: str, raised: bool = False) -> list[str]:
        call = Call("test_a", "f", "a.py", True, outcome, "", outcome=outcome, raised=raised)
        return [statement for _, statement in other_outcomes(call)]

    assert {"return 1.5", "return 0.501"} <= {*outcomes("0.5")}
    assert {"return [1]", "return [2]", "return [2, 1]", "return [1, 3]"} <= {*outcomes("[1, 2]")}
    assert "raise LookupError('something else')" in outcomes("KeyError('a')", raised=True)
    assert outcomes("Box(size=1)")[0] == "return None"


def test_how_often_pytest_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice as often as red and green alone would."""
    starts: Counter[str] = Counter()
    real = {(testruns, "_run"): testruns._run, (testing, "run_inside"): running.run_inside}
    for (module, name), one in real.items():

        def run(*given: Any, one: Any = one, **how: Any) -> Any:
            starts["pytest"] += 1
            return one(*given, **how)

        monkeypatch.setattr(module, name, run)
    change = open_change(Checkout(planted(RIGHT[0], tmp_path / "repo"), Path(sys.executable)))
    judged = judging.judge(change, judging.Settings(behaviour=False))
    assert (judged.verdict, starts["pytest"]) == ("proven", 4)


def said(message: str, values: tuple[str, ...] = ("7",)) -> str:
    words = told_words([Passage("message", message, ((1, message),))], {}, {}, "")
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
    words = told_words([], {"a.py": old}, {"a.py": new}, "")
    assert words.of("test_a", ["total"]) == "the docstring of total"
    assert words.of("test_a", ["other"]) == ""
