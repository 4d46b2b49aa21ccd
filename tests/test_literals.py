"""Values as source and back."""

from __future__ import annotations

import datetime
from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refute.sandbox.values import NDArray, Opaque
from refute.source.literals import NotLiteral, needed_imports, parse_literal, source_of

atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
)
hashable = st.recursive(atoms, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)
plain = st.recursive(
    atoms | st.sets(st.integers() | st.text()) | st.frozensets(st.integers()),
    lambda inner: st.lists(inner) | st.dictionaries(hashable, inner, max_size=3),
    max_leaves=20,
)


@settings(derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plain)
def test_source_reads_back_as_the_same_value(value: Any) -> None:
    back = parse_literal(source_of(value))
    assert repr_sorted(back) == repr_sorted(value)


def repr_sorted(value: Any) -> str:
    return source_of(value)


@pytest.mark.parametrize(
    ("value", "source"),
    [
        (float("inf"), 'float("inf")'),
        (-0.0, "-0.0"),
        (complex(0.0, -1.0), "complex(0.0, -1.0)"),
        ({3, 1, 2}, "{1, 2, 3}"),
        (b"\x00", 'b"\\x00"'),
        (bytearray(b"x"), 'bytearray(b"x")'),
        (range(1, 5, 2), "range(1, 5, 2)"),
        (Decimal("1.50"), 'Decimal("1.50")'),
        (Fraction(1, 3), "Fraction(1, 3)"),
        (datetime.date(2024, 2, 29), "datetime.date(2024, 2, 29)"),
        (deque([1], maxlen=2), "deque([1], maxlen=2)"),
        (NDArray([[1, 2]], "int64", (1, 2)), 'np.array([[1, 2]], dtype="int64")'),
    ],
)
def test_each_type_has_a_source(value: Any, source: str) -> None:
    assert source_of(value) == source
    assert parse_literal(source) == value


def test_huge_integers() -> None:
    assert parse_literal(source_of(10**5000)) == 10**5000  # `repr` would refuse
    assert parse_literal("9" * 5000) == 10**5000 - 1


def test_nan_and_sets_of_mixed_types() -> None:
    assert source_of([float("nan")]) == '[float("nan")]'
    assert source_of({"b", 1, "a", None}) == '{None, 1, "a", "b"}'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10**6", 10**6),
        ("-math.inf", float("-inf")),
        ("list(range(3))", [0, 1, 2]),
        ("[numpy.inf, float('-inf')]", [float("inf"), float("-inf")]),
        ("dict([('a', 1)], b=int('2'))", {"a": 1, "b": 2}),
        ("dt.date(2024, 2, 29)", datetime.date(2024, 2, 29)),
    ],
)
def test_arithmetic_that_people_write(text: str, value: Any) -> None:
    assert parse_literal(text) == value


def test_names_are_read_only_where_they_are_given() -> None:
    assert parse_literal("[true, {'a': null}]", names={"true": True, "null": None}) == [
        True,
        {"a": None},
    ]
    with pytest.raises(NotLiteral):
        parse_literal("[true]")


@pytest.mark.parametrize(
    "text",
    [
        "open('x')",
        "x",
        "__import__('os')",
        "(",
        "{[]}",
        "self.set([1])",  # somebody else's set
        "[1][0]",
        "'%d' % 1",
        # what would take the reader's memory or time
        "10**10**8",
        "[0] * 10**9",
        "list(range(10**9))",
        "deque(range(10**9))",
        "Fraction('1e999999999')",
        "int(Decimal('1e999999999'))",
        "9" * 200_000,
        "[" * 5000 + "]" * 5000,
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(NotLiteral):
        parse_literal(text)


def test_values_without_source_are_refused() -> None:
    with pytest.raises(NotLiteral, match="Opaque"):
        source_of([Opaque((), "<Thing>", "Thing")])


def test_imports_are_found_inside_containers() -> None:
    assert needed_imports({"a": [Decimal(1)], "b": deque([Fraction(1)])}) == {
        "from decimal import Decimal",
        "from collections import deque",
        "from fractions import Fraction",
    }
