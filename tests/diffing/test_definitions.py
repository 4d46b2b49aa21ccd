"""What a file defines, and which of it differs."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from refute.diffing.definitions import Definitions, compared, definitions


def read(code: str) -> Definitions:
    text = dedent(code)
    return definitions(ast.parse(text), text)


def difference(before: str, after: str, name: str = "f") -> object:
    return compared(read(before).functions[name], read(after).functions[name])


def test_functions_are_found_wherever_an_import_makes_them() -> None:
    found = read("""
        import sys
        def plain(): ...
        class A:
            class B:
                def deep(self): ...
            if sys.platform == "x":
                def there(self): ...
        try:
            from c import fast
        except ImportError:
            def fast(): ...
        else:
            def other(): ...
        with a:
            def inside(): ...
        if TYPE_CHECKING:
            def never(): ...
        if __name__ == "__main__":
            def script(): ...
        def outer():
            def nested(): ...
    """)
    assert list(found.functions) == [
        "plain", "A.B.deep", "A.there", "fast", "other", "inside", "outer"
    ]  # fmt: skip
    assert found.functions["A.B.deep"].owner == "A.B"


def test_the_last_definition_counts_and_branches_stand_together() -> None:
    found = read("""
        def f(): return 1
        def f(): return 2
        if new:
            def g(): return 1
        else:
            def g(): return 2
        class A:
            def old(self): ...
        class A:
            @property
            def x(self): return 1
            @x.setter
            def x(self, value): ...
        @singledispatch
        def area(shape): ...
        @area.register
        def _(shape: int): return 1
        @area.register(str)
        def _(shape): return 2
    """)
    counts = {name: len(one.nodes) for name, one in found.functions.items()}
    assert counts == {"f": 1, "g": 2, "A.x": 2, "area": 3}
    assert found.functions["f"].line == 3
    assert found.functions["A.x"].kind == "property"


SAME = {
    "layout and comments": ("def f(a):\n    return (a +\n 1)  # x\n", "def f( a ): return a+1\n"),
    "a docstring": ('def f():\n    "a"\n    return 1\n', 'def f():\n    "b"\n    return 1\n'),
    "a first docstring": ('def f():\n    "a"\n', "def f():\n    pass\n"),
    "a docstring inside": (
        'def f():\n    def g():\n        "a"\n        return 1\n    return g\n',
        "def f():\n    def g():\n        return 1\n    return g\n",
    ),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME)
def test_no_difference(pair: tuple[str, str]) -> None:
    assert difference(*pair) is None


DIFFERENT = {
    "a line": ("return 1", "return 2", (("body",), (2,), (2,))),
    "a line more": ("return 1", "if a:\n        return 0\n    return 1", (("body",), (), (2, 3))),
    "a line less": ("b = 1\n    return 1", "return 1", (("body",), (2,), ())),
    "order": ("g()\n    h()", "h()\n    g()", (("body",), (3,), (2,))),
    "only the nesting": (
        "for x in a:\n        g()\n        h()",
        "for x in a:\n        g()\n    h()",
        (("body",), (4,), (4,)),
    ),
    "a condition": ("while a:\n        g()", "while b:\n        g()", (("body",), (2,), (2,))),
    "a statement of many lines": ("g(1,\n      2)", "g(1,\n      3)", (("body",), (2,), (2,))),
    "a handler": (
        "try:\n        g()\n    except A:\n        pass",
        "try:\n        g()\n    except B:\n        pass",
        (("body",), (4,), (4,)),
    ),
    "a closure": (
        "def g(x):\n        return x\n    return g",
        "def g(x):\n        return -x\n    return g",
        (("body",), (3,), (3,)),
    ),
    "what does not run": ("global a\n    a = 1", "a = 1", (("body",), (), ())),
    "hints": ("x: int = a", "x: str = a", (("annotations",), (), ())),
}


@pytest.mark.parametrize("row", DIFFERENT.values(), ids=DIFFERENT)
def test_lines_that_only_one_side_has(row: tuple[str, str, object]) -> None:
    before, after, expected = row
    found = difference(f"def f(a, b=1):\n    {before}\n", f"def f(a, b=1):\n    {after}\n")
    assert found == expected
