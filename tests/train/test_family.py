"""The family of small tasks: its words, code and values agree, and its parts are apart."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest

from refute.function.grade import grade_tests
from refute.function.llm.answers import read_test
from refute.literals import read_literal
from refute.problems import Call, Trust, UnitTest
from refute.sandbox import Limits, Program, Returned, Sandbox
from refute.sandbox.local import LocalSandbox
from refute.train.synthetic.corpus import USUAL, corpus, utgen_rows
from refute.train.synthetic.family import (
    ENTRY_POINT,
    KINDS,
    Task,
    part_of,
    random_input,
    tasks,
)


@pytest.fixture(scope="module")
def box() -> Sandbox:
    with LocalSandbox() as opened:
        yield opened


def some(count: int, seed: int = 0) -> list[Task]:
    return list(islice(tasks(random.Random(seed), faulty=True), count))


def test_the_code_does_what_the_steps_say(box: Sandbox) -> None:
    rng = random.Random(0)
    operations = set()
    for task in some(60):
        operations |= {step.operation for step in task.made}
        inputs = [random_input(task.kind, rng) for _ in range(5)]
        for version in (task, task.right):
            outcomes = box.run(
                Program(version.code, ENTRY_POINT), [Call((x,)) for x in inputs], Limits(cpu=2.0)
            )
            for value, outcome in zip(inputs, outcomes, strict=True):
                assert isinstance(outcome, Returned)
                assert outcome.value == version.trace(value)[-1], version.code
    assert len(operations) == 15, "every operation was looked at"


def test_thousands_of_tasks_in_three_parts() -> None:
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    descriptions: dict[str, str] = {}
    for part in ("train", "validation", "test"):
        for task in islice(tasks(random.Random(1), faulty=False, part=part), 3000):
            found[task.kind][task.description] += 1
            assert descriptions.setdefault(task.description, part) == part, "in one part only"
            assert part_of(task) == part
    assert sum(map(len, found.values())) > 4000
    assert all(found.values())


def test_rows_of_utgen_attack_and_are_right(box: Sandbox) -> None:
    """Read by the reader that is used at inference, judged by the grader."""
    seen = 0
    known: dict[tuple[str, str], Task] = {}
    for task in some(3000, seed=3):
        known.setdefault((task.description, task.code), task)
    for row in utgen_rows(random.Random(3), 40):
        said = read_test(row.completion, ENTRY_POINT)
        assert said.call is not None
        assert said.output is not None
        assert said.output.node is not None
        [argument] = said.call.args
        test = UnitTest(
            Call((read_literal(argument),)), read_literal(said.output.node), trust=Trust.PREDICTED
        )
        task = next(
            (t for (words, code), t in known.items() if words in row.prompt and code in row.prompt),
            None,
        )
        if task is not None:
            seen += 1
            [verdict] = grade_tests([test], task.problem(), task.key(), box).verdicts
            assert verdict.both, (task.code, row.completion)
    assert seen >= 10


def test_the_corpus_has_the_habits_that_it_says() -> None:
    rows = list(islice(corpus(random.Random(0)), 2000))
    faulty = [row for row in rows if "## Code" in row.prompt]
    assert len(faulty) == len(rows) // 2
    diagnosed = sum("The code:" in row.completion for row in faulty) / len(faulty)
    assert diagnosed == pytest.approx(USUAL.diagnoses, abs=0.05)
    assert all("## Hypothesis" not in row.completion for row in rows if "## Code" not in row.prompt)
