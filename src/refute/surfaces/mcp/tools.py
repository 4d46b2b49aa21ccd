"""The tools: what is said of each to a model, and the schemas of what it takes and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refute.results import described
from refute.surfaces.arguments import WRITING
from refute.surfaces.verbs import VERBS

INSTRUCTIONS = """\
refute proves Python code wrong with unit tests that fail, and fixes right by tests that turn
green. Code runs in a sandbox, and the checkout is not changed.
A usual order: find_failing_input (is this function wrong?), debug_function (a small fix),
check_tests_red_green (are the tests of my change red before it and green after it?), vet_patch
(does my fix resolve the issue, and what else does it do?), compare_behaviour (on which inputs does
my change behave otherwise?).
"cannot tell" and "unavailable" are no verdict on the code. No claim is made without a failing test:
where nothing says what is right (no docstring, doctest or test), add an example."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a model reads of a tool."""

    title: str
    description: str


DESCRIPTIONS = {
    "find_failing_input": Told(
        "Find a failing input",
        "Look for inputs on which Python functions are wrong, judged by their docstrings, doctests "
        "and given tests. Returns failing tests with expected and actual output, and a pytest file "
        "of them. Use it on a function that you suspect, or with `since` on what changed.",
    ),
    "debug_function": Told(
        "Fix a function",
        "Look for a small fix of Python functions that turns their failing tests green and breaks "
        "none. Returns a unified diff, how sure it is, and other fixes with an input that tells "
        "them apart. `fixed` is claimed only where a test that does not come from the search shows "
        "it.",
    ),
    "reproduce_issue": Told(
        "Reproduce an issue",
        "Write a test that fails now for the reason that an issue describes, in a private copy of "
        "the checkout. Returns it as a patch, with how it fails.",
    ),
    "vet_patch": Told(
        "Vet a patch",
        "Judge a fix (a unified diff against the checkout as it is) by tests: reproducing tests "
        "and existing tests near it are run without the fix and with it, and inputs are looked for "
        "on which it changes behaviour. Verdict: fixed, not fixed, breaks tests, does not apply or "
        "cannot tell.",
    ),
    "compare_behaviour": Told(
        "Compare behaviour",
        "Find inputs on which the functions that changed between two revisions behave otherwise, "
        "with what each side does. For `the refactoring changes nothing` and for reviews.",
    ),
    "check_tests_red_green": Told(
        "Check tests red, then green",
        "Run the tests that a change adds or edits on the code before the change and on the code "
        "after it. A test of a fix must fail before it and pass after it; one that passes before "
        "shows nothing.",
    ),
}


def input_schema(verb: str, *, writes: bool) -> dict[str, Any]:
    """JSON schema of a verb's arguments; those that write only where that is allowed."""
    schema = described(VERBS[verb].arguments)
    if not writes:
        fields = schema["properties"].items()
        schema["properties"] = {name: one for name, one in fields if name not in WRITING}
    return schema


def output_schema(verb: str) -> dict[str, Any]:
    """JSON schema of a verb's structured result."""
    return described(VERBS[verb].result)
