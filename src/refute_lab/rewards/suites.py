"""Suites of tests, paid by what they do to sampled programs: CURE's and UTRL's rewards.

A suite is a file of asserts. Its programs are samples of a model, sorted into right and wrong ones
by tests that are known, so that no reference is needed; with one, it is the right program.

- *CURE* (arXiv 2506.03136; its `optimization/reward.py`): a test that holds for every right
  program is paid the share of wrong programs that it fails; any other loses the share of wrong
  programs that it passes. A suite is paid the mean of its tests, here never less than 0.
- *UTRL* (arXiv 2508.21107; its `reward.py`): the share of wrong programs that fail a valid test
  (discrimination), and valid tests over all distinct ones, of which `LEAST` at least are counted
  (validity, clipped: two tests copied from the task are no full suite). The weights, 0.85 and 0.05,
  are those of the released code; its 0.1 for the form of the answer is not paid.

What `grade_test` pays nothing for is not valid here either: a test that passes on anything, that
tosses a coin, or that looks at the program in place of what it does. Nothing is paid for a suite
without a valid test, or where no program is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refute.errors import InputError
from refute.sandbox import Sandbox
from refute.sandbox.local import LocalSandbox
from refute_lab.rewards.asserts import Trial, answers_of, short, trials_of, try_all
from refute_lab.rewards.grading import can_fail, changes_its_mind
from refute_lab.rewards.task import Share, Task

LEAST = 12
"""Tests that a suite is divided by at least (UTRL's τ, in its released code)."""
_DISCRIMINATION, _VALIDITY = 0.85, 0.05


@dataclass(frozen=True, slots=True)
class SuiteReward:
    """A suite's rewards, each in [0, 1]."""

    cure: Share
    utrl: Share
    discrimination: Share
    """Share of wrong programs that a valid test fails."""
    tests: int
    """Distinct ones."""
    valid: int
    """Of these: that hold for every right program, and can fail."""
    reason: str = ""
    """The reason why nothing is paid, in one line."""


def grade_suite(
    suite: str,
    right: Sequence[str],
    wrong: Sequence[str],
    *,
    entry_point: str = "",
    seconds: float = 2.0,
    memory: int = 1 << 30,
    box: Sandbox | None = None,
) -> SuiteReward:
    """Grade a file of asserts against sampled programs. Raises `SandboxUnavailable`.

    `seconds`, `memory`: see `Task`.
    """
    if box is None:
        with LocalSandbox() as own:
            return grade_suite(
                suite, right, wrong, entry_point=entry_point, seconds=seconds, memory=memory,
                box=own,
            )  # fmt: skip
    if not right or not wrong:
        lacking = "wrong" if right else "right"
        return SuiteReward(0.0, 0.0, 0.0, 0, 0, f"no sampled program is {lacking}")
    try:
        task = Task(entry_point, (), "asserts", suite, seconds=seconds, memory=memory)
        first, *others = [_tried(code, task, box) for code in right]
    except InputError as error:
        return SuiteReward(0.0, 0.0, 0.0, 0, 0, short(str(error)))
    missed = [_tried(code, task, box) for code in wrong]
    given = [answers_of(code, first, task, box) for code in wrong]
    told = [
        [
            _told(one, row[at], answers[at], task, box)
            for row, answers in zip(missed, given, strict=True)
        ]
        for at, one in enumerate(first)
    ]
    valid = [
        all(row[at].state == "passed" for row in (first, *others))
        and not changes_its_mind([one], task, box)
        and (any(told[at]) or can_fail([one], task, box))
        for at, one in enumerate(first)
    ]
    paid = [
        sum(told[at]) if valid[at] else -sum(row[at].state == "passed" for row in missed)
        for at in range(len(first))
    ]
    count, found = len(first), sum(valid)
    caught = sum(
        any(ok and told[at][program] for at, ok in enumerate(valid))
        for program in range(len(wrong))
    ) / len(wrong)  # fmt: skip
    utrl = _DISCRIMINATION * caught + _VALIDITY * found / max(LEAST, count)
    return SuiteReward(
        max(0.0, sum(paid) / (count * len(wrong))),
        utrl / (_DISCRIMINATION + _VALIDITY),
        caught,
        count,
        found,
        "" if found else "no test is valid",
    )


def _tried(code: str, task: Task, box: Sandbox) -> list[Trial]:
    """The distinct tests of the file, run on a program."""
    trials = list({trial.item: trial for trial in trials_of(task)}.values())
    try_all(code, trials, task, box)
    return trials


def _told(right: Trial, wrong: Trial, answers: object, task: Task, box: Sandbox) -> bool:
    """Return whether a test fails on a wrong program, and because it answers otherwise."""
    if wrong.state != "failed" or answers == right.answers:
        return False
    return not (wrong.answers and changes_its_mind([wrong], task, box))
