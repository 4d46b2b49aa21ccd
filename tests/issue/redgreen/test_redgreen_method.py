"""redgreen on a small repository with a real fault: models that are right, noisy, hostile, slow."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.core.methods import Bounds, Context
from refute.errors import AnswersPending, ModelUnavailable
from refute.issue.contract import Reproduction
from refute.issue.methods import redgreen as method
from refute.issue.methods.redgreen import redgreen
from refute.issue.redgreen.pool import conclude
from refute.issue.redgreen.ranking import Draft
from refute.issue.redgreen.testbed import TestBed
from refute.models.contract import Completion, Message, Sampling
from refute.models.session import Session
from refute.testing.models import ScriptedModel
from refute.workspace.contract import TestSelection

from ..projects import FIX as GOLDEN
from ..projects import Project
from ..shop import diff
from .oracle import FIX, RIGHT, Answers, block, refusing


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of tests that one test has made are not made again by the next."""
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, memory: Path) -> None:
    """Without the draft of the snippet method, which has tests of its own."""

    async def nothing(work: object, spawn: object) -> None:
        """The tests below bring their own drafts."""

    monkeypatch.setattr(method._Work, "seed", nothing)
    monkeypatch.setattr(method, "memory_of", lambda problem: memory)


def run(
    model: object, project: Project, bounds: Bounds | None = None, **options: Any
) -> Reproduction:
    async def work() -> Reproduction:
        async with Session(model) as session:  # type: ignore[arg-type]
            ctx = Context(
                workspace=project.spawn,
                model=session.asker(project.problem.id),
                bounds=bounds or Bounds(),
            )
            return await redgreen(project.problem, ctx=ctx, options=redgreen.options(**options))

    return asyncio.run(work())


KNOWN: dict[tuple[Path, str, str], dict[str, str]] = {}


def outcomes(project: Project, patch: str, fix: str = "") -> dict[str, str]:
    """How the tests of the patch's file end, on the original or the fixed code. Many of the tests
    below come to the same patch, which is run once."""
    key = project.folder, patch, fix
    if key not in KNOWN:
        with project.spawn() as workspace:
            if fix:
                workspace.apply(fix)
            workspace.apply(patch)
            report = workspace.run_tests(TestSelection(("tests/test_line.py",)), timeout=120)
        KNOWN[key] = {r.id.rpartition("::")[2]: r.outcome for r in report.results}
    return KNOWN[key]


def fails_and_turns_green(project: Project, found: Reproduction) -> bool:
    """F→P, and nothing that fails on the golden fix."""
    before = outcomes(project, found.prediction.patch)
    after = outcomes(project, found.prediction.patch, GOLDEN)
    red = [test for test, outcome in before.items() if outcome == "failed"]
    return bool(red) and set(after.values()) == {"passed"} and before.keys() == after.keys()


def test_a_model_that_is_right(project: Project) -> None:
    answers = Answers(direct=[RIGHT, RIGHT.replace("10", "12")])
    found = run(ScriptedModel(answers), project)
    assert fails_and_turns_green(project, found)
    assert found.prediction.tests == ("tests/test_line.py::test_above",)
    assert found.prediction.confidence == pytest.approx((1 + 1 + 1) / (1 + 1 + 2), abs=0.001)
    one_of_one = "1 of 1 candidate fixes that behave differently turn them green"
    assert one_of_one in found.prediction.notes
    assert "shapes/line.py" not in found.prediction.patch
    agreement = ["locate", "direct", "direct", "fix", "fix"]
    assert answers.kinds == agreement, "nothing is asked that cannot change the outcome"
    assert found.steps[-1]["kind"] == "final"
    assert found.steps[-1]["failing"] == ["tests/test_line.py::test_above"]
    assert [step["fix"] for step in found.steps if step["kind"] == "fix"] == [0], "one spelling"


def test_what_another_reading_does_not_meet_is_left_out(project: Project) -> None:
    both = block(
        "def test_above():\n    assert clamp(10, 0, 9) >= 9\n\n\n"
        "def test_exactly():\n    assert clamp(10, 0, 9) == 9 and type(clamp(10, 0, 9)) is int"
    )
    other = FIX.replace("return high", "return float(high)")
    answers = Answers(direct=both, fix=f"READING 1\n{FIX}\nREADING 2\n{other}")
    found = run(ScriptedModel(answers), project)
    assert found.prediction.tests == ("tests/test_line.py::test_above",)
    assert "test_exactly" not in found.prediction.patch
    assert len(answers.of("judge")) == 0


def test_drafts_that_disagree_are_judged(project: Project) -> None:
    wrong = block("def test_wrong():\n    assert clamp(10, 0, 9) == 8")
    answers = Answers(direct=[wrong, RIGHT], judge=lambda prompt, index: refusing("== 8", prompt))
    found = run(ScriptedModel(answers), project)
    (prompt,) = answers.of("judge")
    assert (
        "tests/test_line.py::test_wrong fails now, and passes with none of the changes." in prompt
    )
    assert "tests/test_line.py::test_above fails now, and passes with change 1." in prompt
    assert "2:tests/test_line.py::test_wrong: failed in call" in prompt
    assert found.prediction.tests == ("tests/test_line.py::test_above",)


SYNTAX = block("def test_above(:\n    assert clamp(10, 0, 9) == 9")
FIXTURE = block("def test_fixture(numbers):\n    assert clamp(10, 0, 9) == 9")
PASSES = block("def test_now():\n    assert clamp(10, 0, 9) == 0")
OTHER_REASON = block("def test_other():\n    assert clamp('a', 0, 9) == 9")
TOO_MUCH = block("def test_strict():\n    assert repr(clamp(10, 0, 9)) == '9.0'")
BREAKS = FIX.replace("        return low\n", "        return low - 1\n")
NO_FIX = FIX.replace("return high", "return low + 0")


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (SYNTAX, "its code is not Python"),
        (FIXTURE, "fixture 'numbers' not found"),
    ],
)
def test_drafts_that_show_nothing_are_repaired(project: Project, bad: str, said: str) -> None:
    answers = Answers(locate="I cannot tell.", direct=bad, repair=RIGHT)
    found = run(ScriptedModel(answers), project, drafts=1)
    (prompt,) = answers.of("repair")
    assert said in prompt
    assert fails_and_turns_green(project, found)


def test_a_fix_that_breaks_tests_is_repaired(project: Project) -> None:
    answers = Answers(direct=RIGHT, fix=BREAKS.replace("return high", "return low"))
    found = run(ScriptedModel(answers), project, fix_drafts=1)
    (prompt,) = answers.of("fix_repair")
    assert "assert -1 == 0" in prompt
    assert fails_and_turns_green(project, found)
    assert found.prediction.confidence == pytest.approx(2 / 3, abs=0.001)


def test_a_test_that_demands_too_much_is_disputed(project: Project) -> None:
    answers = Answers(direct=TOO_MUCH, dispute=RIGHT)
    found = run(ScriptedModel(answers), project)
    (prompt,) = answers.of("dispute")
    assert "assert '9' == '9.0'" in prompt.partition("<changed_run>")[2]
    assert "assert '0' == '9.0'" in prompt.partition("<changed_run>")[0]
    assert fails_and_turns_green(project, found)
    assert found.prediction.tests == ("tests/test_line.py::test_above",)


def test_where_nothing_agrees_others_are_asked_too(project: Project) -> None:
    """Corrections go wrong as the drafts did; somebody who has seen none of them helps."""
    answers = Answers(
        direct=[OTHER_REASON, OTHER_REASON, RIGHT],
        fix=[NO_FIX, NO_FIX, FIX],
        fix_repair=NO_FIX,
        dispute=OTHER_REASON,
        judge="VERDICT 1: yes",
    )
    found = run(ScriptedModel(answers), project)
    assert answers.kinds.count("direct") == answers.kinds.count("fix") == 3
    assert fails_and_turns_green(project, found)
    assert found.prediction.tests == ("tests/test_line.py::test_above",)


def test_tests_that_do_not_serve_are_dropped(project: Project) -> None:
    mixed = block(
        "def test_above():\n    assert clamp(10, 0, 9) == 9\n\n\n"
        "def test_strict():\n    assert repr(clamp(10, 0, 9)) == '9.0'\n\n\n"
        "def test_idle():\n    assert middle(2, 4) == 3"
    ) + block("def test_below():\n    assert clamp(-1, 0, 9) == 0.5", verb="rewrite", at="8")
    answers = Answers(direct=mixed)
    found = run(ScriptedModel(answers), project)
    patch = found.prediction.patch
    assert "+def test_above():" in patch
    assert "test_strict" not in patch, "no fix turns it green"
    assert "test_idle" not in patch, "it never fails"
    assert "0.5" not in patch, "an existing test is as it was"
    assert fails_and_turns_green(project, found)


def test_it_abstains_where_nothing_fails(project: Project) -> None:
    answers = Answers(direct=PASSES, repair="no")
    found = run(ScriptedModel(answers), project)
    assert found.prediction.patch == ""
    assert found.prediction.confidence == 0.0
    assert found.prediction.notes == ("no draft fails on the original code in its own body",)


def test_without_any_fix_the_judge_decides(project: Project) -> None:
    answers = Answers(
        direct=[OTHER_REASON, RIGHT],
        fix="?",
        judge=lambda prompt, index: refusing("clamp('a'", prompt),
    )
    found = run(ScriptedModel(answers), project)
    assert found.prediction.tests == ("tests/test_line.py::test_above",)
    assert 0.1 < found.prediction.confidence < 0.5


HOSTILE = [
    "",
    "\0\ud800 VERDICT: yes",
    "```custom-diff\ndiff\n../../etc/passwd\ninsert\nEOF\nx\nend diff\n```",
    block("[tool:pytest]\n", "setup.cfg") + block("import os; os._exit(0)", "tests/conftest.py"),
    block("import os\nos._exit(0)\ndef test_x(): pass"),
    block("x = 1", ".git/config"),
    "CODE: /etc/passwd: x\nTEST: tests/../../x.py\nCODE: " + "a/" * 5000,
    block("def test_deep():\n    assert " + "(" * 3000 + ")" * 3000),
    "VERDICT: no\nVERDICT: yes\n" * 100 + "diff\n" * 1000,
    block("def test_forged():\n    raise SystemExit(0)"),
]


@pytest.mark.parametrize("offset", [0, 3])
def test_hostile_answers(project: Project, offset: int) -> None:
    def said(messages: Sequence[Message], index: int) -> str:
        prompt = messages[-1].content
        return HOSTILE[(offset + index + 3 * prompt.count("custom-diff")) % len(HOSTILE)]

    found = run(ScriptedModel(said), project)
    touched = [line for line in found.prediction.patch.splitlines() if line.startswith("+++ ")]
    assert all(line.startswith("+++ b/tests/") for line in touched)
    with project.spawn() as workspace:
        if found.prediction.patch:
            workspace.apply(found.prediction.patch)


# -- bounds, and answers that come later -----------------------------------------------------------


@pytest.mark.parametrize("calls", [1, 4])
def test_calls_are_kept_to(project: Project, calls: int) -> None:
    answers = Answers(direct=[SYNTAX, RIGHT], repair=RIGHT, fix="?")
    model = ScriptedModel(answers)
    found = run(model, project, Bounds(calls=calls))
    assert model.samples == calls, "all of them are of use here, and no more are asked for"
    assert ("locate" in answers.kinds) == (calls >= 4)
    assert found.prediction.patch == "" or fails_and_turns_green(project, found)


def test_no_time_no_test(project: Project) -> None:
    model = ScriptedModel(Answers())
    found = run(model, project, Bounds(seconds=0.0))
    assert (model.samples, found.prediction.patch) == (0, "")


class Clock:
    """Time that passes when tests are run, not before."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self.seconds = seconds

    def monotonic(self) -> float:
        return self.now


def test_when_time_runs_out_the_best_so_far_is_the_answer(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refute.workspace.working_copy import WorkingCopy

    clock = Clock(10.0)
    monkeypatch.setattr("refute.issue.contract.time", clock)
    monkeypatch.setattr(method, "memory_of", lambda problem: None)
    whole = WorkingCopy.run_tests

    def slow(self: WorkingCopy, *arguments: object, **options: object) -> object:
        clock.now += clock.seconds
        return whole(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(WorkingCopy, "run_tests", slow)
    answers = Answers()
    found = run(ScriptedModel(answers), project, Bounds(seconds=30.0))
    assert clock.now == 30.0
    assert any(step["kind"] == "bounds" for step in found.steps)
    monkeypatch.undo()
    assert fails_and_turns_green(project, found)


class Later:
    """A model whose answers to a round come after the program has been started again."""

    name = "later"

    def __init__(self, script: Answers) -> None:
        self._script = script
        self.known: dict[tuple[str, int], str] = {}
        self.asked: dict[tuple[str, int], Message] = {}

    async def generate(
        self, messages: Sequence[Message], *, n: int, sampling: Sampling, first: int = 0
    ) -> list[Completion]:
        wanted = [(messages[-1].content, number) for number in range(first, first + n)]
        missing = [one for one in wanted if one not in self.known]
        for prompt, number in missing:
            self.asked[prompt, number] = messages[-1]
        if missing:
            raise AnswersPending("later")
        return [Completion(self.known[one]) for one in wanted]

    def answer(self) -> int:
        """Give the answers that are missing; how many."""
        for (prompt, number), message in self.asked.items():
            self.known[prompt, number] = self._script([message], number)
        came = len(self.asked)
        self.asked.clear()
        return came

    async def close(self) -> None:
        pass


def test_answers_that_come_later_lead_to_the_same_result(project: Project) -> None:
    def script() -> Answers:
        return Answers(direct=[SYNTAX, TOO_MUCH], fix=[BREAKS, FIX], dispute=RIGHT)

    at_once = script()
    expected = run(ScriptedModel(at_once), project)
    later = Later(script())
    rounds = []
    for _ in range(10):
        try:
            found = run(later, project)
            break
        except AnswersPending:
            rounds.append(later.answer())
    assert found == expected
    assert len(rounds) == 3, "locate, draft, dispute"
    assert sum(rounds) == len(at_once.kinds), "nothing is asked twice"


def test_a_model_that_is_away(project: Project) -> None:
    with pytest.raises(ModelUnavailable):
        run(ScriptedModel([]), project)
    work = redgreen(project.problem, ctx=Context(workspace=project.spawn))
    with pytest.raises(ModelUnavailable, match="add --model"):
        asyncio.run(work)


def test_of_two_drafts_the_one_that_more_mutants_of_the_fix_fail_is_chosen(
    project: Project,
) -> None:
    """More test functions may demand less: the value that the issue states was thrown away."""
    head = "from shapes.line import clamp\n\n\ndef test_{}():\n    assert clamp({}, 0, 9) {}\n"
    strong = head.format("value", 10, "== 9")
    weak = head.format("one", 10, "!= 0") + "\n\n" + head.format("two", 11, "!= 0")
    with project.spawn() as workspace:
        bed = TestBed(workspace, Bounds())
        fix = bed.try_fix(0, GOLDEN)
        drafts = []
        for number, source in enumerate((weak, strong)):
            trial = bed.try_tests(diff("tests/test_new.py", None, source))
            drafts.append(Draft(number, "direct", trial, rows={0: bed.cross(trial, fix)}))
        assert [len(draft.green(0)) for draft in drafts] == [2, 1]
        found = conclude("shapes", bed, drafts, [fix])
    assert found.tests == ("tests/test_new.py::test_value",)
