"""Programs of answers, and how they are put into the module under test."""

from __future__ import annotations

import ast

import pytest

from refute.function.llm.code_extraction import merge_into_module, read_program

T = "```"


@pytest.mark.parametrize(
    ("text", "program"),
    [
        (f"Sure.\n{T}python\ndef f(x):\n    return 1\n{T}\nDone.", "def f(x):\n    return 1\n"),
        (
            f"{T}python\ndef f(x):\n    return 1\n{T}\nor\n{T}\ndef f(x):\n    return 2\n{T}",
            "def f(x):\n    return 2\n",
        ),
        (
            f"{T}python\ndef f(x):\n    return 1\n{T}\nUse it:\n{T}python\nprint(f(1))\n{T}",
            "def f(x):\n    return 1\n",
        ),
        ("def f(x):\n    return 1", "def f(x):\n    return 1\n"),
        (f"{T}python\n    def f(x):\n        return 1\n{T}", "def f(x):\n    return 1\n"),
        (f"<think>{T}\ndef f(x): return 9\n{T}</think>{T}\ndef f(x): return 1\n{T}",
         "def f(x): return 1\n"),
        (f"{T}python\ndef f(x):\n    return 1", "def f(x):\n    return 1\n"),
        (f"{T}python\ndef f(x:\n{T}", None),
        (f"{T}python\ndef g(x):\n    return 1\n{T}", None),
        ("I cannot.", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_last_block_that_defines_the_function(text: str, program: str | None) -> None:
    assert read_program(text, "f") == program


MODULE = '''"""Doc."""
from __future__ import annotations

import re

LIMIT = 3  # kept


def helper(x):
    return x


@staticmethod
def f(x):  # old
    # a comment of the old body
    return helper(x)


class After:
    def go(self, x):
        return x  # old

    def stay(self):
        return 1
'''


def test_only_the_definitions_of_the_answer_change() -> None:
    program = (
        "from __future__ import annotations\nimport re\nfrom bisect import insort\n\n"
        "TABLE = {1: 2}\n\ndef new(x):\n    return x\n\ndef helper(x):\n    return x + 1\n\n"
        "def f(x):\n    return new(helper(TABLE[x]))\n\n"
        "result = f(1)\nprint(result)\nassert f(1) == 3\nif __name__ == '__main__':\n    f(1)\n"
    )
    code = merge_into_module(MODULE, program, "f")
    assert code is not None
    assert code == MODULE.replace(
        "annotations\n\nimport re", "annotations\nfrom bisect import insort\n\nimport re"
    ).replace("def helper(x):\n    return x\n", "def helper(x):\n    return x + 1\n").replace(
        "@staticmethod\ndef f(x):  # old\n    # a comment of the old body\n    return helper(x)\n",
        "TABLE = {1: 2}\n\n\ndef new(x):\n    return x\n\n\n"
        "def f(x):\n    return new(helper(TABLE[x]))\n",
    )


def test_a_method_may_come_without_its_class() -> None:
    code = merge_into_module(MODULE, "def go(self, x):\n    return -x\n", "After.go")
    assert code is not None
    assert code == MODULE.replace("        return x  # old\n", "        return -x\n")
    whole = "class After:\n    def go(self, x):\n        return 0\n"
    code = merge_into_module(MODULE, whole, "After.go")
    assert code.endswith(f"\n\n{whole}")


def test_forgotten_imports_are_added() -> None:
    code = merge_into_module(
        "def f(x):\n    return x\n", "def f(x: List[int]):\n    return math.pi\n", "f"
    )
    names: dict[str, object] = {}
    exec(code, names)
    assert code.startswith("import") == code.startswith("import math")
    assert callable(names["f"])
    assert {"math", "List"} <= names.keys()
    own = "def f(math):\n    return math.pi\n"
    assert merge_into_module("def f(x):\n    return x\n", own, "f") == own


DESCRIBED = '''class Box:
    """A box."""

    def put(self, x):
        """Put x in.

          indented
        """
        return x  # old


def f(x):
    """What f does.

    >>> f(1)
    2
    """
    return x  # old


def g(x): "In one line."; return x  # old
'''


@pytest.mark.parametrize(
    ("program", "entry", "wanted"),
    [
        ("def f(x): return 7\n", "f", [("f", "What f does.\n\n>>> f(1)\n2")]),
        ("def g(x):\n  return 7\n", "g", [("g", "In one line.")]),
        (
            "class Box:\n    def put(self, x): return 7\n",
            "Box.put",
            [("Box", "A box."), ("put", "Put x in.\n\nindented")],
        ),
        ("def put(self, x):\n    return 7\n", "Box.put", [("put", "Put x in.\n\nindented")]),
        ("def f(x):\n\tdef k():\n\t\treturn 7\n\treturn k()\n", "f", [("f", "What f does.")]),
    ],
)
def test_docstrings_in_every_layout(
    program: str, entry: str, wanted: list[tuple[str, str]]
) -> None:
    module = merge_into_module(DESCRIBED, program, entry)
    assert module is not None
    assert "7" in module
    said = {
        node.name: ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(module))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    for name, text in wanted:
        assert said[name].startswith(text)
    again = merge_into_module(module, program, entry)
    assert again == module
