"""What counts as the same, compared and as a text."""

from __future__ import annotations

import itertools

from refute.function.scenarios.observation import (
    VARIES,
    Observation,
    fingerprint,
    same_value,
    settled,
)
from refute.sandbox.values import Incomplete, Iterated, Opaque

VALUES = [
    *(None, 1, True, 1.0, 1.0 + 1e-12, 1.001, "1", b"1", float("nan"), 3 + 0j),
    *(
        [1],
        (1,),
        [1.0],
        [[1], 2],
        {1, 2},
        frozenset({1, 2}),
        {"a": 1, "b": [2]},
        {"b": [2], "a": 1},
    ),
    *(Opaque((), "<C at 0x1>", "C"), Opaque((), "<C>", "C"), Opaque((), "<C>", "D")),
    *(Opaque((("x", 1),), "<C>", "C"), Opaque((("x", 1.0 + 1e-13),), "<c>", "C")),
    *(Opaque((("x", 1), ("_y", 2)), "<C>", "C"), Opaque((("x", 1.0),), "<C>", "C")),
    *(Iterated((1, 2), False, "g"), Iterated((1, 2), True, "g"), Incomplete("", "function")),
]


def test_values_are_the_same_where_their_texts_are() -> None:
    for one, other in itertools.product(VALUES, VALUES):
        texts = {fingerprint(Observation("returned", value)) for value in (one, other)}
        private = {len(getattr(value, "attributes", ())) for value in (one, other)} == {1, 2}
        assert private or same_value(one, other) == (len(texts) == 1), (one, other)


def test_how_it_ended_and_what_it_changed_count() -> None:
    seen = [
        Observation("returned", 1),
        Observation("returned", 1, printed="x"),
        Observation("returned", 1, changed=(("self", [1], [1, 2]),)),
        Observation("raised", error="ValueError"),
        Observation("raised", error="KeyError"),
    ]
    assert len({fingerprint(one) for one in seen}) == len(seen)
    moved = Observation("returned", 1, changed=(("self", [], [1, 2]),))
    assert fingerprint(moved) == fingerprint(seen[2]), "what it was before is the same call's"


def test_what_varies_from_run_to_run_is_left_out() -> None:
    one = Opaque((("n", 1), ("x", [1, {"k": 2}])), "<C>", "C")
    again = Opaque((("n", 7), ("x", [1, {"k": 3}])), "<C>", "C")
    kept = settled(one, again)
    assert repr(kept) == "C(n=..., x=[1, {'k': ...}])"
    assert same_value(kept, one)
    assert same_value(kept, again)
    assert not same_value(kept, Opaque((("n", 1), ("x", [2, {"k": 2}])), "<C>", "C"))
    assert settled(one, one) is one
    assert settled([1], [1, 2]) is VARIES
