"""What `hybrid` did, in the words of the record: attempts of one suite, and edits by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from refute.function.llm.hybrid_inputs import Input
from refute.function.llm.hybrid_versions import Version, Versions
from refute.function.llm.record import Attempt, Edit, Suite, Unreadable
from refute.problems import UnitTest

__all__ = ["Reading", "round_edits", "suite_of"]


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer that was to hold a fix."""

    answer: str
    version: Version | None
    unreadable: Unreadable | None
    """Why there is no version."""


def suite_of(
    tries: Sequence[Attempt | Input], inputs: Sequence[Input], suspects: Sequence[UnitTest]
) -> Suite:
    """One suite: the tries of the model in their order, then the engine's inputs voted on."""
    doubted = set(map(id, suspects))
    rows = [one if isinstance(one, Attempt) else _attempt(one) for one in tries]
    rows += [_attempt(one) for one in inputs if not one.own and one.attempt is not None]
    attempts = []
    for number, row in enumerate(rows):
        if id(row.test) in doubted:
            row = replace(row, status="suspect", test=None)
        attempts.append(replace(row, number=number))
    return Suite(tuple(attempts))


def _attempt(one: Input) -> Attempt:
    if one.attempt is not None:
        return one.attempt if one.own else replace(one.attempt, unreadable=None)
    stated = one.proposal.stated
    if isinstance(stated, Unreadable):
        return Attempt(0, one.proposal.answer, "unasked", one.call, unreadable=stated)
    return Attempt(0, one.proposal.answer, "unasked", one.call, stated)


def round_edits(
    number: int, readings: Sequence[Reading], before: Version, best: Version, versions: Versions
) -> list[Edit]:
    """What became of the answers of a round, and of the code: `best` came after `before`."""
    edits: list[Edit] = []
    seen: list[Version] = []
    for one in readings:
        version = one.version
        if version is None:
            why = "there is none" if one.unreadable is None else one.unreadable.told
            reason = f"discarded: {why}"
            edit = Edit(number, one.answer, None, False, reason, unreadable=one.unreadable)
            edits.append(edit)
        elif any(version is other for other in seen):
            reason = "discarded: another answer says the same"
            edits.append(Edit(number, one.answer, version.code, False, reason))
        else:
            seen.append(version)
            edits.append(_edit(number, version, before, best, versions))
    if best is not before and not any(best is version for version in seen):
        edits.append(_edit(number, best, before, best, versions))
    return edits


def _edit(
    number: int, version: Version, before: Version, best: Version, versions: Versions
) -> Edit:
    accepted = version is best and best is not before
    total = len(version.trial.tests) + len(version.certain.tests)
    after, was = _passed(version), _passed(before)
    if version is versions.given and not accepted:
        reason = "discarded: it changes nothing"
    elif not version.plausible and not accepted:
        [failing, *_] = version.certain.failing
        reason = f"discarded: it fails a certain test ({failing.test.source or 'given'})"
    else:
        # Others may have entered meanwhile, so that the code before it is not what it had to beat.
        rates = f"passes {after} of {total} tests, {was} before"
        reason = f"{'accepted' if accepted else 'discarded'}: {rates}"
        if accepted and version.edits:
            reason = f"accepted: {'; '.join(version.edits)}; {rates}"
    shown = versions.shown(versions.given, 0)
    return Edit(
        number,
        version.answer,
        version.code,
        accepted,
        reason,
        None if shown is None else shown.test,
        before=was,
        after=after,
        total=total,
    )


def _passed(version: Version) -> int:
    return version.certain.passed + version.trial.passed
