"""What happened while a method worked on a problem, as a record of a journal holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from refute.core.problems import UnitTest
from refute.function.formatting import call_source
from refute.function.llm.results import Attempt, EditRound, Output, Trace, Vote
from refute_lab.runs.records import Count


@dataclass(frozen=True, slots=True)
class StoredVote:
    """A vote on the output of one input; outputs are text."""

    k: Count
    asked: Count
    counts: tuple[tuple[str, Count], ...]
    unreadable: Mapping[str, Count]
    """Samples that were votes for nothing, by kind."""
    winner: str | None = None
    continued: bool | None = None
    """Whether the model continued its own answer; else it was asked a question. None: of a journal
    that does not say."""


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """One answer of the generator; calls and outputs are text, None: there is none."""

    number: Count
    status: str
    answer: str = ""
    call: str | None = None
    stated: str | None = None
    unreadable: str | None = None
    vote: StoredVote | None = None
    expected: str | None = None


@dataclass(frozen=True, slots=True)
class StoredEdit:
    """One round of debugging; calls and outputs are text, None: there is none."""

    round: Count
    accepted: bool
    reason: str
    answer: str = ""
    code: str | None = None
    before: Count = 0
    after: Count = 0
    total: Count = 0
    call: str | None = None
    expected: str | None = None
    feedback: str = ""
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class StoredLog:
    """What happened, from the input of the first test to the last edit."""

    suites: tuple[tuple[StoredAttempt, ...], ...] = ()
    edits: tuple[StoredEdit, ...] = ()
    codes: tuple[str, ...] = ()
    """The module after each round, the first before any."""
    unreadable: Mapping[str, Count] = field(default_factory=dict)
    """Unreadable answers, by kind."""
    too_long: Count = 0
    votes_saved: Count = 0


def stored_log(trace: Trace, function: str) -> StoredLog:
    """What happened, calls shown with the name `function`."""
    return StoredLog(
        suites=tuple(tuple(_attempt(one, function) for one in s.attempts) for s in trace.suites),
        edits=tuple(_edit(edit, function) for edit in trace.edits),
        codes=trace.codes,
        unreadable=dict(sorted(trace.unreadable.items())),
        too_long=trace.too_long,
        votes_saved=trace.saved,
    )


def _attempt(attempt: Attempt, function: str) -> StoredAttempt:
    return StoredAttempt(
        number=attempt.number,
        status=attempt.status,
        answer=attempt.answer,
        call=None if attempt.call is None else call_source(attempt.call, function),
        stated=None if attempt.stated is None else str(attempt.stated),
        unreadable=None if attempt.unreadable is None else attempt.unreadable.value,
        vote=None if attempt.vote is None else _vote(attempt.vote),
        expected=_expected(attempt.test),
    )


def _vote(vote: Vote) -> StoredVote:
    return StoredVote(
        k=vote.k,
        asked=vote.asked,
        counts=tuple((str(output), count) for output, count in vote.counts),
        unreadable={kind.value: count for kind, count in vote.unreadable},
        winner=None if vote.winner is None else str(vote.winner),
        continued=vote.continued,
    )


def _edit(edit: EditRound, function: str) -> StoredEdit:
    return StoredEdit(
        round=edit.round,
        accepted=edit.accepted,
        reason=edit.reason,
        answer=edit.answer,
        code=edit.code,
        before=edit.before,
        after=edit.after,
        total=edit.total,
        call=None if edit.test is None else call_source(edit.test.call, function),
        expected=_expected(edit.test),
        feedback=edit.feedback,
        unreadable=None if edit.unreadable is None else edit.unreadable.value,
    )


def _expected(test: UnitTest | None) -> str | None:
    return None if test is None else str(Output(test.expected, test.raises))
