"""The paper's own way: presets, votes that continue an answer, other templates, exceptions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from refute.core.methods import Context
from refute.core.problems import FunctionKey, FunctionProblem
from refute.core.registry import METHODS, departures, options_of, preset_of, presets_of
from refute.errors import InputError, NotContinued
from refute.function.contract import MethodResult
from refute.function.llm.options import Options
from refute.models.asking import Asked
from refute.models.contract import Message
from refute.prompts import digest_of, prompts_from, render
from refute_lab.datasets.rows import Item, evaluated

from .scripted import TrustingBox, asker, trace_of

DOUBLE = FunctionProblem(
    "double", "Return x doubled.", "double(x)", "double", "def double(x):\n    return x * x\n"
)
UTGEN = METHODS.get("utgen")


def run(answer: object, options: Options, problem: FunctionProblem = DOUBLE) -> MethodResult:
    ctx = Context(model=asker(answer), sandbox=TrustingBox())  # type: ignore[arg-type]
    found: MethodResult = asyncio.run(UTGEN(problem, ctx=ctx, options=options))
    return found


@pytest.mark.parametrize("name", ["prompted", "no-ut"])
def test_by_the_papers_rules_an_edit_replaces_the_code(name: str) -> None:
    """No docstring of the faulty code is put into it, and no helper of another version stays."""
    described = 'def f(x):\n    """Wrong on purpose."""\n    return x\n'
    edits = [
        "def _helper(x):\n    return 3\n\n\ndef f(x):\n    return _helper(x)\n",
        "def f(x):\n    return 4 * x\n",
    ]

    def answer(messages: Sequence[Message], number: int) -> str:
        question = messages[-1].content
        if "## Unit Test" in question:
            return f"Arguments: ```f({number + 1})```\nOutput: ```{4 * number + 4}```"
        if "Does this code" in question:
            return "The above code is wrong, please fix it."
        return f"```python\n{edits[len(messages) // 2 - 1]}```"

    problem = FunctionProblem("p", "Fourfold x.", "f(x)", "f", described)
    item = evaluated(Item(problem, FunctionKey("p", "f", described, ())), "paper")
    options = METHODS.get(name).options(m=2, guard=False)
    if name == "prompted":
        options = replace(options, vote=False, backtrack=False)
    for one, after in ((problem, None), (item.problem, edits)):
        ctx = Context(model=asker(answer), sandbox=TrustingBox())
        result = asyncio.run(METHODS.get(name)(one, ctx=ctx, options=options))
        codes = trace_of(result).codes
        if after is None:
            assert "Wrong on purpose" in codes[2]
            assert "_helper" in codes[2]
        else:
            assert list(codes[1:]) == after


def test_a_preset_gives_way_to_what_is_given() -> None:
    for name in presets_of("function"):
        options = options_of(UTGEN, Asked(preset=name, set={"guard": True, "k": 5}))
        assert (options.guard, options.k, options.raises) == (True, 5, False)
    paper = options_of(UTGEN, Asked(preset="paper"))
    assert (paper.shown, paper.ties, paper.tries) == ("last", False, 9)
    assert (paper.max_tokens, paper.vote_sampling(paper.sampling(0)).max_tokens) == (8192, 2048)
    released = options_of(UTGEN, Asked(preset="released"))
    assert (released.shown, released.ties, released.tries) == ("first", True, 12)
    assert released.sampling(0).temperature == 0.7
    assert released.vote_sampling(released.sampling(0)).temperature == 0.8
    told = departures(preset_of("paper", "function"), UTGEN, {"guard"}, {"subset": "all"})
    assert "guard" not in told
    assert "raises=false (default true)" in told
    assert "shown=last (default next)" in told
    assert "subset=extractable (default all)" in told


def told(messages: Sequence[Message], number: int) -> str:
    """A model that can continue; it is right, and takes (0, 3) for inputs."""
    last = messages[-1]
    if last.role == "assistant":
        assert "### Output" not in last.content
        x = int(last.content.rpartition("double(")[2].split(")")[0])
        return f"### Output\nTwice.\nOutput: ```{2 * x}```"
    if "## Unit Test\n" in last.content:
        x = (0, 3, 4)[number % 3]
        return f"Hm.\nArguments: ```double({x})```\n\n### Output\nSay 1.\nOutput: ```1```"
    assert not last.content.startswith("Now the output")
    return "No code."


def test_a_vote_continues_the_answer() -> None:
    result = run(told, Options(vote_by="continuation", m=0))
    assert [test.expected for test in result.generated or ()] == [0, 6, 8]
    assert not any("votes" in note for note in result.notes)
    votes = [one.vote for one in trace_of(result).suites[0].attempts]
    assert all(vote is not None and vote.continued for vote in votes)


def test_a_vote_is_a_question_where_the_model_cannot_continue() -> None:
    def cannot(messages: Sequence[Message], number: int) -> str:
        if messages[-1].role == "assistant":
            raise NotContinued("it begins anew")
        if messages[-1].content.startswith("Now the output"):
            return "Output: ```6```"
        return told(messages, number)

    result = run(cannot, Options(vote_by="continuation", m=0))
    assert [test.expected for test in result.generated or ()] == [6, 6, 6]
    assert any("votes were asked for by a question" in note for note in result.notes)


@pytest.mark.parametrize(("shown", "calls"), [("next", "343"), ("first", "333"), ("last", "444")])
def test_which_failing_test_is_shown(shown: str, calls: str) -> None:
    result = run(told, Options(vote_by="continuation", shown=shown))  # type: ignore[arg-type]
    edits = trace_of(result).edits
    assert "".join(str(e.test.call.args[0]) for e in edits if e.test) == calls  # type: ignore[union-attr]


def test_templates_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "write_code.jinja"
    own.write_text("Do {{ signature }}: {{ description }}\n")
    before = digest_of(tmp_path)
    with prompts_from(tmp_path):
        assert render("write_code", signature="f(x)", description="{{ x }}") == "Do f(x): {{ x }}"
        assert "## Unit Test" in render(
            "random_test", signature="f(x)", description="d", entry_point="f"
        )
    assert not render("write_code", signature="f(x)", description="d").startswith("Do")
    own.write_text("Do {{ signature }}")
    assert digest_of(tmp_path) != before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("write_codes.jinja", "x", "no prompt has that name; there are"),
        ("write_code.jinja", "{{ code }}", "code is not given to this prompt; there are descr"),
        ("write_code.jinja", "a\n{% if %}", "write_code.jinja:2: no template"),
        ("write_code.jinja", "{% include 'other' %}", "no template: .*other"),
    ],
)
def test_templates_that_are_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        digest_of(tmp_path)
