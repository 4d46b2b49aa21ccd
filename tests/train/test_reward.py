"""What a generated test is paid: by the verdict, whatever the model writes. No torch is needed."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from refute.core.problems import FunctionKey, FunctionProblem
from refute.errors import InputError, SandboxUnavailable
from refute.sandbox.pool import SandboxPool
from refute_lab.benches.grade import TestVerdict
from refute_lab.datasets import Item
from refute_lab.train import GrpoSettings
from refute_lab.train.grpo import Credits, Sampled, paid, read_sampled, reward_for

RIGHT = "LIMIT = 3\n\n\ndef cap(number):\n    return min(number, LIMIT)\n"
WRONG = RIGHT.replace("min(number, LIMIT)", "number")
FENCE = "`" * 3


def item(reference: str = RIGHT, code: str = WRONG) -> Item:
    problem = FunctionProblem("p", "At most 3.", "def cap(number)", "cap", code)
    return Item(problem, FunctionKey("p", "cap", reference, ((9,),)))


def said(call: str, output: str) -> str:
    return f"Arguments: {FENCE}{call}{FENCE}\nOutput: {FENCE}{output}{FENCE}"


EQUAL = "type('E', (), {'__eq__': lambda *_: True, '__hash__': lambda s: 0})()"
ANSWERS = {
    said("cap(9)", "3"): 1.0,
    said("cap(2 + 7)", "3"): 1.0,
    said("cap(9)", "9"): 0.2,
    said("cap(9)", "what else"): 0.2,
    said("cap(2)", "2"): 0.1,
    said("cap(2)", "5"): 0.0,
    "no test": 0.0,
    "": 0.0,
    # Written to be paid without being right.
    said("cap(9)", EQUAL): 0.2,
    said(f"cap({EQUAL})", "3"): 0.0,
    said("cap(9)", "cap(9)"): 0.2,
    said("cap(9)", "__import__('os')._exit(0)"): 0.2,
    said("cap(exit())", "3"): 0.0,
    said("cap((lambda: (_ for _ in ()).throw(SystemExit))())", "3"): 0.0,
    said("cap(9 if cap.__code__.co_names else LIMIT)", "3"): 0.0,
    said("cap(LIMIT)", "3"): 0.0,
    said("cap('x')", "raises TypeError"): 0.0,
    said("cap(None)", EQUAL): 0.0,
    f"{said('cap(9)', '9')}\n{said('cap(9)', '3')}": 1.0,  # the last test is the one that counts
}


def rewards(pool: SandboxPool, answers: list[object], of: Item, credits: Credits) -> list[float]:
    verdict = reward_for({"p": of}, pool, credits)
    return asyncio.run(
        verdict(completions=answers, problem=["p"] * len(answers), prompts=[], completion_ids=[])
    )


def test_answers_are_paid_by_the_verdict(pool: SandboxPool) -> None:
    answers: list[object] = list(ANSWERS)
    answers[0] = [{"role": "assistant", "content": answers[0]}]  # as TRL hands them over
    found = rewards(pool, answers, item(), Credits(attack=0.2, right=0.1))
    assert dict(zip(ANSWERS, found, strict=True)) == ANSWERS


def test_a_reference_that_rolls_dice_pays_nobody(pool: SandboxPool) -> None:
    dice = "SEEN = []\n\n\ndef cap(number):\n    SEEN.append(1)\n    return len(SEEN)\n"
    [found] = rewards(pool, [said("cap(9)", "1")], item(dice), Credits(0.5, 0.5))
    assert found == 0.0


def test_what_cannot_be_graded_is_paid_nothing_and_no_sandbox_is_an_error(
    pool: SandboxPool, caplog: pytest.LogCaptureFixture
) -> None:
    odd = replace(item(), key=replace(item().key, contract="no ( Python"))
    with caplog.at_level("INFO", "refute"):
        assert rewards(pool, [said("cap(9)", "3")], odd, Credits()) == [0.0]
    assert "p: an answer is paid nothing: ValueError" in caplog.text
    closed = SandboxPool(1)
    closed.close()
    with pytest.raises(SandboxUnavailable):
        rewards(closed, [said("cap(9)", "3")], item(), Credits())


def test_half_a_success_is_paid_nothing_unless_it_is_said() -> None:
    attack, right = TestVerdict(True, True, False), TestVerdict(True, False, True)
    assert (paid(attack), paid(right), paid(TestVerdict(True, True, True))) == (0.0, 0.0, 1.0)
    assert (paid(attack, Credits(0.3, 0.1)), paid(right, Credits(0.3, 0.1))) == (0.3, 0.1)


SUITES = {
    "assert cap(9) == 3\nassert cap(2) == 2": (0.25, 0.85 / 2 + 0.05 * 2 / 12),
    "assert cap(9) == 3\nassert cap(9) == 3\nassert cap(-4) == -4": (0.5, 0.85 + 0.05 * 2 / 12),
    "assert cap(9) == 9": (0.0, 0.0),  # a wrong program passes it: below 0 in the paper
    "assert cap(9)": (0.0, 0.0),
    "no tests": (0.0, 0.0),
}
NEGATIVE = RIGHT.replace("min(number, LIMIT)", "min(abs(number), LIMIT)")


@pytest.mark.parametrize("kind", ["cure", "utrl"])
def test_suites_are_paid_by_sampled_programs(pool: SandboxPool, kind: str) -> None:
    programs = [RIGHT.replace("LIMIT", "MOST"), WRONG, NEGATIVE]
    sampled = Sampled(kind, {"p": programs[kind == "utrl" :]})
    key = FunctionKey("p", "cap", "" if kind == "cure" else RIGHT, ((9,), (-4,)), (3, -4))
    pay = reward_for({"p": replace(item(), key=key)}, pool, sampled=sampled)
    found = asyncio.run(pay(completions=list(SUITES), problem=["p"] * len(SUITES)))
    wanted = [pair[kind == "utrl"] / (1 if kind == "cure" else 0.9) for pair in SUITES.values()]
    assert found == pytest.approx(wanted)


def test_suites_need_sampled_programs(tmp_path: Path) -> None:
    data = tmp_path / "problems.jsonl"
    data.write_text('{"id": "p", "programs": ["def cap(n): return n"]}\n{"id": "q"}\n')
    with pytest.raises(InputError, match="q: no `programs`"):
        read_sampled(data, "cure")
    assert read_sampled(data, "verdict") is None
    with pytest.raises(InputError, match="reward = x: must be one of verdict"):
        GrpoSettings(model="m", reward="x")
