"""Foreign source is parsed without Python's remarks on it."""

from __future__ import annotations

import ast
import warnings

import pytest

from refute.source.syntax import (
    parse_expression,
    parse_module,
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
