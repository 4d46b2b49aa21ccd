"""Read the unit tests that a description states: doctests, asserts, `f(x) == y`, arrows, prose.

`read_examples` returns them with the trust that their form deserves:

- `Trust.STATED`: doctest, assert, ``f(x) == y``;
- `Trust.WORDED`: arrows, "should return", Input/Output fields, named arguments, round trips;
- `Trust.HINT`: self-tests of the code itself, and examples that contradict one another (`source`
  says which).

Values are read without executing anything; what is not a literal becomes an `Expression`.
"""

from __future__ import annotations

from dataclasses import replace

from refute.core.problems import FunctionProblem, Trust, UnitTest
from refute.function.examples.formal import asserts, doctests, self_tests
from refute.function.examples.replayed import Replayed, first_looks, replayed, witnesses
from refute.function.examples.screening import contradictions_marked, screened
from refute.function.examples.scripts import doctest_lines
from refute.function.examples.subject import (
    DescribedFunction,
    Reading,
    grounded,
    overlaps,
    subject,
    to_test,
)
from refute.function.examples.worded import (
    called_examples,
    labelled_fields,
    named_arguments,
    round_trips,
)
from refute.sandbox import Sandbox

__all__ = [
    "examples_of",
    "first_looks",
    "read_examples",
    "replayed",
    "told",
    "understood",
    "with_examples",
    "witnesses",
]

MAX_TEXT = 200_000
"""Longer descriptions and modules are read up to this many characters."""


def read_examples(description: str, entry_point: str, *, code: str | None = None) -> list[UnitTest]:
    """Unit tests stated in `description`, in the order of the text, then hints from `code`.

    `code` is the module under test: it gives the signature, the helpers and the hints. Spans of
    tests are character offsets in `description`, those of hints in `code`. Never raises for odd
    text; executes nothing.
    """
    code = code[:MAX_TEXT] if code is not None else None
    about = subject(description[:MAX_TEXT], entry_point, code)
    tests = [to_test(one, about, where="description") for one in _read(about)]
    if code is not None:
        tests += _hints(code, about)
    return contradictions_marked(tests)


def examples_of(problem: FunctionProblem) -> list[UnitTest]:
    """What a problem's description states: as it was understood, or else as its text reads."""
    if problem.examples is not None:
        return list(problem.examples)
    return read_examples(problem.description, problem.entry_point, code=problem.code)


def understood(
    problem: FunctionProblem, *, box: Sandbox
) -> tuple[FunctionProblem, tuple[str, ...]]:
    """The problem with the examples of its code's docstrings replayed, and remarks for people.

    For a problem whose description is the docstring of the code under test: what `doctest` runs is
    run, and worded examples are hints: they rank fixes and never make anything red. A task's own
    text is another thing: it was written to be met, so it is read as it stands (`read_examples`).
    Raises `SandboxUnavailable`.
    """
    found = replayed(problem, box=box)
    return with_examples(problem, found), found.notes


def with_examples(problem: FunctionProblem, found: Replayed) -> FunctionProblem:
    """The problem with its doctests as they were replayed, and what its docstring says besides."""
    worded = [replace(test, trust=Trust.HINT, confidence=0.7) for test in told(problem)]
    known = {repr(test.call) for test in found.tests}
    worded = [one for one in contradictions_marked(worded) if repr(one.call) not in known]
    examples = (*found.tests, *worded)
    return replace(problem, examples=examples, unending=found.unending)


def told(problem: FunctionProblem) -> list[UnitTest]:
    """What a docstring states outside of its doctests."""
    about = subject(problem.description[:MAX_TEXT], problem.entry_point, problem.code)
    taken = doctest_lines(about.text)
    readings = [
        one
        for one in _read(about)
        if one.kind != "doctest" and about.line(one.span[0]) not in taken
    ]
    return [to_test(one, about, where="description") for one in readings]


def _read(about: DescribedFunction) -> list[Reading]:
    readings, taken = doctests(about)
    asserted = [one for one in asserts(about) if not overlaps(one.span, taken)]
    taken += [one.span for one in asserted]
    readings = grounded([*readings, *asserted], about)
    called = called_examples(about, taken)
    taken += [one.span for one in called]
    readings += called
    for reader in (labelled_fields, named_arguments):
        for reading in reader(about):
            if not overlaps(reading.span, taken):
                readings.append(reading)
                taken.append(reading.span)
    if not readings:
        readings += round_trips(about)
    return sorted(screened(readings, about), key=lambda one: one.span)


def _hints(code: str, about: DescribedFunction) -> list[UnitTest]:
    """Self-tests of the code that fit its signature."""
    found = screened(grounded(list(self_tests(code, about)), about), about)
    lines = replace(about, text=code, plain=code)
    tests = (to_test(one, lines, where="code") for one in found)
    return [replace(test, trust=Trust.HINT, confidence=0.7) for test in tests]
