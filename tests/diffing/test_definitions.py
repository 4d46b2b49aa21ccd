"""What a file defines, and which of it differs."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from refute.diffing.definitions import Definitions, Difference, compared, definitions


def read(code: str) -> Definitions:
    text = dedent(code)
    return definitions(ast.parse(text), text)


def difference(before: str, after: str, name: str = "f") -> Difference | None:
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


def test_kinds_and_flags() -> None:
    found = read("""
        class A:
            def __new__(cls): ...
            @classmethod
            def make(cls): ...
            @staticmethod
            def s(): ...
            @functools.cached_property
            def p(self): yield 1
            async def a(self):
                def inner(): yield 1
            def _hidden(self): ...
            def __len__(self): ...
        class _B:
            def public(self): ...
        def f(): return [(yield)]
    """).functions
    kinds = ["staticmethod", "classmethod", "staticmethod", "property", "method"]
    assert [one.kind for one in found.values()][:5] == kinds
    assert found["f"].kind == "function"
    assert [n for n, one in found.items() if one.is_generator] == ["A.p", "f"]
    assert [n for n, one in found.items() if one.is_async] == ["A.a"]
    assert [n for n, one in found.items() if one.is_private] == ["A._hidden", "_B.public"]


def test_what_binds_and_what_changes_a_name() -> None:
    bound = read("""
        A = 1
        B, (C, *D) = x
        A = 2
        TABLE = {}
        TABLE["x"] = 1
        TABLE.update(y=2)
        TABLE += 1
        import os.path, sys as system
        class K:
            field: int = 3
    """).bindings
    counts = {name: len(statements) for name, statements in bound.items()}
    assert counts == {
        "A": 1, "B": 1, "C": 1, "D": 1, "TABLE": 4, "os": 1, "system": 1, "K.field": 1
    }  # fmt: skip


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
def test_lines_that_only_one_side_has(
    row: tuple[str, str, tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]],
) -> None:
    before, after, expected = row
    found = difference(f"def f(a, b=1):\n    {before}\n", f"def f(a, b=1):\n    {after}\n")
    assert found == Difference(*expected)


@pytest.mark.parametrize(
    ("head", "aspects", "lines"),
    [
        ("def f(a, b=2):", ("defaults",), (3,)),
        ("def f(a, *, b=1):", ("signature",), ()),
        ("def f(a, b):", ("signature", "defaults"), (3,)),
        ("async def f(a, b=1):", ("signature",), ()),
        ("@cached\ndef f(a, b=1):", ("decorators",), ()),
        ("def f(a: int, b: str = 1) -> None:", ("annotations",), ()),
    ],
)
def test_what_stands_around_a_body(
    head: str, aspects: tuple[str, ...], lines: tuple[int, ...]
) -> None:
    body = "\n    c = a\n    return b\n"
    found = difference(f"def f(a, b=1):{body}", head + body)
    assert (found.aspects, found.lines_before) == (aspects, lines)
