"""Which existing tests are near a change: what a test file imports is read without parsing it."""

from __future__ import annotations

import pytest

from refute.issue.context import estimated_tokens, neighbouring_tests, shown_issue

TEST = "def test_a():\n    assert area\n"


@pytest.mark.parametrize(
    "imports",
    [
        "import shapes.core.line\n",
        "import os, \\\n    shapes.core.line\n",
        "from shapes.core import line\n",
        "from shapes.core import (  # all of them (really\n    colour,\n    line as l,\n)\n",
        "def make():\n    from shapes.core.line import area\n    return area\n",
        "x = 1; print 'Python 2'\nfrom shapes.core.line import area\n",
    ],
)
def test_every_form_of_import(imports: str) -> None:
    files = {
        "shapes/core/line.py": "def area(): ...\n",
        "tests/test_a.py": "from shapes.core import colour\n" + TEST,
        "tests/test_b.py": imports + TEST,
    }
    assert neighbouring_tests(["shapes/core/line.py"], files)[0] == "tests/test_b.py"


@pytest.mark.parametrize(
    "line", ["from .core.line import area\n", "# import shapes.core.line\n", "important = line\n"]
)
def test_what_imports_nothing_of_the_module(line: str) -> None:
    files = {"shapes/core/line.py": "def area(): ...\n", "tests/test_b.py": line + TEST}
    assert neighbouring_tests(["shapes/core/line.py"], files) == ()


def test_a_module_below_one_of_several_src_folders() -> None:
    files = {
        "a/src/shop/cart.py": "",
        "b/tests/test_main.py": TEST,
        "a/tests/test_main.py": "from shop.cart import Cart\n" + TEST,
    }
    assert neighbouring_tests(["a/src/shop/cart.py"], files) == ("a/tests/test_main.py",)


def test_what_a_test_is_named_after_where_several_modules_are_called_the_same() -> None:
    files = {
        "shop/models/base.py": "",
        "shop/views/generic/base.py": "",
        "tests/basic/test_a.py": "from shop.models.base import Model\n" + TEST,
        "tests/other/test_base.py": "import shop.models\n" + TEST,
        "tests/generic_views/test_base.py": TEST,
    }
    assert neighbouring_tests(["shop/models/base.py"], files, most=1) == ("tests/basic/test_a.py",)
    found = neighbouring_tests(["shop/views/generic/base.py"], files)
    assert found == ("tests/generic_views/test_base.py",)
    del files["shop/views/generic/base.py"]
    found = neighbouring_tests(["shop/models/base.py"], files, most=1)
    assert found == ("tests/other/test_base.py",)


PROSE = "The option is ignored when a folder is named twice.\n\nExpected: it is read once.\n"
LOG = "".join(f"step {number} of the run: nothing special\n" for number in range(900))
TRACE = "Traceback (most recent call last):\n" + LOG + "ValueError: told twice\n"


def test_the_longest_blocks_lose_their_middle() -> None:
    code = "```python\nread('a', 'a')\n```\n"
    issue = f"{PROSE}\n{code}\n```\n{TRACE}```\n\n{PROSE}"
    shown = shown_issue(issue, 1000)
    assert estimated_tokens(shown) <= 1100
    assert shown.startswith(f"{PROSE}\n{code}\n```\nTraceback (most")
    assert shown.endswith(f"ValueError: told twice\n```\n\n{PROSE}")
    assert shown.splitlines().count("[...]") == 1


def test_output_without_a_fence_and_one_endless_line() -> None:
    shown = shown_issue(f"{PROSE}\n{TRACE}\n{PROSE}", 800)
    assert shown.count(PROSE) == 2
    assert "\n[...]\n" in shown
    assert "ValueError: told twice" in shown
    shown = shown_issue(f"{PROSE}\ndata = {'0, ' * 9000}\n", 500)
    assert PROSE in shown
    assert "[...]" in shown
    assert len(shown) < 2000
