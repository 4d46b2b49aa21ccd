"""The rules of the gate, and what is found against them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from refute.errors import InputError

GateVerdict = Literal["proven", "not proven", "nothing against it", "nothing to prove"]
"""`nothing against it`: no rule is broken, and `red-first` was left out; `nothing to prove`: no
code changed."""
Turn = Literal["red to green", "green before", "red now", "broken", "not run"]
"""What became of a test: failed and passes; passed already; fails as before; passed and fails; it
did not run in one of the states (skipped, not there, the run ended before it)."""
Rule = Literal[
    "red-first", "green-now", "no-regression", "no-test-lost", "no-skip", "not-weakened",
    "expected-said", "no-runner-change", "not-vacuous", "no-patching", "no-special-case",
    "nothing-else", "issue-fixed",
]  # fmt: skip

RULES: dict[Rule, str] = {
    "red-first": "a change of code brings a test that was red and is green, by what the code does",
    "green-now": "the tests that the change adds or changes pass on the new code",
    "no-regression": "no test that passed on the old code fails on the new",
    "no-test-lost": "no test is gone without a word, unless others notice what it noticed",
    "no-skip": "no test that ran is skipped, and none is expected to fail",
    "not-weakened": "what a test noticed is noticed still, or somebody says why not",
    "expected-said": "an expected value changes only where docstring, issue or message says so",
    "no-runner-change": "no test passes by what decides how tests run (fixtures may be added)",
    "not-vacuous": "no new test passes whatever its calls return",
    "no-patching": "no test turns by another function in the place of the changed one",
    "no-special-case": "the change is for more than the tests' own values, and not for tests alone",
    "nothing-else": "no other function behaves otherwise without a test or a word of it",
    "issue-fixed": "with --issue: a test of the issue's own fails on the old code and passes now",
}
"""Each rule, with what it asks for."""
ALWAYS: frozenset[Rule] = frozenset({"green-now"})
"""Rules that cannot be left out: without them nothing is shown."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something against a rule."""

    rule: Rule
    where: str
    """A test's id, or `path:line`."""
    what: str
    """One line for people, and for the agent that is to mend it."""
    shown: bool = False
    """Whether tests that were run show it; else it was found by reading."""


@dataclass(frozen=True, slots=True)
class Lost:
    """What a test noticed and no test does any more."""

    test: str
    what: str
    called: str
    """The function's name."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What the tests as they were noticed, beside what they notice now."""

    lost: tuple[Lost, ...] = ()
    kept: frozenset[str] = frozenset()
    """Names of tests of whose calls everything is noticed that was."""


def chosen_rules(without: Collection[str] = (), only: Collection[str] = ()) -> frozenset[Rule]:
    """The rules that hold. Raises `InputError` for a name that is none."""
    names = {str(rule): rule for rule in RULES}
    for name in (*without, *only):
        if name not in names:
            import difflib

            near = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(names)}"
            raise InputError(f"{name}: no such rule of the gate{hint}")
    dropped = ALWAYS & set(without)
    if dropped:
        raise InputError(f"{', '.join(sorted(dropped))}: this rule cannot be left out")
    kept = {rule for name, rule in names.items() if not only or name in only} | ALWAYS
    return frozenset(kept - {names[name] for name in without})
