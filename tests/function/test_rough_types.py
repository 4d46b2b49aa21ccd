"""Rough types of expressions."""

from __future__ import annotations

import ast

import pytest

from refute.function.rough_types import annotated_type, rough_type, suits

TYPES = {"n": "int", "s": "str", "yes": "bool"}


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("1", "int"), ("n / 2", "float"), ("n + 0.5", "num"), ("s[1:]", "str"),
        ("s.split()", "list"),
        ("[n]", "list"), ("{n}", "set"), ("{}", "dict"), ("(n, s)", "tuple"), ("range(n)", "iter"),
        ("not n", "bool"), ("n < 2", "bool"), ("yes and n < 2", "bool"), ("hasattr(s, s)", "bool"),
        ("s and n < 2", "?"), ("n or 1", "int"), ("unknown", "?"), ("unknown.f()", "?"),
    ],
)  # fmt: skip
def test_of_an_expression(source: str, kind: str) -> None:
    assert rough_type(ast.parse(source, mode="eval").body, TYPES) == kind


def test_of_annotations_and_what_suits() -> None:
    assert annotated_type(ast.parse("list[int]", mode="eval").body) == "list"
    assert suits("num", ("int",))
    assert suits("?", ())
    assert not suits("str", ("int", "float"))
