"""Algorithms 1 and 2 of the paper, written down as naively as can be: one try after the other, all
k samples of every vote, no text, no sandbox. What `refute.function.llm` is tested against."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .scripted import MadeUp

Code = tuple[int, ...]
Test = tuple[int, Any]


@dataclass
class Trace:
    """What happened."""

    suites: list[list[Test]] = field(default_factory=list)
    asked: list[Code] = field(default_factory=list)
    """The code that each suite was made for: a second one draws what the first did not."""
    votes: list[tuple[int, Any]] = field(default_factory=list)
    """Each input that was voted on, with the winner; None: no output had half of the votes."""
    accepted: list[bool] = field(default_factory=list)
    codes: list[Code] = field(default_factory=list)


def build_ut(model: MadeUp, code: Code, n: int, k: int, vote: bool, trace: Trace) -> list[Test]:
    tests: list[Test] = []
    tried = []
    again = trace.asked.count(code)
    trace.asked.append(code)
    for attempt in range(again * 3 * n, (again + 1) * 3 * n):
        x = model.propose(code, attempt)
        if x is None or x in tried:
            continue
        tried.append(x)
        if vote:
            samples = [model.output(code, x, j) for j in range(again * k, (again + 1) * k)]
            y = most_common([sample for sample in samples if sample is not None], k)
            trace.votes.append((x, y))
        else:
            y = model.stated(code, attempt)
        if y is not None:
            tests.append((x, y))
        if len(tests) == n:
            break
    trace.suites.append(tests)
    return tests


def most_common(outputs: list[Any], k: int) -> Any:
    """The output with the most votes, the first of equals; None: it has fewer than k / 2."""
    best, votes = None, 0
    for output in outputs:
        if outputs.count(output) > votes:
            best, votes = output, outputs.count(output)
    return best if votes and 2 * votes >= k else None


def ut_debug(model: MadeUp, n: int, k: int, m: int, vote: bool, backtrack: bool) -> Trace:
    trace = Trace()
    code = model.code
    trace.codes.append(code)
    suite = build_ut(model, code, n, k, vote, trace)
    shown: list[tuple[Code, int, float]] = []
    conversation: list[Any] = []
    discarded = 0
    for round in range(1, m + 1):
        failing = [(x, y) for x, y in suite if code[x] != y]
        if not failing:
            break
        x, y = failing[discarded % len(failing)]
        request = (tuple(conversation), x, repr(y))
        again = shown.count(request)  # type: ignore[arg-type]
        shown.append(request)  # type: ignore[arg-type]
        new = model.edit(code, x, y, again)
        better = new is not None and rate(new, suite) > rate(code, suite)
        accept = new is not None and new != code and (better or not backtrack)
        trace.accepted.append(accept)
        if accept:
            code = new
            conversation.append((x, repr(y), new))
            discarded = 0
            if round < m:
                suite = build_ut(model, code, n, k, vote, trace)
        else:
            discarded += 1
        trace.codes.append(code)
    trace.codes += [code] * (m + 1 - len(trace.codes))
    return trace


def rate(code: Code, suite: list[Test]) -> float:
    return sum(1 for x, y in suite if code[x] == y) / len(suite)
