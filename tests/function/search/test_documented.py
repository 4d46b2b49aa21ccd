"""Types that docstrings state, and types that a module names."""

from __future__ import annotations

import ast
import time
from itertools import islice
from typing import Any

import pytest

from refute.core.problems import FunctionProblem
from refute.function.search.annotations import named_types
from refute.function.search.documented import documented_types
from refute.function.search.inputs import propose_inputs
from refute.source.syntax import parse_module

NUMPY = """Cut the text.

    Parameters
    ----------
    text : str
        What is cut: the text.
    width, height : int, optional
        Of a line (default: 70).
    marks : list of strings or None
    side : {'left', 'right'}, default 'left'
    weights : sequence of floats, optional
    graph : NetworkX graph
    key : callable, optional
    *more : positive integer

    Returns
    -------
    lines : list of str
    """
GOOGLE = """Cut the text.

    Args:
        text (str): What is cut (a text): all of it.
        width (int, optional): Of a line. Defaults to 70.
        side ('left' or 'right'): Where.
        marks (list[str]): More words.
        pairs (Dict[str, int]): Of what.
        odd (see below): Other.
    Returns:
        lines (int): Cut.
    """
SPHINX = """Cut the text.

    :param str text: what is cut
    :param width: of a line
    :type width: int or None
    :param side:
    :type side: :class:`str`
    :param bool, optional strict: whether
    :param list of int marks: where
    :returns: int
    """


def said(docstring: str) -> dict[str, str]:
    return {name: ast.unparse(node) for name, node in documented_types(docstring).items()}


def test_the_three_layouts() -> None:
    assert said(NUMPY) == {
        "text": "str",
        "width": "int",
        "height": "int",
        "side": "Literal['left', 'right']",
        "weights": "sequence[float]",
        "key": "callable",
        "more": "int",
    }
    assert said(GOOGLE) == {
        "text": "str",
        "width": "int",
        "side": "Literal['left'] | Literal['right']",
        "marks": "list[str]",
        "pairs": "Dict[str, int]",
    }
    assert said(SPHINX) == {
        "text": "str",
        "width": "int | None",
        "side": "str",
        "strict": "bool",
        "marks": "list[int]",
    }


@pytest.mark.parametrize(
    ("text", "annotation"),
    [
        ("non-negative integer", "int"),
        ("a list of tuples", "list[tuple]"),
        ("tuple of ints", "tuple[int, ...]"),
        ("number", "int | float"),
        ("int | str", "int | str"),
        ("int, float, or None", "int | float | None"),
        ("string (default='a')", "str"),
        ("``bool``, keyword-only", "bool"),
        ("array of shape (n,)", None),
        ("list of int or str", None),
        ("lambda: 1", None),
        ("f(x)", None),
        ("", None),
        ("(((", None),
        ("int" * 200, None),
    ],
)
def test_types_in_words(text: str, annotation: str | None) -> None:
    assert said(f"Parameters\n----------\nx : {text}\n").get("x") == annotation


def test_prose_that_looks_alike_says_nothing() -> None:
    for text in ("Note: x (int): y", "x : int", "Args:\nx (int): a", "Parameters:\n\nx : int\n"):
        assert said(text) == {}


def test_odd_text_takes_no_time() -> None:
    before = time.process_time()
    for text in ("(" * 5000, "x (" * 3000, ":param " * 3000, "x, " * 5000 + ": int", "[" * 5000):
        said(f"Args:\n    {text}\n\nParameters\n----------\n{text}\nx : {text}")
    assert time.process_time() - before < 2.0


def values(code: str) -> list[tuple[Any, ...]]:
    name = code.split("def ")[-1].split("(")[0]
    problem = FunctionProblem("p", "", "", name, code)
    return [
        (*one.call.args, *one.call.kwargs.values())
        for one in islice(propose_inputs(problem, [], seed=0), 60)
    ]


def test_inputs_have_the_documented_types() -> None:
    code = f'def f(text, width, side="left"):\n    """{NUMPY}"""\n    return text\n'
    found = values(code)
    assert found
    for text, width, *side in found:
        assert (type(text), type(width)) == (str, int)
        assert side in ([], ["left"], ["right"])
    annotated = code.replace("text, width", "text: bytes, width: str")
    assert all(isinstance(one[1], str) for one in values(annotated))  # what Python says, holds


NAMED = """\
from typing import NewType, NotRequired, TypedDict
Name = NewType("Name", str)
Names = list[Name]
Either = Name | None
Point = TypedDict("Point", {"x": int, "y": int})
class Base(TypedDict):
    name: Name
class Row(Base, total=False):
    point: Point
    tags: NotRequired[Names]
class Plain(Other):
    name: str
Loop = list["Loop"] | dict[str, "Loop"]
"""


def test_types_that_the_module_names() -> None:
    assert set(named_types(parse_module(NAMED))) == {
        "Name", "Names", "Either", "Point", "Base", "Row", "Loop",
    }  # fmt: skip
    for row, name in values(f"{NAMED}\ndef f(row: Row, either: Either): ..."):
        assert name is None or isinstance(name, str)
        assert isinstance(row["name"], str)
        assert row["point"].keys() == {"x", "y"}
        assert all(isinstance(tag, str) for tag in row["tags"])
    assert values(f"{NAMED}\ndef f(loop: Loop): ...")
    many = "".join(f"A{n} = A{n + 1} | A{n - 1} | list[A{n}]\n" for n in range(40))
    assert values(f"{many}\ndef f(x: A9): ...")
