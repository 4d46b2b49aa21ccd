"""Equality: EvalPlus's rules, what we decide otherwise, the special checkers, and the fast path."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.core.problems import Call, UnitTest
from refute.sandbox import Raised, Returned, values
from refute.sandbox.equality import CHECKERS, equal, expect, expect_test, matches
from refute.sandbox.nodes import decode

NAN = math.nan


def array(items: list[float]) -> values.NDArray:
    return values.NDArray(items, "float64", (len(items),))


@pytest.mark.parametrize(
    ("out", "expected", "atol"),
    [
        (True, 1, 0),
        (0.0, -0.0, 0),
        (0.1 + 0.2, 0.3, 0),  # a float gets 1e-6 by itself
        (1e9 + 50, 1e9, 0),  # rtol 1e-7
        ([1.00005, 2], [1, 2], 1e-4),  # an explicit tolerance reaches ints and nests
        (1 + 1e-9j, 1 + 0j, 1e-4),
        (NAN, NAN, 0),
        ([1, (NAN, "x")], [1, (NAN, "x")], 0),
        ({NAN, 1}, {1, NAN}, 0),
        ([math.inf, 1.0], [math.inf, 1.0000001], 0),
        (array([1.0, 2.0]), array([1.0, 2.0 + 1e-9]), 0),
    ],
)  # fmt: skip
def test_equal(out: object, expected: object, atol: float) -> None:
    assert equal(out, expected, atol)


@pytest.mark.parametrize(
    ("out", "expected", "atol"),
    [
        ([1, 2], (1, 2), 0),
        ([1.0], (1.0,), 1e-4),  # the type counts also where a tolerance applies
        (1, 1.0000001, 0),  # EvalPlus: the type must be the same where it is not exact
        (1.00001, 1.0, 0),
        (1.0, [1.0, 1.0], 1e-4),
        ([[1.0, 1.0]], [[1.0], [1.0]], 1e-4),
        ([0.5, 1], [0.5000000001, 1], 0),  # not all floats: no tolerance
        ({"a": 1.0000000001}, {"a": 1.0}, 0),
        (NAN, 1.0, 0),
        (math.inf, -math.inf, 0),
        (10**400, 1.0, 0),
        (1.0, 10**400, 1e-4),
        ([[1.0]], values.NDArray([[1.0]], "float64", (1, 1)), 0),
        (values.NDArray([1, 2], "int64", (2,)), values.NDArray([[1, 2]], "int64", (1, 2)), 0),
    ],
)
def test_different(out: object, expected: object, atol: float) -> None:
    assert not equal(out, expected, atol)


def test_deep_nests_end_in_a_verdict() -> None:
    deep: object = 1.0
    other: object = 2.0
    for _ in range(100_000):
        deep, other = [deep], [other]
    assert equal(deep, other) is False


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=12,
)


@given(PLAIN)
def test_everything_equals_itself_through_the_codec(value: object) -> None:
    data = values.encode(value)
    assert equal(decode(data), value)
    assert matches(Returned(data), expect(value))


@given(PLAIN, PLAIN)
def test_matches_is_equal(one: object, other: object) -> None:
    assert matches(Returned(values.encode(one)), expect(other)) == equal(one, other)


def test_malformed_bytes_match_nothing() -> None:
    assert not matches(Returned(b"X\xff\xff"), expect(1))
    assert not matches(Returned(b""), expect(1))


def test_expected_exceptions() -> None:
    expected = expect_test(UnitTest(Call((1,)), raises="ValueError"))
    assert matches(Raised("ValueError", "bad"), expected)
    assert not matches(Raised("TypeError", "bad"), expected)
    assert not matches(Returned(b""), expected)
    assert not matches(Returned(values.encode(None)), expected)


def checked(name: str, out: object, expected: object, *args: object, atol: float = 0.0) -> bool:
    data = Returned(values.encode(out))
    return matches(data, expect(expected, checker=name, args=args, atol=atol))


def test_checkers() -> None:
    assert set(CHECKERS) == {
        "same_set", "not_none", "polynomial_root", "padded_digit_distance", "pyramid_surface",
        "words",
    }  # fmt: skip
    assert checked("same_set", [3, 1, 1], (1, 3))
    assert not checked("same_set", [3, 1], (1, 2))
    assert not checked("same_set", 5, (1, 2))
    assert not checked("same_set", [[1]], (1,))
    assert checked("not_none", "a match", True)
    assert checked("not_none", None, False)
    assert checked("not_none", values.Opaque((), "<Match>", "Match"), True)
    assert not checked("not_none", False, True)
    assert checked("pyramid_surface", 35, 0, 3, 4)


def test_a_set_of_elements_takes_linear_time() -> None:
    prime = (1 << 61) - 1
    colliding = [k * prime for k in range(1, 40_000)]
    wild = [
        colliding, tuple(colliding), [(k,) for k in colliding], colliding * 2,
        [frozenset({k}) for k in colliding[:20_000]], [float(1 << 61) * k for k in (1, 2)] * 9_000,
        range(10**12), range(3), array([1.0, 2.0]),
    ]  # fmt: skip
    began = time.process_time()
    for out in wild:
        data = values.encode(out)
        assert not matches(Returned(data), expect((1, 2), checker="same_set"))
    assert checked("same_set", [1, 2] * 50_000, (2, 1))
    assert checked("same_set", ["a", "b", 1.0, 1] * 1000, (1, "b", "a"))
    assert time.process_time() - began < 5
