"""The agent loop with a scripted model: tools as text and natively, bounds, reminders, history."""

from __future__ import annotations

import json

import pytest

from refute.core.methods import Bounds
from refute.errors import ContextTooLong, InputError, ModelUnavailable
from refute.issue.original import Original
from refute.models.contract import Completion, Message
from refute.workspace.contract import Recipe
from refute_lab.baselines.aci import collapsed
from refute_lab.baselines.methods.swe_agent import command_of_tests, swe_agent, swe_agent_plus

from ..projects import Project
from .talking import called, command, conversation, reproduce, same_as_golden, scripted

ADD_TEST = """edit 13:13
    assert middle(0, 4) == 2


def test_above():
    assert clamp(10, 0, 9) == 9
end_of_edit"""
RUN = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -q -p no:cacheprovider tests/test_line.py"
WORK = ["search_dir clamp", "open tests/test_line.py", ADD_TEST, RUN, "submit"]


def failing(project: Project, patch: str) -> list[str]:
    with project.spawn() as workspace:
        return [r.id for r in Original(workspace, Bounds()).attempt(patch).failing]


def test_commands_as_text(project: Project) -> None:
    model = scripted([command(text) for text in WORK])
    found = reproduce(model, project, swe_agent_plus, tools="text")
    assert failing(project, found.prediction.patch) == ["tests/test_line.py::test_above"]
    assert found.prediction.notes == ()
    assert model.requests == 5
    observed = [step["observed"][0] for step in found.steps]
    assert "shapes/line.py (lines: 1)" in observed[0]
    assert "13:    assert middle(0, 4) == 2" in observed[1]
    assert "17:    assert clamp(10, 0, 9) == 9" in observed[2]
    assert "(Open file: tests/test_line.py)" in observed[2]
    assert "1 failed, 3 passed in 0.00 s" in observed[3]
    assert "(exit status 1)" in observed[3]
    same_as_golden("swe_agent_plus_text", conversation(model.asked[0]))


def test_tools_natively(project: Project) -> None:
    edit = {"start": 13, "end": 13, "text": "    assert middle(0, 4) == 2\n\n\ndef test_above():\n"}
    edit["text"] = f"{edit['text']}    assert clamp(10, 0, 9) == 9"
    model = scripted(
        [
            called(("open", '{"path": "tests/test_line.py"}'), ("goto", '{"line": 13}')),
            called(("edit", json.dumps(edit))),
            called(("nonsense", "{}"), ("shell", "{not json"), ("goto", "[1]"), ("goto", "{}")),
            "I think that is all.",
            called(("submit", "")),
        ]
    )
    found = reproduce(model, project, swe_agent, tools="native")
    assert failing(project, found.prediction.patch) == ["tests/test_line.py::test_above"]
    *_, said, first, second = model.asked[1]
    assert [call.id for call in said.tool_calls] == ["call_0", "call_1"]
    assert (first.role, first.tool_call_id, second.tool_call_id) == ("tool", "call_0", "call_1")
    told = [message.content for message in model.asked[3][-4:]]
    assert "there is no tool 'nonsense'" in told[0]
    assert "not valid JSON" in told[1]
    assert "not a JSON object" in told[2]
    assert "line is missing" in told[3]
    assert "Call one of the tools" in model.asked[4][-1].content
    same_as_golden("swe_agent_native", conversation(model.asked[0]))


class Offers:
    """A scripted model that notes which tools it is offered."""

    def __init__(self, answers: list[Completion | str | Exception]) -> None:
        self.model = scripted(answers)
        self.offered: list[int] = []
        inner = self.model.generate

        async def generate(messages, *, n, sampling, first=0):  # type: ignore[no-untyped-def]
            self.offered.append(len(sampling.tools))
            return await inner(messages, n=n, sampling=sampling, first=first)

        self.model.generate = generate  # type: ignore[method-assign]


def test_auto_keeps_to_what_the_model_does(project: Project) -> None:
    native = Offers([called(("scroll_up", "{}")), called(("submit", "{}"))])
    reproduce(native.model, project, swe_agent)
    assert native.offered == [11, 11]
    same_as_golden("swe_agent_auto", conversation(native.model.asked[0]))
    text = Offers(["no command at all", command("ls"), command("submit")])
    reproduce(text.model, project, swe_agent)
    assert text.offered == [11, 11, 0]


@pytest.mark.parametrize(
    "refusal",
    [
        InputError("hf:x: takes no tools; use a method that calls them as text"),
        ModelUnavailable("openai:x at host: x does not support tools"),
    ],
)
def test_auto_without_native_tools(project: Project, refusal: Exception) -> None:
    offers = Offers([refusal, command("submit")])
    found = reproduce(offers.model, project, swe_agent)
    assert offers.offered == [11, 0]
    assert found.prediction.notes == ("no test file was changed",)


def test_other_failures_are_no_matter_of_tools(project: Project) -> None:
    with pytest.raises(ModelUnavailable, match="the server is gone"):
        reproduce(scripted([ModelUnavailable("the server is gone")]), project, swe_agent)


def test_the_plus_variant_is_reminded_once(project: Project) -> None:
    opened = ["open tests/test_line.py", ADD_TEST]
    plain = scripted([command(text) for text in [*opened, "submit"]])
    assert reproduce(plain, project, swe_agent).prediction.patch
    plus = scripted([command(text) for text in [*opened, "submit", "submit"]])
    found = reproduce(plus, project, swe_agent_plus)
    assert found.prediction.patch
    assert "you have not run your tests" in plus.asked[3][-1].content
    # tests that were run before the last edit do not count
    again = [*opened, RUN, "edit 17:17\n    assert clamp(11, 0, 9) == 9\nend_of_edit", "submit"]
    model = scripted([command(text) for text in [*again, RUN, "submit"]])
    found = reproduce(model, project, swe_agent_plus)
    assert "you have not run your tests" in model.asked[5][-1].content
    assert "+    assert clamp(11, 0, 9) == 9" in found.prediction.patch


def test_bounds_end_it_with_what_is_there(project: Project) -> None:
    answers = [command(text) for text in ["open tests/test_line.py", ADD_TEST]]
    model = scripted([*answers, *[command("scroll_up")] * 18])
    found = reproduce(model, project, swe_agent)
    assert model.requests == 20
    assert "+def test_above" in found.prediction.patch
    assert "ended by the bounds" in found.prediction.notes[0]
    few = scripted(answers)
    assert reproduce(few, project, swe_agent, bounds=Bounds(calls=2)).prediction.patch
    assert few.requests == 2


def test_only_tests_are_handed_in(project: Project) -> None:
    model = scripted(
        [
            command(
                "sed -i 's/return low$/return high/' shapes/line.py; echo 1 > reproduce.py\n"
                "echo '*.log' > tests/.gitignore; echo x > tests/a.log\n"
                "head -c 2000 /dev/urandom > tests/blob.bin"
            ),
            command("create tests/test_more.py"),
            command("edit 1:1\ndef test_more():\n    assert False\nend_of_edit"),
            command("submit"),
        ]
    )
    prediction = reproduce(model, project, swe_agent).prediction
    assert "test_more.py" in prediction.patch
    for left_out in ("return high", "reproduce.py", "a.log", "blob"):
        assert left_out not in prediction.patch
    assert "left out, no tests: reproduce.py, shapes/line.py, tests/blob.bin" in prediction.notes


def test_a_conversation_that_is_too_long_is_shortened(project: Project) -> None:
    steps: list[Completion | str | Exception] = [command("ls; ls tests")] * 6
    model = scripted([*steps, ContextTooLong("too long"), command("submit")])
    reproduce(model, project, swe_agent)
    before, after = model.asked[6], model.asked[7]
    assert sum("left out" in message.content for message in before) == 1
    assert sum("left out" in message.content for message in after) == 4
    gone = scripted([command("ls"), *[ContextTooLong("too long")] * 3])
    found = reproduce(gone, project, swe_agent)
    assert found.prediction.notes[0] == "ended: the conversation is too long for the model"
    with pytest.raises(ContextTooLong):  # nothing was tried: no prediction, an error
        reproduce(scripted([ContextTooLong("too long")] * 3), project, swe_agent)


def test_old_observations_are_left_out() -> None:
    said = [Message("system", "s"), Message("user", "the\nissue")]
    for number in range(7):
        said += [Message("assistant", f"a{number}"), Message("user", f"{number}\nb\nc")]
    found = collapsed(said)
    assert found[:3] == said[:3]
    assert [m.content for m in found if m.role == "user"][1:3] == [
        "(Old output left out: 3 lines)"
    ] * 2
    assert found[7:] == said[7:]
    assert [m for m in found if m.role == "assistant"] == [m for m in said if m.role == "assistant"]


def test_the_same_run_asks_the_same_questions(project: Project) -> None:
    """Paths, times and addresses differ from run to run; what the model is told does not."""
    noisy = (
        f"{RUN}; python -c 'print(object())'; mktemp -u /tmp/tmpXXXXXXXX | tr A-Z x; "
        "pwd; python -m unittest tests.test_line; python -c 'import shapes; print(shapes.__file__)'"
    )
    asked = []
    for _ in range(2):
        model = scripted([command("cd tests; pwd"), command(f"cd ..; {noisy}"), command("submit")])
        reproduce(model, project, swe_agent)
        asked.append(model.asked)
    assert asked[0] == asked[1]
    seen = asked[0][2][-1].content
    assert "shapes/__init__.py" in seen
    assert str(project.folder.parent) not in seen
    assert "(Current folder: .)" in seen
    assert "(Current folder: tests)" in asked[0][1][-1].content


def test_how_tests_are_run() -> None:
    assert command_of_tests(None) == "python -m pytest tests/test_name.py"
    django = Recipe(runner="django", options=("--settings=test_sqlite",))
    assert "runtests.py --settings=test_sqlite label" in command_of_tests(django)
