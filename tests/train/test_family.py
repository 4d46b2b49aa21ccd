"""The family of small tasks: its words, code and values agree, and its parts are apart."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest
from synthetic.corpus import SORTS, USUAL, answer, attacking_input, corpus
from synthetic.family import ENTRY_POINT, SyntheticTask, part_of, random_input, tasks
from synthetic.steps import KINDS

from refute.core.problems import Call, Trust, UnitTest
from refute.function.llm.answers import read_output, read_test
from refute.function.llm.code_extraction import read_program
from refute.sandbox import Limits, Program, Sandbox
from refute.source.literals import read_literal, source_of
from refute_lab.benches.grade import grade_tests


def some(count: int, seed: int = 0) -> list[SyntheticTask]:
    return list(islice(tasks(random.Random(seed), faulty=True), count))


def test_the_code_does_what_the_steps_say(box: Sandbox) -> None:
    rng = random.Random(0)
    operations = set()
    for task in some(120):
        operations |= {step.operation for step in task.made}
        inputs = [random_input(task.kind, rng) for _ in range(3)]
        for version in (task, task.right):
            outcomes = box.run(
                Program(version.code, ENTRY_POINT), [Call((x,)) for x in inputs], Limits(cpu=2.0)
            )
            for value, outcome in zip(inputs, outcomes, strict=True):
                assert outcome.value == version.trace(value)[-1], version.code
    assert len(operations) == 16, "every operation was looked at"


def test_thousands_of_tasks_in_three_parts() -> None:
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    descriptions: dict[str, str] = {}
    for part in ("train", "bootstrap", "validation", "test"):
        for task in islice(tasks(random.Random(1), faulty=False, part=part), 3000):
            found[task.kind][task.description] += 1
            assert descriptions.setdefault(task.description, part) == part, "in one part only"
            assert part_of(task) == part
    assert sum(map(len, found.values())) > 4000
    assert all(found.values())


def test_answers_are_read_as_they_are_meant(box: Sandbox) -> None:
    """By the reader that is used at inference, and the grader: aimed at the fault, and right."""
    rng = random.Random(3)
    seen = 0
    for task in some(40, seed=3):
        value = attacking_input(task, rng)
        if value is None:
            continue
        said = read_test(answer(task, value, task.right, diagnosed=True), ENTRY_POINT)
        assert said.output.node is not None
        [argument] = said.call.args
        call = Call((read_literal(argument),))
        test = UnitTest(call, read_literal(said.output.node), trust=Trust.PREDICTED)
        [verdict] = grade_tests([test], task.problem(), task.key(), box).verdicts
        assert verdict.both, task.code
        seen += 1
    assert seen > 30


def test_the_corpus_has_the_habits_that_it_says() -> None:
    rows = list(islice(corpus(random.Random(0)), 2000))
    for sort, share in SORTS.items():
        assert sum(row.sort == sort for row in rows) / len(rows) == pytest.approx(share, abs=0.04)
    faulty = [row for row in rows if row.sort == "prompted"]
    diagnosed = sum("The code:" in row.completion for row in faulty) / len(faulty)
    assert diagnosed == pytest.approx(USUAL.diagnoses, abs=0.05)
    assert all("## Hypothesis" not in row.completion for row in rows if row.sort == "random")


def test_rationales_and_slips_pass_the_checks_of_the_pipeline() -> None:
    seen = {"corrupt": 0, "rationale": 0}
    for row in islice(corpus(random.Random(5)), 200):
        if row.sort == "corrupt":
            program = read_program(row.completion, ENTRY_POINT)
            assert program is not None
            assert program not in row.prompt, "a slip, not the code itself"
            compile(program, "slip", "exec")
        elif row.sort == "rationale":
            written = read_output(row.completion, ENTRY_POINT)
            assert written.node is not None
            assert source_of(read_literal(written.node)) in row.prompt, "the output that was shown"
        else:
            continue
        seen[row.sort] += 1
    assert min(seen.values()) > 10
