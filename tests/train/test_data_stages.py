"""The stages: faults, inputs that tell them apart, rationales, rows; and going on after a stop."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.core.methods import Context
from refute.core.problems import Call, Expression
from refute.core.registry import METHODS
from refute.errors import InputError, ModelUnavailable
from refute.function.llm.options import Options
from refute.models.contract import Completion, Message, Sampling
from refute.models.session import Session
from refute.prompts import PAPER, prompts_from, render
from refute.sandbox import Program, Returned
from refute.sandbox.pool import SandboxPool
from refute.testing.models import ScriptedModel
from refute_lab.datasets import load
from refute_lab.train.data import BuiltData, DataSettings, build
from refute_lab.train.filters import Index, Raw, Solution, admitted
from refute_lab.train.stages import (
    AttackingInput,
    Fault,
    Rationale,
    TrainingAnswer,
    corrupted_by_model,
    corrupted_by_mutation,
    hypothesis_of_change,
    inputs_by_model,
    inputs_by_search,
    rationale,
    reads_back,
    said_before,
    training_completion,
    training_prompt,
)

ABOVE = '''LIMIT = 10


def above(numbers: list[int], limit: int = LIMIT) -> list[int]:
    """The numbers above the limit, in their order."""
    kept = []
    for number in numbers:
        if number > limit:  # strictly
            kept.append(number)
    return kept
'''
SOURCE = {"id": "above", "description": "The numbers above the limit.", "solution": ABOVE}
FENCE = "`" * 3
SAMPLING = Sampling()
NONE = Index([])


def solution(code: str = ABOVE, description: str = "The numbers above the limit.") -> Solution:
    found = admitted(Raw("above", description, code, False))
    assert isinstance(found, Solution), found
    return found


FAULT = Fault(ABOVE.replace("number > limit", "number >= limit"), "mutation")


def asking(answer: Any) -> tuple[Session, ScriptedModel]:
    model = ScriptedModel(answer)
    return Session(model), model


def outputs(pool: SandboxPool, code: str, calls: Sequence[str]) -> list[Any]:
    found = asyncio.run(pool.run(Program(code, "above"), [Expression(call) for call in calls]))
    return [one.value if isinstance(one, Returned) else one for one in found]


# -- stage I ---------------------------------------------------------------------------------------


def test_mutations_are_wrong_for_some_inputs_and_the_same_for_a_seed(pool: SandboxPool) -> None:
    made = asyncio.run(corrupted_by_mutation(solution(), 2, box=pool, seed=3))
    again = asyncio.run(corrupted_by_mutation(solution(), 2, box=pool, seed=3))
    assert made.faults == again.faults
    assert len({fault.code for fault in made.faults}) == 2
    lists = ([], [1], [9, 10, 11], [12, 3, 40], [-5, 5, 15])
    inputs = [Call((numbers, limit)) for numbers in lists for limit in (3, 10, 11)]
    right = asyncio.run(pool.run(Program(ABOVE, "above"), inputs))
    for fault in made.faults:
        assert fault.by == "mutation"
        wrong = asyncio.run(pool.run(Program(fault.code, "above"), inputs))
        agree = sum(map(Returned.__eq__, right, wrong))
        assert 0 < agree < len(inputs), fault.code
        assert "LIMIT = 10\n\n\ndef above(numbers: list[int]," in fault.code, "as it was written"


def versions(*codes: str) -> Callable[[Sequence[Message], int], str]:
    return lambda messages, number: f"Here:\n{FENCE}python\n{codes[number]}\n{FENCE}\n"


def test_versions_of_a_model_that_are_no_faults(pool: SandboxPool) -> None:
    body = ABOVE.replace("number > limit", "number >= limit")
    session, model = asking(
        versions(
            ABOVE.replace("# strictly", "# a comment is no fault"),
            body.replace("limit: int = LIMIT", "border: int = LIMIT, limit: int = 3"),
            body.replace("# strictly", "# wrong on purpose"),
            body.replace("    kept = []", "    # BUG below\n    kept = []"),
        )
    )
    ask = session.asker("1")
    made = asyncio.run(corrupted_by_model(solution(), 2, ask=ask, box=pool, sampling=SAMPLING))
    assert made.dropped == {
        "same as the reference": 1,
        "other parameters": 1,
        "the same fault again": 1,
    }
    [fault] = made.faults
    assert fault.by == "model"
    assert "number >= limit" in fault.code
    assert "purpose" not in fault.code
    assert model.samples == 4
    assert "make no" not in model.asked[0][0].content
    assert ABOVE.strip() in model.asked[0][0].content


def test_a_version_that_does_not_load_is_dropped(pool: SandboxPool) -> None:
    broken = ABOVE.replace("LIMIT = 10", "LIMIT = 10 / 0").replace("> limit", ">= limit")
    session, _ = asking(lambda messages, number: f"{FENCE}python\n{broken}\n{FENCE}")
    ask = session.asker("1")
    made = asyncio.run(corrupted_by_model(solution(), 1, ask=ask, box=pool, sampling=SAMPLING))
    # The function alone is taken over: what it needs stays as the reference has it.
    assert all("10 / 0" not in fault.code for fault in made.faults) or made.dropped


# -- stage II --------------------------------------------------------------------------------------


def test_the_search_finds_inputs_and_the_reference_their_outputs(pool: SandboxPool) -> None:
    made = asyncio.run(inputs_by_search(solution(), FAULT, 3, box=pool, seed=0))
    assert 1 <= len(made.kept) <= 3
    calls = [one.call for one in made.kept]
    right, wrong = outputs(pool, ABOVE, calls), outputs(pool, FAULT.code, calls)
    assert [repr(value) for value in right] == [one.output for one in made.kept]
    assert all(a != b for a, b in zip(right, wrong, strict=True))
    assert made.dropped["does not tell fault and reference apart"] > 0


def proposal(call: str, output: str = "[]") -> str:
    return (
        f"## Hypothesis\nEquality is let in.\n\nError Pattern: a number at the limit\n\n"
        f"## Unit Test\n\n### Input Arguments\nThe limit is among them.\n"
        f"Arguments: {FENCE}{call}{FENCE}\n\n### Output\nIt is not above.\n"
        f"Output: {FENCE}{output}{FENCE}"
    )


def test_a_models_inputs_are_kept_and_its_outputs_are_not(pool: SandboxPool) -> None:
    answers = [
        proposal("above([1, 2, 3], 2)", "[2, 3]"),
        proposal("above(numbers=[1, 2, 3], limit=2)"),
        proposal("above([1], 2)"),
        proposal("above(5, 2)"),
        "no idea",
    ]
    session, model = asking(lambda messages, number: answers[number])
    made = asyncio.run(
        inputs_by_model(solution(), FAULT, 5, ask=session.asker("1"), box=pool, sampling=SAMPLING)
    )
    assert [(one.call, one.output) for one in made.kept] == [("above([1, 2, 3], 2)", "[3]")]
    assert made.dropped == {
        "the same input again": 1,
        "does not tell fault and reference apart": 1,
        "not valid for the reference": 1,
        "unreadable: no-call": 1,
    }
    assert model.requests == 1


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("SEEN = []\n\ndef f(x):\n    SEEN.append(x)\n    return len(SEEN)\n", "not deterministic"),
        ("def f(x):\n    return lambda: x\n", "output has no source"),
        ("def f(x):\n    return [x] * 5000\n", "output too long"),
    ],
)
def test_references_that_give_no_unit_test(code: str, reason: str, pool: SandboxPool) -> None:
    found = solution(code, "Do it.")
    fault = Fault("def f(x):\n    return -1\n", "mutation")
    session, _ = asking(lambda messages, number: f"Arguments: {FENCE}f({number}){FENCE}")
    made = asyncio.run(
        inputs_by_model(found, fault, 2, ask=session.asker("1"), box=pool, sampling=SAMPLING)
    )
    assert made.kept == []
    assert sum(count for why, count in made.dropped.items() if reason in why) >= 1, made.dropped


# -- stage III -------------------------------------------------------------------------------------

ATTEMPT = AttackingInput("above([1, 2, 3], 2)", "[3]", "search")


def reasons(pool: SandboxPool, *answers: str | Completion) -> Rationale:
    session, _ = asking(lambda messages, number: answers[number])
    return asyncio.run(
        rationale(solution(), ATTEMPT, ask=session.asker("1"), box=pool, sampling=SAMPLING)
    )


def ending(output: str, text: str = "Only 3 is above 2.") -> str:
    return f"{text}\n\nOutput: {FENCE}{output}{FENCE}"


def test_a_rationale_that_ends_in_the_right_value(pool: SandboxPool) -> None:
    made = reasons(pool, ending("[3]"))
    assert made.text == "Only 3 is above 2."
    assert not made.dropped


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ending("[2, 3]"), "contradicts the output"),
        (ending("(3,)"), "contradicts the output"),
        (ending("[3.0]"), "contradicts the output"),
        (ending("[3]", f"{FENCE}python\ndef above(n, m):\n    pass\n{FENCE}"), "codes the task up"),
        (ending("[3]", "Since the given output is [3], fine."), "speaks of the output as given"),
        (ending("three of them"), "its last value cannot be read"),
        ("Only 3 is above 2, so [3].", "no reasoning that ends with an output"),
        (f"Output: {FENCE}[3]{FENCE}", "no reasoning that ends with an output"),
        (Completion(ending("[3]"), "length"), "cut off"),
    ],
)
def test_rationales_that_fall_out(answer: Any, reason: str, pool: SandboxPool) -> None:
    made = reasons(pool, answer, ending("[3]", "The second try."))
    assert made.dropped == {reason: 1}
    assert made.text == "The second try."


def test_the_hypothesis_of_a_change() -> None:
    found = hypothesis_of_change(ABOVE, FAULT.code)
    wrong, right = "if number >= limit:  # strictly", "if number > limit:  # strictly"
    assert found.reason == f"The code has `{wrong}` where the task needs `{right}`."


# -- rows ------------------------------------------------------------------------------------------


def test_the_prompt_is_what_the_method_asks(pool: SandboxPool) -> None:
    """Byte equality with inference: the method is run, and what it sends is compared."""
    tricky = solution(ABOVE, f"{{{{ not a variable }}}} {{% raw %}} <b> & {FENCE}  é\n\n   x\n")
    fault = Fault(FAULT.code, "mutation")
    session, model = asking(lambda messages, number: "")
    problem = tricky.problem(fault.code)
    ctx = Context(model=session.asker("1"), sandbox=pool)
    asyncio.run(METHODS.get("utgen")(problem, ctx=ctx, options=Options(n=1, m=0)))
    [message] = model.asked[0]
    assert training_prompt(tricky, fault).encode() == message.content.encode()


def test_the_completion_has_the_form_that_the_prompt_asks_for(pool: SandboxPool) -> None:
    said = said_before(proposal("above([1, 2, 3], 2)"))
    assert said is not None
    hypothesis, about = said
    text = training_completion(ATTEMPT, TrainingAnswer(hypothesis, about, "Only 3 is above 2."))
    assert text == proposal("above([1, 2, 3], 2)", "[3]").replace(
        "It is not above.", "Only 3 is above 2."
    )
    form = render(
        "failing_test", signature="f(x)", description="d", entry_point="f", code="c"
    ).partition("Answer in this form:")[2]
    headings = [line for line in form.split("\n") if line.startswith("#")]
    assert [line for line in text.split("\n") if line.startswith("#")] == headings
    assert asyncio.run(reads_back(text, solution(), FAULT, ATTEMPT, pool))
    bare = training_completion(ATTEMPT, TrainingAnswer(None, "", ""))
    assert asyncio.run(reads_back(bare, solution(), FAULT, ATTEMPT, pool))


def test_the_papers_prompts(tmp_path: Path) -> None:
    about = {"signature": "f(x)", "description": "d", "code": "c", "call": "f(1)", "output": "2"}
    usual = render("train_rationale", **about)
    with prompts_from(PAPER):
        assert "teaching assistant" in render("train_corrupt", **about)
        shown = render("train_rationale", **about)
    assert shown != usual
    example, _, own = shown.partition("Now the one to be explained.")
    assert "check(" in example
    assert example.rstrip().endswith(f"Output: {FENCE}False{FENCE}")
    assert "`f(1)`" in own
    (tmp_path / "train_rationale.jinja").write_text("mine")
    with prompts_from(tmp_path, PAPER):
        assert render("train_rationale", **about) == "mine"
        assert "teaching assistant" in render("train_corrupt", **about)


def test_reasoning_that_leads_the_reader_astray_is_noticed(pool: SandboxPool) -> None:
    astray = f"Compare Arguments: {FENCE}above([7], 1){FENCE}, for which\nOutput: {FENCE}[7]{FENCE}"
    text = training_completion(ATTEMPT, TrainingAnswer(None, "", astray))
    assert not asyncio.run(reads_back(text, solution(), FAULT, ATTEMPT, pool))


# -- all of it -------------------------------------------------------------------------------------


def teacher(messages: Sequence[Message], number: int) -> str:
    """Writes faults, inputs and rationales about `above`; some of each are of no use."""
    text = messages[-1].content
    if "## Correct code" in text:
        change = ("number >= limit", "number < limit", "number > limit")[number % 3]
        return f"{FENCE}python\n{ABOVE.replace('number > limit', change)}{FENCE}"
    if "somebody arrives at this value" in text:
        value = text.split("this value:")[1].split(f"{FENCE}python\n")[1].split(f"\n{FENCE}")[0]
        return ending(value if number or "[5" not in text else "0", "The others are not above.")
    return proposal(("above([1, 2], 2)", "above([5, 9], 5)", "above([], 1)")[number % 3])


def make(
    pool: SandboxPool, tmp_path: Path, name: str, answer: Any, **settings: Any
) -> tuple[BuiltData, ScriptedModel]:
    (tmp_path / "rows.jsonl").write_text(json.dumps(SOURCE) + "\n")
    session, model = asking(answer)
    chosen = DataSettings(**{"by_model": 1.0, "inputs": "model", "rationales": "model", **settings})

    async def run() -> BuiltData:
        async with session:
            return await build(
                str(tmp_path / "rows.jsonl"),
                tmp_path / name,
                chosen,
                index=NONE,
                box=pool,
                session=session,
                validation=0.0,
            )

    return asyncio.run(run()), model


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


def test_all_stages_with_a_model(pool: SandboxPool, tmp_path: Path) -> None:
    built, _ = make(pool, tmp_path, "out", teacher)
    assert [(stage.taken, stage.made) for stage in built.stages] == [(1, 1), (1, 2), (2, 4), (4, 4)]
    assert built.stages[2].dropped == {
        "the same input again": 4,
        "does not tell fault and reference apart": 2,
    }
    assert built.stages[3].dropped == {"contradicts the output": 2}
    lines = [json.loads(line) for line in (tmp_path / "out" / "train.jsonl").open()]
    assert lines == built.rows
    faults = [json.loads(line) for line in (tmp_path / "out" / "stage1.jsonl").open()]
    for line in lines:
        number = int(line["id"].partition("#")[2].partition(".")[0])
        fault = Fault(faults[number - 1]["code"], "model")
        found = admitted(Raw("above", SOURCE["description"], ABOVE, False))
        assert isinstance(found, Solution)
        assert line["prompt"] == training_prompt(found, fault)
        assert "The others are not above." in line["completion"]


@pytest.mark.parametrize("stop", [1, 3, 5, 8])
def test_a_stopped_run_goes_on(stop: int, pool: SandboxPool, tmp_path: Path) -> None:
    """The model fails after some answers; the next start asks for the rest, and no more."""
    whole, undisturbed = make(pool, tmp_path, "whole", teacher)
    given: Counter[tuple[str, int]] = Counter()

    def failing(messages: Sequence[Message], number: int) -> str:
        if sum(given.values()) >= stop:
            raise ModelUnavailable("gone")
        given[messages[-1].content, number] += 1
        return teacher(messages, number)

    with pytest.raises(ModelUnavailable, match="gone"):
        make(pool, tmp_path, "stopped", failing)
    counted = set(given)

    def counting(messages: Sequence[Message], number: int) -> str:
        given[messages[-1].content, number] += 1
        return teacher(messages, number)

    built, _ = make(pool, tmp_path, "stopped", counting)
    assert built.rows == whole.rows
    assert files(tmp_path / "stopped") == files(tmp_path / "whole")
    assert len(given) == undisturbed.samples
    assert counted <= set(given)
    _, third = make(pool, tmp_path, "stopped", teacher)
    assert third.samples == 0


def test_other_settings_need_another_directory(pool: SandboxPool, tmp_path: Path) -> None:
    make(pool, tmp_path, "out", teacher)
    with pytest.raises(InputError, match="seed = 0, not 1"):
        make(pool, tmp_path, "out", teacher, seed=1)


def test_mix_fills_up_with_mutations(pool: SandboxPool, tmp_path: Path) -> None:
    built, _ = make(
        pool,
        tmp_path,
        "out",
        lambda m, n: "sorry",
        by_model=0.5,
        inputs="search",
        rationales="none",
    )
    assert built.stages[1].made == 2
    assert built.stages[1].dropped["no program"] >= 1
    assert {row["fault_by"] for row in built.rows} == {"mutation"}


def test_without_a_model_and_held_out_problems(pool: SandboxPool, tmp_path: Path) -> None:
    other = {
        "id": "odd",
        "description": "Count the odd numbers.",
        "solution": "def odd(numbers):\n    return sum(n % 2 for n in numbers)\n",
    }
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in (SOURCE, other)))

    def run(limit: int | None) -> BuiltData:
        settings = DataSettings()
        return asyncio.run(
            build(str(source), tmp_path / "out", settings, index=NONE, box=pool, limit=limit)
        )

    first = run(1)
    assert [one.id for one in first.solutions] == ["above"]
    assert first.rows
    assert not first.validation
    both = run(None)
    assert [one.id for one in both.solutions] == ["above", "odd"]
    held = {row["id"].partition("#")[0] for row in both.validation}
    assert len(held) == 1, "a small source holds one solution out as well"
    assert held.isdisjoint(row["solution"] for row in both.rows)
    problems = load(tmp_path / "out" / "validation.jsonl")
    assert len(problems) == len(both.validation) >= 1
    for item in problems:
        name = item.key.entry_point
        calls = [Call(args) for args in item.key.inputs]
        right, wrong = (
            asyncio.run(pool.run(Program(code, name), calls))
            for code in (item.key.reference, item.problem.code)
        )
        assert right
        assert all(a != b for a, b in zip(right, wrong, strict=True))


def test_a_model_has_to_be_there(tmp_path: Path, pool: SandboxPool) -> None:
    settings = DataSettings(rationales="model")
    with pytest.raises(InputError, match="name it with --model"):
        asyncio.run(build("x", tmp_path, settings, index=NONE, box=pool))
