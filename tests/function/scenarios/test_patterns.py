"""Texts made of regular expressions."""

from __future__ import annotations

import re
from random import Random

import pytest

from refute.function.scenarios.patterns import is_pattern, matching


@pytest.mark.parametrize(
    "pattern",
    [
        r"^(\d+)-(\w+):(.*)$", r"(<\S*?>)", r"[^a-z/]+(x|yy){2,3}", r"(a)(?:b)?\1",
        r"\[default: (.*)\]", r"(?P<year>\d{4})-(?P<month>\d\d)",
    ],
)  # fmt: skip
def test_the_texts_match(pattern: str) -> None:
    assert is_pattern(pattern)
    made = matching(pattern, Random(1), 5)
    assert made
    assert all(re.search(pattern, text) for text in made)


def test_what_is_no_pattern_gives_nothing() -> None:
    assert not is_pattern("just words")
    assert matching("(", Random(1)) == []
    assert matching("(" * 3000, Random(1)) == []


def test_a_verbose_pattern_is_read_as_one() -> None:
    made = matching(r"(\d+)  # a number", Random(1), verbose=True)
    assert all(re.fullmatch(r"\d+", text) for text in made)
    assert made
