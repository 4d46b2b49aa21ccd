"""`hunt --since REF` and `debug --since REF`: only what changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from refute.core.problems import Scenario
from refute.diffing.changes import ChangedFunction, Place
from refute.diffing.comparison import Comparison, Difference
from refute.diffing.service import Compared
from refute.function.scenarios.observation import Observation
from refute.results.formats.changes import case_of_change, without_known
from refute.verbs.diff import chosen_among

from .diffing.repositories import commit

OLD = '''
def half(n):
    """Half of n.

    >>> half(4)
    2
    """
    return n // 2

def twice(n):
    """Twice n.

    >>> twice(4)
    8
    """
    return n + 2
'''


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    commit(tmp_path, {"m.py": OLD})
    monkeypatch.chdir(tmp_path)
    return tmp_path


Refute = Callable[..., tuple[int, str, str]]


def test_only_what_changed_is_looked_at(repo: Path, refute: Refute) -> None:
    (repo / "m.py").write_text(OLD.replace("n // 2", "n // 3") + "\ndef _own(n):\n    return n\n")
    status, out, _ = refute("hunt", "--since", "HEAD", "--json")
    assert (status, json.loads(out)["function"]) == (1, "half"), "twice is wrong, and unchanged"
    status, out, _ = refute("debug", "--since", "HEAD", "m.py", "--json")
    assert status in (0, 4)
    assert json.loads(out)["function"] == "half"


def test_nothing_changed_is_no_fault(repo: Path, refute: Refute) -> None:
    status, out, err = refute("hunt", "--since", "HEAD")
    assert (status, out) == (0, "")
    assert "no public function or method changed since HEAD" in err


def test_bad_input(repo: Path, refute: Refute) -> None:
    assert refute("hunt", "--since", "gone")[0] == 2
    assert refute("hunt", "--since", "HEAD", "gone.py")[0] == 2
    status, _, err = refute("hunt")
    assert status == 2
    assert "name a target" in err


# -- `diff --only TARGET` and `diff --baseline FILE`, without running anything


def function(file: str, module: str, qualname: str) -> ChangedFunction:
    place = Place(file, module, qualname, 3)
    return ChangedFunction(place, place, "function", False, ("body",), (4,), (4,))


CHANGED = (
    function("src/shop/cart.py", "shop.cart", "Cart.total"),
    function("src/shop/cart.py", "shop.cart", "Carts"),
    function("src/shop/cartons/a.py", "shop.cartons.a", "f"),
    function("tools/a.py", "tools.a", "f"),
)


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (None, [0, 1, 2, 3]),
        ((), []),
        ((".",), [0, 1, 2, 3]),
        (("src",), [0, 1, 2]),
        (("src/shop/cart.py",), [0, 1]),
        (("src/shop/cart.py::Cart",), [0]),
        (("shop.cart:Cart.total", "tools"), [0, 3]),
        (("shop.cart",), [0, 1]),
        (("shop",), [0, 1, 2]),
        (("other",), []),
    ],
)
def test_only_some_targets(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    only: tuple[str, ...] | None,
    expected: list[int],
) -> None:
    monkeypatch.chdir(tmp_path)
    for one in CHANGED:
        (tmp_path / one.after.file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / one.after.file).touch()
    chosen = chosen_among(only, tmp_path)
    assert [number for number, one in enumerate(CHANGED) if chosen(one)] == expected


def test_known_differences_are_left_out() -> None:
    def difference(expression: str, kind: str, error: str = "") -> Difference:
        before = Observation("returned", value=1)
        after = Observation("raised", error=error) if error else Observation("returned", value=2)
        return Difference(Scenario(expression), kind, before, after, frozenset(), frozenset())

    shown = (difference("f(1)", "value"), difference("f(2)", "exception", "KeyError"))
    one = Compared(Comparison(CHANGED[3], shown, ran=3), None)
    first, second = case_of_change(one).problems
    assert first.message == "f(1): before: 1, now: 2 (not mentioned)"
    # another input that shows the same is the same problem
    again = Compared(Comparison(CHANGED[3], (difference("f(7)", "value"),), ran=3), None)
    assert without_known({first.fingerprint}, again) is None
    left = without_known({first.fingerprint}, one)
    assert left is not None
    assert left.comparison.differences == shown[1:]
    assert without_known({first.fingerprint, second.fingerprint}, one) is None
    broken = Compared(Comparison(CHANGED[3], broken="no module x"), None)
    (problem,) = case_of_change(broken).problems
    assert problem.level == "error"
    assert without_known(set(), broken) == broken
    assert without_known({problem.fingerprint}, broken) is None
