"""What to do next: the last line of every result, on a terminal and for agents."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from refute.function.contract import State
from refute.function.source import diff_name
from refute.function.verbs import Fix
from refute.verbs.diff import DiffResult
from refute.verbs.functions import DebugResult, HuntResult
from refute.verbs.gate import GateResult
from refute.verbs.issues import ReproduceResult, VetResult

_AFTER_VET = {
    "fixed": "apply the patch (`git apply`)",
    "not fixed": "change the patch until the tests above pass, and run this again",
    "breaks tests": "change the patch so that the broken tests pass, and run this again",
    "does not apply": "make the patch again with `git diff`; if the checkout has it already, name"
    " the commit before it with --against HEAD",
    "cannot tell": "give a test that fails without the patch, with --tests",
}
"""Verdict -> what to do."""


@singledispatch
def next_step(found: Any) -> str:
    """Return what to do after a result, in a line; "" for nothing."""
    return ""


@next_step.register
def _(found: HuntResult) -> str:
    wrong = _first(found, State.WRONG)
    return f"`refute debug {wrong}` looks for a fix" if wrong else _without_examples(found)


@next_step.register
def _(found: DebugResult) -> str:
    if _first(found, State.PROPOSED) and not found.proposed:
        return "check the proposed fix: answer with --ask, or add a test and name it with --tests"
    if found.diff:
        return "apply the diff (--write), then run `refute gate`"
    if wrong := _first(found, State.WRONG):
        return f"no fix was found of {wrong}: try a longer --budget, or a --model"
    return _without_examples(found)


def _first(found: HuntResult | DebugResult, state: State) -> str:
    """The target that the first function of a state is; "" where there is none."""
    for module, one in found.collected.results:
        if one.state is state:
            name = one.hunt.function if isinstance(one, Fix) else one.function
            return f"{diff_name(module.source.path)}::{name}"
    return ""


def _without_examples(found: HuntResult | DebugResult) -> str:
    without = found.collected.states.count(State.CANNOT_TELL)
    if not without:
        return "after a change, `refute gate` shows whether it is done"
    return (
        "add a doctest to a function (`>>> f(2)`, and below it what that returns), or name tests"
        " with --tests PATH"
    )


@next_step.register
def _(found: DiffResult) -> str:
    if found.unexplained:
        return "if it is meant, say so in a test or docstring; --pin writes a test of either side"
    return "`refute gate` shows whether the change is done"


@next_step.register
def _(found: ReproduceResult) -> str:
    if found.failing:
        return "fix the code until the test passes, then run `refute gate`"
    return "add to the issue a call as in a session (`>>> f(2)`) and what it should return"


@next_step.register
def _(found: VetResult) -> str:
    return _AFTER_VET[found.verdict]


@next_step.register
def _(found: GateResult) -> str:
    if found.passed:
        return "commit"
    return "change the code or the tests, then run `refute gate` again"
