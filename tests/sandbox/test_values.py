"""The codec: faithful on what it encodes; no bytes do more than raise `MalformedValue`."""

# ruff: noqa: E501
from __future__ import annotations

import datetime
import marshal
import random
import time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refute.sandbox.equality import equal
from refute.sandbox.nodes import decode
from refute.sandbox.values import Incomplete, MalformedValue, Unencodable, encode

ATOMS = (
    st.none() | st.booleans() | st.integers() | st.integers(min_value=-(10**60), max_value=10**60)
    | st.floats(allow_nan=False) | st.complex_numbers(allow_nan=False) | st.binary() | st.text()
    | st.text(st.characters())
)  # fmt: skip
KEYS = st.none() | st.booleans() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
PLAIN = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner)
        | st.sets(KEYS) | st.frozensets(KEYS)
    ),
    max_leaves=20,
)  # fmt: skip
RICH = st.recursive(
    ATOMS | st.decimals(allow_nan=False) | st.fractions() | st.datetimes() | st.dates() | st.times()
    | st.timedeltas() | st.binary().map(bytearray) | st.builds(range, st.integers(), st.integers()),
    lambda inner: (
        st.lists(inner) | st.tuples(inner) | st.dictionaries(KEYS, inner) | st.lists(inner).map(deque)
    ),
    max_leaves=12,
)  # fmt: skip


def same(left: Any, right: Any) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple | deque):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[k], right[k]) for k in left)
    return bool(left == right)


@settings(max_examples=150, deadline=None)
@given(PLAIN | RICH)
def test_round_trip(value: Any) -> None:
    assert same(decode(encode(value, strict=True)), value)


@settings(max_examples=200, deadline=None)
@given(PLAIN | RICH, st.randoms(use_true_random=False))
def test_mutations_never_do_harm(value: Any, rng: random.Random) -> None:
    data = bytearray(encode(value))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1:
            del data[at : at + rng.randint(1, 5)]
        elif kind == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 5)))
        else:
            data[at : at + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\xff" * 4])
    try:
        decoded = decode(bytes(data))
    except MalformedValue:
        return
    repr(type(decoded))
    equal(decoded, value)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"M", b"X", b"E", b""]))
def test_random_bytes(data: bytes, tag: bytes) -> None:
    try:
        decode(tag + data)
    except MalformedValue:
        pass


NODES = [
    (), ("v",), ("v", 1, 2), (1, 2), ("d", [1]), ("d", 5), ("s", [("l", [])]), ("l", None), ("range", (1, 2, 0)),
    ("range", (True, 2, 1)), ("Decimal", 5), ("Decimal", "x"), ("Fraction", (1, 0)), ("Fraction", ()),
    ("Fraction", (1 << 300_000, 3)), ("datetime", "now"), ("timedelta", (10**12, 0, 0)), ("ndarray", (1, 2)),
    ("ndarray", (("v", 1), 5, (1,))), ("opaque", 1), ("opaque", "a", "b", [1]), ("iter", "a", [1], True),
    ("deque", ([], -1)), ("deque", ([], "x")), ("__import__", "os"), ("bytearray", "x"), ("l", ["v", "v"]),
]  # fmt: skip


@pytest.mark.parametrize("node", NODES)
def test_bad_nodes(node: object) -> None:
    with pytest.raises(MalformedValue):
        decode(b"X" + marshal.dumps(node, 2))


def test_code_and_back_references_are_refused() -> None:
    for value in (compile("1", "x", "eval"), Ellipsis, StopIteration):
        with pytest.raises(MalformedValue):
            decode(b"M" + marshal.dumps(value, 2))
    shared = [1]
    with pytest.raises(MalformedValue):
        decode(b"M" + marshal.dumps([shared, shared], 4))


def test_time_is_bounded() -> None:
    began = time.process_time()
    prime = (1 << 61) - 1
    collide = b"".join(marshal.dumps(i * prime, 2) for i in range(1, 40_000))
    for kind in (b"<", b">"):
        with pytest.raises(MalformedValue):
            decode(b"M" + kind + (39_999).to_bytes(4, "little") + collide)
    for value in (1 << 8_000_000, -(3**500_000), list(range(100_000))):
        assert decode(b"M" + marshal.dumps(value, 2)) == value
    parts = [(3**12_600, (1 << 19_990) + k) for k in range(3_000)]  # 16 MB of long divisions
    fractions = marshal.dumps(("l", [("Fraction", pair) for pair in parts]), 2)
    assert len(fractions) > 15_000_000
    assert len(decode(b"X" + fractions)) == 3_000
    with pytest.raises(MalformedValue):
        decode(b"X" + marshal.dumps(("Fraction", (3**200_000, 2)), 2))
    nested = b"M" + b"[\1\0\0\0" * 100_000
    with pytest.raises(MalformedValue):
        decode(nested)
    with pytest.raises(MalformedValue):
        decode(b"M[\xff\xff\xff\x7f" + b"N" * 1000)
    assert time.process_time() - began < 10


class Int(int):
    def __index__(self) -> int:
        return 42

    __int__ = __index__

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Text(str):
    def __str__(self) -> str:
        return "lie"

    def __getitem__(self, key: Any) -> str:
        return "lie"


class List(list[Any]):
    def __iter__(self) -> Any:
        return iter([42])

    def __len__(self) -> int:
        return 1


class Dict(dict[Any, Any]):
    def items(self) -> Any:
        return [(42, 42)]

    __iter__ = items


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Int(7), 7), ([Int(7)], [7]), (Text("truth"), "truth"), (List([1, 2]), [1, 2]), (Dict(a=1), {"a": 1}),
        (Pair(1, 2), (1, 2)), (Counter("aab"), {"a": 2, "b": 1}), (OrderedDict(a=1), {"a": 1}),
        (defaultdict(int, a=1), {"a": 1}), ({1: 2}.keys(), {1}), (True, True),
        (Decimal("1.50"), Decimal("1.50")), (Fraction(1, 3), Fraction(1, 3)),
        (datetime.date(2024, 2, 29), datetime.date(2024, 2, 29)),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_subclasses_cannot_lie(value: Any, plain: Any) -> None:
    decoded = decode(encode(value))
    assert same(decoded, plain)


def test_what_has_no_encoding() -> None:
    assert isinstance(decode(encode(object())), Incomplete)
    assert isinstance(decode(encode(lambda: 1)), Incomplete)
    with pytest.raises(Unencodable):
        encode(object(), strict=True)
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    decode(encode(cyclic))
    with pytest.raises(Unencodable):
        encode(cyclic, strict=True)
    deep: list[Any] = []
    for _ in range(1000):
        deep = [deep]
    decode(encode(deep))
