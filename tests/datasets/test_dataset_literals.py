"""Values written as source: the fast readers agree with Python, and nothing is executed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.source.literals import NotLiteral
from refute_lab.datasets.originfmt import parse

ATOMS = (
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(max_size=8)
    | st.floats(allow_nan=False)
)  # fmt: skip
VALUES = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(ATOMS, max_size=4)
        | st.dictionaries(ATOMS, inner, max_size=3)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_reads_what_repr_writes(value: object) -> None:
    read = parse(repr(value))
    assert read == value
    assert repr(read) == repr(value) or "{" in repr(value)  # the order of a set may differ


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(1,)", (1,)),
        ("(1)", 1),
        ("[(1), ((2),)]", [1, (2,)]),
        ("[1, 2,]", [1, 2]),
        ("()", ()),
        ("{}", {}),
        ("set()", set()),
        ("[-1, +2, 1 - 2j]", [-1, 2, 1 - 2j]),
        ("[1_000, 0x10, 1e3, .5, 1.]", [1000, 16, 1000.0, 0.5, 1.0]),
        ("[inf, -inf, float('inf')]", [math.inf, -math.inf, math.inf]),
        ("[set([1, 2]), frozenset((1,)), range(3), complex(1, 2)]",
         [{1, 2}, frozenset({1}), range(3), 1 + 2j]),
        ("{'a': (1, 2), None: [True]}", {"a": (1, 2), None: [True]}),
        ("['True', 'null', \"it's\", 'a\\n']", ["True", "null", "it's", "a\n"]),
        ("['a' 'b']", ["ab"]),
        ("[\n 1, # one\n 2]", [1, 2]),
        ("[1" + "0" * 5000 + "]", [10**5000]),
    ],
)  # fmt: skip
def test_forms(text: str, value: object) -> None:
    assert parse(text) == value
    assert type(parse(text)) is type(value)


def test_nan() -> None:
    assert math.isnan(parse("[nan, 1]")[0])
    assert math.isnan(parse("float('nan')"))


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "[1 2]", "[1,,2]", "(1,2", "[true]", "[null]", "[NaN]", "x", "[1, x]", "f(1)",
        "__import__('os').getcwd()", "[c for c in 'ab']", "'a'.upper()", "{**{}}", "[*[1]]",
        "1 if 2 else 3", "lambda: 1", "f'{1}'", "...", "-'a'", "'a' + 1", "{[1]: 2}", "{[]}",
        "range('a')", "[1] extra", "1; 2", "[" * 5000 + "]" * 5000,
    ],
)  # fmt: skip
def test_refuses(text: str) -> None:
    with pytest.raises(NotLiteral):
        parse(text)
