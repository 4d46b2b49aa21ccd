"""`grade_test`: what a generated unit test is worth, by what it tells apart (UTGen's objective).

A test *attacks* a faulty program where reference and program answer differently to what it asks. It
is *accurate* where what it states holds of the reference. A test that passes on anything states
nothing: one that was never seen to fail is not accurate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from refute.core.problems import Call, FunctionKey, FunctionProblem, UnitTest
from refute.errors import InputError
from refute.sandbox import Limits, Sandbox
from refute.sandbox.equality import equal
from refute.sandbox.local import LocalSandbox
from refute_lab.benches.grade import grade_tests
from refute_lab.rewards.asserts import Trial, answers_of, judge, short, trials_of, try_all
from refute_lab.rewards.task import MOST_OUTPUT, Share, Task, Test

REPEATS = 4
"""Times that a test which would be paid is run again on each program."""


@dataclass(frozen=True, slots=True)
class TestReward:
    """A test's rewards, each in [0, 1]."""

    __test__ = False  # not a test class of pytest

    attack: Share
    """Share of the faulty programs that its inputs tell from the reference."""
    accuracy: Share
    """1.0 where what it states holds of the reference; else 0.0."""
    both: Share
    """Share of the faulty programs that it attacks and fails, where it is accurate; else 0.0."""
    reason: str = ""
    """Why it is not accurate, in one line; "" where it is."""

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)


def grade_test(
    test: Test | str,
    reference: str,
    faulty: str | Sequence[str],
    *,
    entry_point: str = "",
    atol: float = 0.0,
    checker: str | None = None,
    seconds: float = 2.0,
    memory: int = 1 << 30,
    box: Sandbox | None = None,
) -> TestReward:
    """Grade a test, a call with its expected output or the source of a file of asserts, against a
    reference and faulty programs. Raises `SandboxUnavailable`, and `InputError` where there is no
    faulty program, or no `entry_point` for a call.

    `atol`, `checker`, `seconds`, `memory`: see `Task`.
    """
    programs = [faulty] if isinstance(faulty, str) else list(faulty)
    if not programs:
        raise InputError("a test is graded against at least one faulty program")
    if box is None:
        with LocalSandbox() as own:
            return grade_test(
                test, reference, programs, entry_point=entry_point, atol=atol, checker=checker,
                seconds=seconds, memory=memory, box=own,
            )  # fmt: skip
    if isinstance(test, Test):
        task = Task(entry_point, (test,), "calls", atol=atol, checker=checker)
        limits = Limits(
            cpu=test.seconds or seconds, memory=test.memory or memory, output=MOST_OUTPUT
        )
        return _of_call(task, reference, programs, limits, box)
    try:
        task = Task(entry_point, (), "asserts", test, seconds=seconds, memory=memory)
        return _of_file(task, reference, programs, box)
    except InputError as error:
        return TestReward(0.0, 0.0, 0.0, short(str(error)))


def _of_call(
    task: Task, reference: str, programs: Sequence[str], limits: Limits, box: Sandbox
) -> TestReward:
    (test,) = task.tests
    stated = UnitTest(Call(test.args, test.kwargs), test.expected, raises=test.raises)
    key = FunctionKey(
        task.id, task.entry_point, reference, (), atol=task.atol, checker=task.checker
    )
    verdicts = [
        grade_tests(
            [stated], FunctionProblem("", "", "", task.entry_point, code), key, box, limits=limits
        ).verdicts[0]
        for code in programs
    ]
    accurate = all(verdict.accurate for verdict in verdicts)
    reason = "" if accurate else "the reference does not do what the test expects"
    return TestReward(
        _share([verdict.attacks for verdict in verdicts]),
        float(accurate),
        _share([verdict.both for verdict in verdicts]) if accurate else 0.0,
        reason,
    )


def _of_file(task: Task, reference: str, programs: Sequence[str], box: Sandbox) -> TestReward:
    right = trials_of(task)
    try_all(reference, right, task, box)
    right = [trial for trial in right if trial.state != "left out"]
    wrong = next((trial for trial in right if trial.state != "passed"), None)
    attacks = [_differ(right, code, task, box) for code in programs]
    if wrong is not None or not right:
        reason = wrong.reason if wrong is not None else "every test is skipped"
        return TestReward(_share(attacks), 0.0, 0.0, f"on the reference: {reason}")
    fails, failed = [], []
    for code, attacked in zip(programs, attacks, strict=True):
        trials = [Trial(trial.item, trial.asked) for trial in right]
        try_all(code, trials, task, box)
        fails.append(attacked and any(trial.state == "failed" for trial in trials))
        failed += [[trial for trial in trials if trial.state == "failed" and trial.answers]]
    if not (any(fails) or _can_fail(right, task, box)):
        return TestReward(_share(attacks), 0.0, 0.0, "it passes on anything")
    if any(_changes_its_mind(trials, task, box) for trials in (right, *failed)):
        reason = "the same answers make it pass and fail"
        return TestReward(_share(attacks), 0.0, 0.0, reason)
    return TestReward(_share(attacks), 1.0, _share(fails))


def _share(parts: Sequence[bool]) -> float:
    return sum(parts) / len(parts)


def _differ(right: Sequence[Trial], code: str, task: Task, box: Sandbox) -> bool:
    """Return whether a program answers otherwise to what the tests ask of the reference."""
    asked = [trial for trial in right if trial.asked and trial.answers]
    found = answers_of(code, asked, task, box)
    return any(
        not equal(answers, trial.answers) for answers, trial in zip(found, asked, strict=True)
    )


def _changes_its_mind(trials: Sequence[Trial], task: Task, box: Sandbox) -> bool:
    """Return whether tests end otherwise when they run again, each in a process of its own, on the
    same answers: a coin would pass on the reference and fail on the others now and then."""
    again = [replace(trial, state="") for trial in trials for _ in range(REPEATS)]
    judge(again, task, box, alone=True)
    return any(one.state != trials[index // REPEATS].state for index, one in enumerate(again))


def _can_fail(right: Sequence[Trial], task: Task, box: Sandbox) -> bool:
    """Return whether one of the tests fails where each answer to a call is another value."""
    spoilt = [
        replace(trial, answers=[*map(_spoilt, trial.answers)], state="")
        for trial in right
        if trial.answers
    ]
    judge(spoilt, task, box)
    return any(trial.state == "failed" for trial in spoilt)


def _spoilt(answer: Any) -> Any:
    match answer:
        case ("ok", value, changed):
            return ("ok", _other(value), changed)
    return answer


def _other(value: Any) -> Any:
    """Another value of the same type, so that a test cannot know it for what it is; of what is held
    by the program, and of rarer types, the same."""
    match value:
        case ("v", bool() as truth):
            return ("v", not truth)
        case ("v", None):
            return ("v", 0)
        case ("v", int() | float() | complex() as number):
            return ("v", number + 1)
        case ("v", str() as text):
            return ("v", f"{text}a")
        case ("v", bytes() as raw):
            return ("v", raw + b"a")
        case ("l" | "t" | "s" | "f" | "q" as tag, list() as parts):
            return (tag, [_other(part) for part in parts] or [("v", 1)])
        case ("d" | "C" | "O" as tag, list() as pairs):
            return (tag, [(key, _other(item)) for key, item in pairs] or [(("v", 1), ("v", 1))])
    return value
