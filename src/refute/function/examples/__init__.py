"""Read the examples that a docstring or a description states as doctests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from refute.core.problems import FunctionProblem, Trust, UnitTest
from refute.function.examples.formal import doctests
from refute.function.examples.replayed import first_looks, replayed, witnesses
from refute.function.examples.subject import crosses, grounded, subject, to_test
from refute.sandbox import Sandbox

__all__ = [
    "contradictions_marked",
    "examples_of",
    "first_looks",
    "read_examples",
    "replayed",
    "understood",
    "witnesses",
]

MAX_TEXT = 200_000
"""Longer descriptions are read up to this many characters."""


def read_examples(description: str, entry_point: str, *, code: str | None = None) -> list[UnitTest]:
    """Return the doctests of `description` as unit tests, in the order of the text.

    `code` is the module under test: it gives the signature and the helpers. Spans of tests are
    character offsets in `description`. Values are read without executing anything; what is not a
    literal becomes an `Expression`. Never raises for odd text.
    """
    about = subject(description[:MAX_TEXT], entry_point, code)
    readings = grounded(doctests(about)[0], about)
    return contradictions_marked([to_test(one, about, where="description") for one in readings])


def examples_of(problem: FunctionProblem) -> list[UnitTest]:
    """Return a problem's examples; the doctests of its description where none are given."""
    if problem.examples is not None:
        return list(problem.examples)
    return read_examples(problem.description, problem.entry_point, code=problem.code)


def understood(
    problem: FunctionProblem, *, box: Sandbox
) -> tuple[FunctionProblem, tuple[str, ...]]:
    """Return the problem with the doctests of its code's docstrings replayed, and remarks for
    people. Raises `SandboxUnavailable`."""
    found = replayed(problem, box=box)
    return replace(problem, examples=found.tests, unending=found.unending), found.notes


def contradictions_marked(tests: Sequence[UnitTest]) -> list[UnitTest]:
    """One test a call: repeats go; tests that contradict each other become hints that say so.

    Tests that the sandbox cannot run or judge (`crosses`) go, too.
    """
    groups: dict[str, list[UnitTest]] = {}
    for test in filter(crosses, tests):
        groups.setdefault(repr(test.call), []).append(test)
    result = []
    for group in groups.values():
        distinct = list({_outcome(test): test for test in reversed(group)}.values())[::-1]
        certain = [test for test in distinct if test.trust < Trust.HINT]
        if len(distinct) == 1:
            result.append(min(group, key=lambda test: test.trust))
        elif len(certain) == 1:  # a hint from the code does not cast doubt on a stated example
            result += certain
        else:
            result += [
                replace(
                    test,
                    trust=Trust.HINT,
                    confidence=0.4,
                    source=f"{test.source} (contradicted by {_other(test, distinct).source})",
                )
                for test in distinct
            ]
    return result


def _outcome(test: UnitTest) -> str:
    if test.raises is not None:
        return f"raises {test.raises}"
    value = test.expected
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"number {float(value)!r}" if number and abs(value) < 2**53 else repr(value)


def _other(test: UnitTest, group: Sequence[UnitTest]) -> UnitTest:
    return next(other for other in group if other is not test)
