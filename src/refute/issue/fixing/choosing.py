"""Which of several drafted fixes is the best, and when it may be called *fixed*.

Fixes are compared by what they do, not by how they are written: two that turn the same accepted
tests green are one kind, and a kind is believed for the answers that hold it. *Fixed* asks for
evidence from several sides, each of which a wrong fix can pass alone: tests of two drafts at least
that do not know the fix, two answers at least of its kind, no accepted test that stays red, no
kind as strong that differs, existing tests near it, and a reviewer who sees the issue and the
fixes alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from refute.issue.contract import DraftedFix

FEWEST_ANSWERS = 2
"""Of one kind, for *fixed*."""
FEWEST_DRAFTS = 2
"""Of accepted tests that the fix turns green, for *fixed*."""
RIVAL = 0.5
"""Share of the best kind's answers from which another kind is a rival."""

_OUTDATED = re.compile(r"^\W*OUTDATED\W+([^\n]*)", re.MULTILINE)
_NUMBERS = re.compile(r"(\d{1,4})(?:\s*(?:-|to)\s*(\d{1,4}))?")
_LINE = re.compile(r"^\W*(BEST|COMPLETE|DETERMINED)\W+([A-Za-z0-9]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Kind:
    """Fixes that stand alike with every accepted test, the one to be shown first."""

    members: tuple[DraftedFix, ...]

    @property
    def best(self) -> DraftedFix:
        return self.members[0]

    @property
    def answers(self) -> int:
        """How many answers hold a fix of this kind."""
        return sum(one.answers for one in self.members)

    @property
    def score(self) -> float:
        """The method's own, of all members."""
        return sum(one.score for one in self.members)

    @property
    def drafts(self) -> int:
        """Drafts of tests all of whose accepted tests it turns green."""
        green = {id.partition(" ")[0] for id in self.best.green}
        return len(green - {id.partition(" ")[0] for id in self.best.red})


def kinds_of(fixes: Sequence[DraftedFix]) -> list[Kind]:
    """The kinds, the most believed first. Within one, what breaks least, then the shortest."""
    groups: dict[tuple[frozenset[str], frozenset[str]], list[DraftedFix]] = {}
    for fix in fixes:
        groups.setdefault((fix.green, fix.red), []).append(fix)
    kinds = [
        Kind(tuple(sorted(found, key=lambda f: (len(f.broken), -f.answers, len(f.patch)))))
        for found in groups.values()
    ]
    return sorted(
        kinds,
        key=lambda k: (-k.score, len(k.best.broken), -k.drafts, -k.answers, len(k.best.patch)),
    )


@dataclass(frozen=True, slots=True)
class Review:
    """What the reviewer says about the fixes that were shown."""

    best: int | None = None
    """Place of the fix that resolves the issue best; None: none was named."""
    complete: bool = False
    """Whether it does all that the issue asks for."""
    determined: bool = False
    """Whether the issue says enough for any right fix to do the same."""
    outdated: frozenset[int] = frozenset()
    """Places of the existing tests that demand just what the issue calls wrong."""


def read_review(answer: str, shown: int, tests: int = 0) -> Review | str:
    """The last `BEST n`, `COMPLETE yes|no`, `DETERMINED yes|no`, `OUTDATED 1, 3-5|all|none` of an
    answer; `shown`, `tests`: how many fixes and existing tests it was about. What is not said
    counts as no; a text: nothing of it can be read."""
    said = {name: word.lower() for name, word in _LINE.findall(answer)}
    if not said:
        return "the answer of the review could not be read"
    best = said.get("BEST", "")
    place = int(best) - 1 if best.isdecimal() and 1 <= int(best) <= shown else None
    lines = _OUTDATED.findall(answer)
    return Review(
        place,
        said.get("COMPLETE") == "yes",
        said.get("DETERMINED") == "yes",
        _places(lines[-1], tests) if lines else frozenset(),
    )


def _places(line: str, tests: int) -> frozenset[int]:
    """Of those `tests`, from 0, that the line names by their numbers, from 1."""
    if line.strip().lower().startswith("all"):
        return frozenset(range(tests))
    spans = [(int(a) - 1, int(b or a)) for a, b in _NUMBERS.findall(line)]
    return frozenset(n for a, b in spans for n in range(max(a, 0), min(b, tests)))


def shortcomings(kind: Kind, kinds: Sequence[Kind], review: Review | str) -> list[str]:
    """What is wanting before the best of a kind may be called fixed; [] where nothing is.

    `review`: the reviewer's word on it, or why there is none.

    What its tests and the existing ones show when they are run is not part of it.
    """
    found = []
    if kind.drafts < FEWEST_DRAFTS:
        drafts = f"{kind.drafts} draft{'s' * (kind.drafts != 1)}"
        found.append(f"tests of {drafts} turn green, not of {FEWEST_DRAFTS}")
    if kind.answers < FEWEST_ANSWERS:
        found.append("only one answer holds a fix that does this")
    if kind.best.red:
        found.append(f"{len(kind.best.red)} accepted tests stay red with it")
    rivals = [one for one in kinds if one is not kind and _rivals(one, kind)]
    if rivals:
        found.append("another fix, as well supported, turns other tests green")
    if isinstance(review, str):
        found.append(review)
    else:
        if not review.complete:
            found.append("the review: it does not do all that the issue asks for")
        if not review.determined:
            found.append("the review: the issue leaves open what a fix has to do")
    return found


def _rivals(other: Kind, kind: Kind) -> bool:
    """Whether another kind turns something green that this one does not, with enough answers."""
    if not other.best.green - kind.best.green:
        return False
    return other.answers >= RIVAL * kind.answers and not len(other.best.broken)
