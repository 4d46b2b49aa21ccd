"""Agreement of several programs for one task on its outputs.

Right programs agree; wrong ones err in different ways. So what most of the programs return is a
better guess of the right output than any one of them (CodeT, Chen et al. 2022; MBR-exec, Shi et al.
2022), and programs that do the same everywhere vouch for each other.

A row is what one program did on each of the inputs, a column what each program did on one input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refute.sandbox import Outcome, Raised, Returned
from refute.sandbox.equality import equal
from refute.sandbox.values import MalformedValue


@dataclass(frozen=True, slots=True)
class Majority:
    """The output that most programs return for one input."""

    output: Returned
    support: int
    """Programs that return it."""
    of: int
    """Programs that were run on it."""
    rest: tuple[tuple[Returned, int], ...] = ()
    """The other outputs with their programs."""

    @property
    def share(self) -> float:
        """Of all programs, in (0, 1]."""
        return self.support / self.of


def agree(one: Outcome, other: Outcome) -> bool:
    """Return whether two programs returned equal values; an exception agrees with nothing."""
    if not isinstance(one, Returned) or not isinstance(other, Returned):
        return False
    try:
        return one == other or equal(one.value, other.value)
    except MalformedValue:
        return False


def majority(column: Sequence[Outcome]) -> Majority | None:
    """Return what most programs return for one input: the first seen of equal outputs.

    None where fewer than half of them return at all (the input is then most likely not allowed),
    and where what they return cannot be compared.
    """
    kinds: list[tuple[Returned, int]] = []
    for outcome in column:
        if not isinstance(outcome, Returned) or not _comparable(outcome):
            continue
        for at, (known, count) in enumerate(kinds):
            if agree(outcome, known):
                kinds[at] = known, count + 1
                break
        else:
            kinds.append((outcome, 1))
    if not kinds or 2 * sum(count for _, count in kinds) < len(column):
        return None
    best = max(kinds, key=lambda kind: kind[1])
    rest = tuple(kind for kind in kinds if kind is not best)
    return Majority(best[0], best[1], len(column), rest)


def _comparable(outcome: Returned) -> bool:
    """Return whether it holds a complete value; a hostile program may return any bytes."""
    try:
        outcome.value  # noqa: B018
    except MalformedValue:
        return False
    return outcome.complete


def alike(rows: Sequence[Sequence[Outcome]]) -> list[list[int]]:
    """The numbers of the programs, those together that do the same on every input, in the order in
    which they come. What raises the same type of exception does the same here."""
    groups: list[list[int]] = []
    for number, row in enumerate(rows):
        for group in groups:
            if all(map(_same, rows[group[0]], row)):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _same(one: Outcome, other: Outcome) -> bool:
    if isinstance(one, Returned) and isinstance(other, Returned):
        return agree(one, other)
    if isinstance(one, Raised) and isinstance(other, Raised):
        return one.type == other.type
    return type(one) is type(other)
