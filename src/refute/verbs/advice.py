"""What to do next: the last line of every result, on a terminal and for agents.

By the names of the results' classes, so that a verb loads no other verb's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refute.core.remarks import remark

if TYPE_CHECKING:
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


def next_step(found: Any) -> str:
    """Return what to do after a result, in a line; "" for nothing."""
    step = _STEPS.get(type(found).__name__)
    return step(found) if step else ""


def say_next(found: Any) -> None:
    """Remark what to do after a result."""
    remark(f"next: {line}" for line in [next_step(found)] if line)


def _after_hunt(found: HuntResult) -> str:
    wrong = _first(found, "wrong")
    return f"`refute debug {wrong}` looks for a fix" if wrong else _without_examples(found)


def _after_debug(found: DebugResult) -> str:
    if _first(found, "proposed") and not found.proposed:
        return "check the proposed fix: answer with --ask, or add a test and name it with --tests"
    if found.diff:
        return "apply the diff (--write), then run `refute gate`"
    if wrong := _first(found, "wrong"):
        return f"no fix was found of {wrong}: try a longer --budget, or a --model"
    return _without_examples(found)


def _first(found: HuntResult | DebugResult, state: str) -> str:
    """The target that the first function of a state is; "" where there is none."""
    from refute.function.verbs import Fix

    for module, one in found.collected.results:
        if one.state == state:
            name = one.hunt.function if isinstance(one, Fix) else one.function
            return f"{module.source.path}::{name}"
    return ""


def _without_examples(found: HuntResult | DebugResult) -> str:
    without = sum(one == "cannot tell" for one in found.collected.states)
    if not without:
        return "after a change, `refute gate` shows whether it is done"
    many = f"{without} functions have" if without > 1 else "1 function has"
    return (
        f"{many} no examples or tests (-v lists them): add a doctest (`>>> f(2)`, and below it what"
        " that returns), or name tests with --tests PATH"
    )


def _after_diff(found: DiffResult) -> str:
    if found.unexplained:
        return "if it is meant, say so in a test or docstring; --pin writes a test of either side"
    return "`refute gate` shows whether the change is done"


def _after_reproduce(found: ReproduceResult) -> str:
    if found.failing:
        return "fix the code until the test passes, then run `refute gate`"
    return "add to the issue a call as in a session (`>>> f(2)`) and what it should return"


def _after_vet(found: VetResult) -> str:
    return _AFTER_VET[found.verdict]


def _after_gate(found: GateResult) -> str:
    if found.passed:
        return "commit"
    return "change the code or the tests, then run `refute gate` again"


_STEPS: dict[str, Any] = {
    "HuntResult": _after_hunt,
    "DebugResult": _after_debug,
    "DiffResult": _after_diff,
    "ReproduceResult": _after_reproduce,
    "VetResult": _after_vet,
    "GateResult": _after_gate,
}
