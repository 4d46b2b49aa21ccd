"""What programs say together."""

from __future__ import annotations

from refute.function.consensus import alike, majority
from refute.sandbox import Outcome, Raised, Returned, TimedOut, values


def gives(value: object) -> Returned:
    return Returned(values.encode(value))


def test_most_programs_are_believed_and_equal_values_are_one() -> None:
    found = majority([gives(1), gives(2), gives(1.0), Raised("ValueError", "")])
    assert (found.output.value, found.support, found.of) == (1, 2, 4)
    assert [(value.value, count) for value, count in found.rest] == [(2, 1)]


def test_an_input_that_most_programs_refuse_has_no_output() -> None:
    assert majority([gives(1), Raised("ValueError", ""), Raised("TypeError", "")]) is None
    assert majority([]) is None


def test_bytes_that_hold_no_value_are_no_output() -> None:
    bad = Returned(b"\xff no value")
    assert majority([bad, bad]) is None
    found = majority([gives(1), bad, gives(1), gives(2)])
    assert [value.value for value, _ in ((found.output, 0), *found.rest)] == [1, 2]


def test_programs_stand_together_that_do_the_same_everywhere() -> None:
    rows: list[list[Outcome]] = [
        [gives(1), Raised("ValueError", "a")],
        [gives(1), gives(0)],
        [gives(1), Raised("ValueError", "b")],
        [gives(1), TimedOut(1.0)],
    ]
    assert alike(rows) == [[0, 2], [1], [3]]
