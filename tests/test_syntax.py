"""Foreign source is parsed without Python's remarks on it."""

from __future__ import annotations

import ast
import warnings

import pytest

from refute.source.syntax import (
    find_class,
    find_function,
    functions_in,
    parse_expression,
    parse_module,
    takes_self,
    try_parse,
    try_parse_statements,
)

REMARKABLE = '"\\d" is "\\w"'


def test_no_warning_reaches_the_user() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SyntaxError):  # what a plain parse says; `error` makes it this
            ast.parse(REMARKABLE)
        assert isinstance(parse_expression(REMARKABLE), ast.Compare)
        assert len(parse_module(REMARKABLE).body) == 1


@pytest.mark.parametrize("text", ["(", "a b", "\0"])
def test_what_does_not_parse_has_no_statements(text: str) -> None:
    assert try_parse(text) is None
    assert try_parse_statements(text) is None
    with pytest.raises((SyntaxError, ValueError)):
        parse_module(text)


SHOP = """\
def f(): 1

class Cart:
    @property
    def total(self): 2

    @total.setter
    def total(self, value): 3

    @staticmethod
    def of(name): 4

    class Line:
        def price(self): 5

def f(): 6

class Cart(Cart):
    def again(self): 7
"""


def test_functions_and_methods_by_their_qualified_names() -> None:
    tree = parse_module(SHOP.replace("class Cart(Cart)", "class Other(Cart)"))
    found = functions_in(tree)
    lines = {name: ast.unparse(node.body[0]) for name, node in found.items()}
    assert lines == {
        "f": "6",  # the last definition counts
        "Cart.total": "2",  # but of a property what gets it
        "Cart.of": "4",
        "Cart.Line.price": "5",
        "Other.again": "7",
    }
    assert all(find_function(tree, name) is node for name, node in found.items())
    assert find_function(tree, "Cart.f") is find_function(tree, "total") is None
    assert find_class(tree, "Cart.Line") is not None
    assert find_class(tree, "Line") is find_class(tree, "Cart.total") is None
    assert takes_self(found["Cart.total"], "Cart.total")
    assert not takes_self(found["Cart.of"], "Cart.of")
    assert not takes_self(found["f"], "f")
