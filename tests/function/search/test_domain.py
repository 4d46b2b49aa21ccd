"""Domains of arguments: values that are drawn stay of a size that can be worked with."""

from __future__ import annotations

from random import Random

from refute.function.search.domain import ROOM, Sequences, learn


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def test_what_nests_deep_does_not_double_at_each_level() -> None:
    domain = learn([nested(150)])
    rng = Random(0)
    for _ in range(20):
        assert len(repr(domain.sample(rng))) < 4 * ROOM
    assert len(list(domain.near(nested(150), rng))) < 100


def test_what_nests_little_is_drawn_as_it_was_seen() -> None:
    long = learn([list(range(2_000))])
    assert any(len(long.sample(Random(seed))) > 500 for seed in range(9))
    rows = learn([[[1, 2], [3, 4]]])
    assert all(any(rows.sample(Random(seed))) for seed in range(9))


def test_a_mixed_list_is_in_no_order_and_has_no_rows() -> None:
    element = learn([1, [1, 2], 3.5, [3]])
    for shape in ({"ascending": True}, {"rectangular": True}):
        part = Sequences(list, element, 1, 4, **shape)
        assert not part.accepts([1, [2, 3]])
