"""A small repository with an issue, its golden patch and golden tests, made for each session.

`shop.cart.total` may go below zero; the golden patch fixes it. One of its tests fails on the
original and on the fixed code, for reasons of its own.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from refute.core.problems import IssueKey, IssuePrediction, IssueProblem
from refute.errors import WorkspaceUnavailable
from refute.workspace.contract import WORK_TREE, Base, Recipe, Workspace
from refute.workspace.factory import open_workspace, prepare
from refute_lab.swt import state_reports
from refute_lab.swt.grade import IssueGrade, Terms, grade_prediction

from ..diffing.repositories import commit

CART = """\
def total(prices, discount=0):
    result = sum(prices)
    return result - discount
"""
FIXED = """\
def total(prices, discount=0):
    result = sum(prices)
    if discount > result:
        return 0
    return result - discount
"""
TESTS = """\
from shop.cart import total


def test_sum():
    assert total([1, 2]) == 3


def test_of_its_own():
    assert "the moon" == "cheese"
"""
GOLDEN_TESTS = (
    TESTS
    + """\


def test_never_negative():
    assert total([1], 2) == 0
"""
)
FILES: Mapping[str, str] = {
    "setup.cfg": "[tool:pytest]\naddopts = -p no:cacheprovider\n",
    "shop/__init__.py": "",
    "shop/cart.py": CART,
    "tests/test_cart.py": TESTS,
}
NEW = "tests/test_new.py"


def diff(path: str, old: str | None, new: str | None, *, header: bool = True) -> str:
    """A unified diff of one file; None: it is not there."""
    a, b = ("/dev/null" if text is None else text for text in (old, new))
    lines = difflib.unified_diff(
        (old or "").splitlines(True),
        (new or "").splitlines(True),
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    head = f"diff --git a/{path} b/{path}\n" if header else ""
    if header and a == "/dev/null":
        head += "new file mode 100644\n"
    if header and b == "/dev/null":
        head += "deleted file mode 100644\n"
    return head + "".join(lines)


PATCH = diff("shop/cart.py", CART, FIXED)
TEST_PATCH = diff("tests/test_cart.py", TESTS, GOLDEN_TESTS)
KEY = IssueKey("shop-1", PATCH, TEST_PATCH, ("tests/test_cart.py::test_never_negative",))


def new_file(source: str, path: str = NEW) -> str:
    """A patch that adds a test file."""
    return diff(path, None, source)


def recipe() -> Recipe:
    """The interpreter that runs these tests, with the tree on its path."""
    env = {"PYTHONPATH": WORK_TREE, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return Recipe(interpreter=sys.executable, editable=False, env=env)


@dataclass
class Shop:
    """The repository with everything that grading needs."""

    problem: IssueProblem
    base: Base
    states: Path
    opened: int = 0

    def spawn(self) -> Workspace:
        self.opened += 1
        return open_workspace(self.base)

    def grade(
        self,
        patch: str,
        *,
        key: IssueKey = KEY,
        spawn: Callable[[], Workspace] | None = None,
        **terms: object,
    ) -> IssueGrade:
        store = state_reports(self.states, self.problem, "local")
        return grade_prediction(
            IssuePrediction(self.problem.id, patch),
            key,
            spawn or self.spawn,
            store=store,
            terms=Terms(**{"timeout": 120.0, **terms}),  # type: ignore[arg-type]
        )


@contextmanager
def prepared_shop(folder: Path, text: str, files: Mapping[str, str] = FILES) -> Iterator[Shop]:
    """The repository below `folder`, its issue with that text, and a cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(folder / "cache"))
        made = commit(folder / "shop", files)
        problem = IssueProblem("shop-1", str(folder / "shop"), made, text, recipe())
        try:
            base = prepare(problem.repo, made, recipe(), problem.id)
        except WorkspaceUnavailable as error:
            pytest.skip(f"no workspace here: {error}")
        yield Shop(problem, base, folder / "states")
