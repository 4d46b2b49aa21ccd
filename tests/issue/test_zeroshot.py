"""The zero-shot methods and LIBRO, with a scripted model, on a real repository."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from refute.core.combinators import succession
from refute.core.methods import Context, Given, MethodSpec
from refute.errors import ContextTooLong, InputError
from refute.issue.contract import Reproduction
from refute.issue.original import TrialRun
from refute.models.contract import Message
from refute.models.session import Session
from refute.testing.models import ScriptedModel
from refute_lab.baselines.methods.reproducers import assertflip, echo, otter
from refute_lab.baselines.methods.zeroshot import (
    JudgedDraft,
    chosen,
    libro,
    says_yes,
    written_diff,
    zeroshot,
    zeroshotplus,
)

from .projects import CLAMP, DRAFT, FIX, GOLDEN_TESTS, Project

RIGHT = f"The upper bound is never returned.\n\n{DRAFT}\n"
PASSES = RIGHT.replace("== 9", "== 0").replace("test_above", "test_now")
WRONG_REASON = RIGHT.replace("clamp(10, 0, 9) == 9", "clamp_all(1)").replace("above", "other")
LONGER = RIGHT.replace("    assert", "    # a comment that makes it longer\n    assert").replace(
    "== 9\n", "== 9, object()\n"
)
NONSENSE = "I cannot help with that."


def run(
    model: ScriptedModel,
    project: Project,
    method: MethodSpec[Any, Reproduction],
    given: Given = Given(),  # noqa: B008
    **options: object,
) -> Reproduction:
    async def work() -> Reproduction:
        async with Session(model) as session:
            ctx = Context(
                workspace=project.spawn, model=session.asker(project.problem.id), given=given
            )
            return await method(project.problem, ctx=ctx, options=method.options(**options))

    return asyncio.run(work())


class Answers:
    """Drafts by the index of the sample; a judge that likes what mentions `clamp(10`."""

    def __init__(self, drafts: Sequence[str]) -> None:
        self.drafts = drafts
        self.prompts: list[str] = []

    def __call__(self, messages: Sequence[Message], index: int) -> str:
        prompt = messages[-1].content
        self.prompts.append(prompt)
        if "<run>" in prompt:
            return "Yes." if "assert clamp(10" in prompt else "no, it does not exist"
        return self.drafts[index]


def test_zeroshotplus(project: Project) -> None:
    answers = Answers([RIGHT])
    found = run(ScriptedModel(answers), project, zeroshotplus)
    assert "+def test_above():" in found.prediction.patch
    assert found.prediction.notes == ()
    assert found.prediction.confidence is None, "nothing was run"
    assert found.alternatives == ()
    (prompt,) = answers.prompts
    assert project.problem.text in prompt
    assert '[start of shapes/line.py]\n1 """Numbers' in prompt
    assert "custom-diff" in prompt
    with project.spawn() as workspace:
        workspace.apply(found.prediction.patch)


def test_zeroshot_reads_a_unified_diff(project: Project) -> None:
    answer = f"Here it is:\n```diff\n{GOLDEN_TESTS.split('+++', 1)[0]}+++"
    answer += (
        GOLDEN_TESTS.split("+++", 1)[1].replace("@@ -11,3 +11,7 @@", "@@ -1,3 +1,9 @@") + "```"
    )
    found = run(ScriptedModel(Answers([answer])), project, zeroshot)
    assert "+    assert clamp(10, 0, 9) == 9" in found.prediction.patch
    found = run(ScriptedModel(Answers([answer])), project, zeroshot, strict_diff=True)
    assert found.prediction.patch == answer.partition("```diff\n")[2].removesuffix("```")
    assert "@@ -1,3 +1,9 @@" in found.prediction.patch, "the wrong numbers are the model's"


def test_a_custom_diff_is_made_as_far_as_it_goes_or_not_at_all(project: Project) -> None:
    bad = "diff\ntests/test_line.py\nrewrite\n1\ndef test_nowhere():\n    pass\nend diff\n"
    answer = DRAFT.replace("```custom-diff\n", f"```custom-diff\n{bad}")
    found = run(ScriptedModel(Answers([answer])), project, zeroshotplus)
    assert "def test_nowhere" in found.prediction.patch
    assert "def test_above" in found.prediction.patch
    found = run(ScriptedModel(Answers([answer])), project, zeroshotplus, strict_diff=True)
    assert found.prediction.patch == ""
    assert "no function test_nowhere" in found.prediction.notes[0]
    found = run(ScriptedModel(Answers([DRAFT])), project, zeroshotplus, strict_diff=True)
    assert "def test_above" in found.prediction.patch


def test_a_diff_as_it_is_written() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert written_diff(f"Text --- here.\n<patch>\n{diff}</patch>\n```diff\nother\n```") == diff
    assert written_diff(f"So:\n{diff}\n\n") == diff
    assert written_diff(NONSENSE) == ""


def test_nothing_usable_is_an_empty_prediction(project: Project) -> None:
    found = run(ScriptedModel(Answers([NONSENSE])), project, zeroshotplus)
    assert found.prediction.patch == ""
    assert found.prediction.notes == ("the answer holds no edit",)


def test_samples_for_the_oracle(project: Project) -> None:
    model = ScriptedModel(Answers([PASSES, RIGHT, NONSENSE]))
    found = run(model, project, zeroshotplus, answers=3)
    assert ["test_now" in p.patch for p in found.alternatives] == [True, False, False]
    assert found.prediction == found.alternatives[0]
    assert model.samples == 3


def test_what_is_given_away_is_in_the_prompt(project: Project) -> None:
    answers = Answers([RIGHT])
    given = Given(("tests/test_line.py",), FIX, patch_may_be_wrong=True)
    run(ScriptedModel(answers), project, zeroshotplus, given=given)
    (prompt,) = answers.prompts
    assert "Put the tests into tests/test_line.py." in prompt
    assert "+        return high" in prompt
    assert "Nobody has checked it" in prompt
    first = prompt.index("[start of tests/test_line.py]")
    assert first < prompt.index("[start of shapes/line.py]") < prompt.index("shapes/colour.py]")
    answers.prompts.clear()
    run(ScriptedModel(answers), project, zeroshotplus, given=given, given_alone=True)
    assert "shapes/line.py]" in answers.prompts[0]
    assert "shapes/colour.py]" not in answers.prompts[0]
    answers.prompts.clear()
    run(ScriptedModel(answers), project, zeroshotplus)
    assert "return high" not in answers.prompts[0]
    assert "Put the tests" not in answers.prompts[0]


def test_the_prompt_of_the_row(project: Project) -> None:
    answers = Answers([RIGHT])
    with pytest.raises(InputError, match="the row has no field `text`"):
        run(ScriptedModel(answers), project, zeroshotplus, row_prompt=True)
    asked = replace(project, problem=replace(project.problem, prompt="Write a test."))
    run(ScriptedModel(answers), asked, zeroshotplus, row_prompt=True)
    assert answers.prompts == ["Write a test."]


@pytest.mark.parametrize("method", [zeroshot, libro])
def test_an_issue_that_is_too_long_is_an_error(project: Project, method: object) -> None:
    asked: list[int] = []

    def said(messages: Sequence[Message], index: int) -> str:
        asked.append(len(messages[-1].content))
        raise ContextTooLong("too long")

    with pytest.raises(ContextTooLong):
        run(ScriptedModel(said), project, method, context_tokens=4000)
    assert len(asked) == 4, "with 4000, 2000, 1000 and 500 tokens"


def test_the_step_says_how_much_was_shown(project: Project) -> None:
    sizes: list[int] = []

    def said(messages: Sequence[Message], index: int) -> str:
        sizes.append(len(messages[-1].content))
        if len(sizes) == 1:
            raise ContextTooLong("too long")
        return RIGHT

    found = run(ScriptedModel(said), project, zeroshotplus, context_tokens=1000)
    assert found.steps[0]["context_tokens"] == 500
    assert len(sizes) == 2


def test_a_long_draft_is_cut_for_the_judge(project: Project) -> None:
    long = RIGHT.replace("    assert", "    # " + "long " * 2000 + "\n    assert")
    judged: list[int] = []

    def said(messages: Sequence[Message], index: int) -> str:
        if "<run>" not in messages[-1].content:
            return long
        judged.append(len(messages[-1].content))
        if judged[-1] > 6000:
            raise ContextTooLong("too long")
        return "yes"

    found = run(ScriptedModel(said), project, libro, samples=1)
    assert [size > 6000 for size in judged] == [True, False]
    assert found.steps[0]["accepted"] is True
    assert "long long" in found.prediction.patch


# -- LIBRO -----------------------------------------------------------------------------------------


def test_libro_takes_the_shortest_of_the_preferred(project: Project) -> None:
    answers = Answers([PASSES, WRONG_REASON, LONGER, RIGHT, NONSENSE])
    found = run(ScriptedModel(answers), project, libro)
    assert "+    assert clamp(10, 0, 9) == 9" in found.prediction.patch
    assert "a comment" not in found.prediction.patch
    assert found.prediction.tests == ("tests/test_line.py::test_above",)
    assert found.prediction.confidence == pytest.approx(3 / 7), "by the rule of succession"
    steps = found.steps
    assert [step["accepted"] for step in steps] == [None, False, True, True, None]
    assert [bool(step["failing"]) for step in steps] == [False, True, True, True, False]
    assert steps[4]["rejected"] == "the patch is empty"
    judged = [prompt for prompt in answers.prompts if "<run>" in prompt]
    assert len(judged) == 3, "only drafts that fail are judged"
    assert any("NameError: name 'clamp_all' is not defined" in prompt for prompt in judged)
    assert any("<object object at 0x...>" in prompt for prompt in judged), "the same each time"


def test_libro_always_answers_where_anything_applies(project: Project) -> None:
    found = run(ScriptedModel(Answers([NONSENSE, WRONG_REASON, PASSES])), project, libro, samples=3)
    assert "clamp_all" in found.prediction.patch
    found = run(ScriptedModel(Answers([NONSENSE, PASSES])), project, libro, samples=2)
    assert "test_now" in found.prediction.patch
    found = run(ScriptedModel(Answers([NONSENSE])), project, libro, samples=1)
    assert found.prediction.patch == ""


def test_ties_go_to_the_earlier_draft() -> None:
    a, b = (JudgedDraft(TrialRun(patch, rejected="")) for patch in ("aa", "bb"))
    assert chosen([a, b]) is None, "what was not run cannot be chosen"


@pytest.mark.parametrize(
    ("answer", "yes"),
    [
        ("yes", True),
        ("Yes.", True),
        ("**No**", False),
        ("At first it seems no, but: yes", True),
        ("It does not", False),
        ("nobody knows, yesterday", False),
        ("", False),
    ],
)
def test_the_judge_is_read_strictly(answer: str, yes: bool) -> None:
    assert says_yes(answer) is yes


def test_zeroshotplus_asked_for_a_fix(project: Project) -> None:
    """It asks again until a patch of code applies; the answers vary after the first."""
    block = "```custom-diff\ndiff\nshapes/line.py\nrewrite\n4\n{}\nend diff\n```"
    fixed = "def clamp(value, low, high):\n    return max(low, min(value, high))"
    answers = Answers([NONSENSE, block.format(fixed)])
    asked: list[int] = []

    def said(messages: Sequence[Message], index: int) -> str:
        asked.append(index)
        return answers(messages, len(asked) - 1)

    async def work() -> Reproduction:
        async with Session(ScriptedModel(said)) as session:
            model = session.asker(project.problem.id)
            ctx = Context(workspace=project.spawn, model=model, task="repair")
            return await zeroshotplus(project.problem, ctx=ctx)

    found = asyncio.run(work())
    assert "+    return max(low, min(value, high))" in found.prediction.patch
    assert len(asked) == 2
    assert "Change code only" in answers.prompts[0]
    assert "Write tests" not in answers.prompts[0]


# -- reproducers that run their drafts -------------------------------------------------------------

ASKED = {
    "judge": 'Answer with one word, "yes" or "no"',
    "retrieve": "answer with the one word ENOUGH",
    "morph": "Write the issue anew",
    "pass": "**passes on the code as it is**",
    "invert": "Invert its assertion",
    "fail": "Write one test that checks",
    "patch": "",
}
MENDED = (
    CLAMP.partition("\n\n\n")[2]
    .partition("\n\n\n")[0]
    .replace("return low\n    r", "return high\n    r")
)
PATCH = f"```custom-diff\ndiff\nshapes/line.py\nrewrite\n4\n{MENDED.strip()}\nend diff\n```"
OFF = RIGHT.replace("== 9", "== 8")


class Author:
    """Says the next answer of a kind, the last one again where they end."""

    def __init__(self, **answers: Sequence[str]) -> None:
        self.answers = answers
        self.kinds: list[str] = []
        self.prompts: list[str] = []

    def __call__(self, messages: Sequence[Message], index: int) -> str:
        prompt = messages[-1].content
        kind = next(kind for kind, words in ASKED.items() if words in prompt)
        told = self.answers.get(kind, ["yes"])
        at = index if kind == "patch" else self.kinds.count(kind)
        self.kinds.append(kind)
        self.prompts.append(prompt)
        return told[min(at, len(told) - 1)]


def test_assertflip_makes_a_test_pass_before_it_inverts_it(project: Project) -> None:
    author = Author(**{"pass": [RIGHT, PASSES], "invert": [PASSES, RIGHT], "judge": ["yes"]})
    found = run(ScriptedModel(author), project, assertflip)
    assert author.kinds == ["pass", "pass", "invert", "pass", "invert", "judge"]
    assert "1 tests newly fail" in author.prompts[1]
    assert "assert clamp(10, 0, 9) == 0" in author.prompts[2]
    assert "== 9" in found.prediction.patch
    assert found.prediction.tests == ("tests/test_line.py::test_above",)
    never = Author(**{"pass": [RIGHT]})
    found = run(ScriptedModel(never), project, assertflip, regenerations=2, repairs=1)
    assert (found.prediction.patch, never.kinds) == ("", ["pass"] * 4)
    doubted = Author(**{"pass": [PASSES], "invert": [RIGHT], "judge": ["no"]})
    found = run(ScriptedModel(doubted), project, assertflip, regenerations=1)
    assert found.prediction.notes == ("no inverted test was judged to show the issue",)
    assert "== 9" in found.prediction.patch


def test_otter_asks_in_several_ways_and_chooses_by_patches(project: Project) -> None:
    author = Author(
        fail=[WRONG_REASON, OFF, RIGHT],
        judge=["no", "yes"],
        morph=["Steps: ..."],
        patch=[PATCH, "-"],
    )
    found = run(ScriptedModel(author), project, otter)
    assert author.kinds[:6] == ["morph", "morph", "fail", "judge", "fail", "judge"]
    assert author.kinds.count("fail") == 6, "one of five prompts was put right once"
    assert author.kinds.count("patch") == 5
    masked = [prompt for prompt in author.prompts if "Write one test" in prompt]
    assert "[start of tests/test_line.py]" not in masked[2]
    assert "[start of shapes/line.py]" not in masked[3]
    assert "Steps: ..." in masked[4]
    assert "== 9" in found.prediction.patch, "== 8 fails after the patch as well"
    assert found.prediction.notes == ("passes with 1 of 1 patches",)


def test_echo_refines_its_query_and_validates_by_a_patch(project: Project) -> None:
    author = Author(
        retrieve=["QUERY: mix colours", "ENOUGH"], fail=[OFF, RIGHT], patch=[PATCH, "-"]
    )
    found = run(ScriptedModel(author), project, echo, context_tokens=500)
    assert author.kinds == ["retrieve"] * 2 + ["patch"] * 3 + ["fail"] * 2
    assert "assert 9 == 8" in author.prompts[-1], "what the test did on the patched code"
    assert "== 9" in found.prediction.patch
    assert found.prediction.confidence == succession(1, 1)
    none = Author(retrieve=["ENOUGH"], fail=[NONSENSE], patch=["-"])
    found = run(ScriptedModel(none), project, echo, repairs=1)
    assert found.prediction.notes == ("no draft fails now", "passes with no patch")
