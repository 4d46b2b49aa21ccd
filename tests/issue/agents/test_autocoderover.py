"""AutoCodeRover's two stages with a scripted model, and the reading of its calls."""

from __future__ import annotations

import asyncio

import pytest

from refute.core.methods import Bounds, Context
from refute.errors import ContextTooLong, ModelUnavailable
from refute.issue.original import Original
from refute.prompts import render
from refute_lab.baselines.methods.autocoderover import SearchCall, autocoderover, read_calls

from ..projects import Project
from .talking import conversation, reproduce, same_as_golden, scripted

SEARCH = """The issue is about clamp.

search_method("clamp")
search_code_in_file("import", file_name="tests/test_line.py")
"""
TESTS = """The test calls clamp above the upper bound.

# change 1
```
<file>tests/test_line.py</file>
<original>def test_middle():
    assert middle(0, 4) == 2</original>
<patched>def test_middle():
    assert middle(0, 4) == 2


def test_above():
    assert clamp(10, 0, 9) == 9</patched>
```
"""
MISSED = TESTS.replace(
    "def test_middle():\n    assert middle(0, 4) == 2", "class Never:\n    x = 1"
)
CODE = TESTS.replace("tests/test_line.py", "shapes/line.py").replace(
    "def test_middle():\n    assert middle(0, 4) == 2", "        return low"
)
NEW_FILE = """<file>tests/test_new.py</file>
<original></original>
<patched>from shapes.line import clamp


def test_above():
    assert clamp(10, 0, 9) == 9
</patched>
"""


def test_two_stages(project: Project) -> None:
    enough = "The place is tests/test_line.py; I know enough."
    model = scripted([SEARCH, enough, TESTS])
    found = reproduce(model, project, autocoderover)
    with project.spawn() as workspace:
        trial = Original(workspace, Bounds()).attempt(found.prediction.patch)
    assert [result.id for result in trial.failing] == ["tests/test_line.py::test_above"]
    assert found.prediction.notes == ()
    assert [step["kind"] for step in found.steps] == ["search", "search", "tests"]
    assert found.steps[0]["calls"][0] == "search_method('clamp')"
    told = model.asked[1][-1].content
    assert "<file>shapes/line.py</file> function clamp, lines 4 to 10" in told
    assert "9 more rounds" in told
    same_as_golden("autocoderover", conversation(model.asked[2]))


def test_rounds_are_bounded(project: Project) -> None:
    model = scripted([*[f"get_file_head('shapes/line.py'), {i}" for i in range(10)], TESTS])
    found = reproduce(model, project, autocoderover)
    assert found.prediction.patch
    assert model.requests == 11
    last = model.asked[10]
    assert [m.role for m in last[1:]] == ["user", "assistant"] * 10 + ["user"]
    assert "There are no more searches." in last[-1].content
    assert "Now write the tests" in last[-1].content
    assert "Its result is above." in last[5].content
    few = scripted(["search_class('A')", TESTS])
    found = reproduce(few, project, autocoderover, bounds=Bounds(calls=4))
    assert found.prediction.patch, "three calls are kept for the tests"


def test_asked_again_only_where_nothing_applies(project: Project) -> None:
    model = scripted(["Enough.", MISSED, CODE, NEW_FILE])
    found = reproduce(model, project, autocoderover)
    assert "+++ b/tests/test_new.py" in found.prediction.patch
    assert "tests/test_line.py" in model.asked[2][-1].content
    assert "no tests: shapes/line.py" in model.asked[3][-1].content
    never = scripted(["Enough.", MISSED, "No.", "<file>../x</file><original></original>x"])
    found = reproduce(never, project, autocoderover)
    assert found.prediction.patch == ""
    assert never.requests == 4
    assert found.prediction.notes
    both = scripted(["Enough.", TESTS + "\n" + MISSED])
    found = reproduce(both, project, autocoderover)
    assert "+def test_above" in found.prediction.patch, "what applies is not asked for again"


def test_bounds_and_context(project: Project) -> None:
    found = reproduce(scripted(["Enough."]), project, autocoderover, bounds=Bounds(calls=0))
    assert found.prediction.patch == ""
    assert "ended by the bounds" in found.prediction.notes[0]
    with pytest.raises(ContextTooLong):  # nothing was tried: no prediction, an error
        reproduce(scripted([ContextTooLong("too long")] * 5), project, autocoderover)
    too_long = scripted(["search_class(A)", *[ContextTooLong("too long")] * 5])
    found = reproduce(too_long, project, autocoderover)
    assert found.prediction.notes == ("ended: the conversation is too long for the model",)
    with pytest.raises(ModelUnavailable, match="add --model"):
        asyncio.run(autocoderover(project.problem, ctx=Context(workspace=project.spawn)))


@pytest.mark.parametrize(
    ("answer", "calls"),
    [
        (
            "search_class('A'), `search_class(\"B\")`",
            [("search_class", "A"), ("search_class", "B")],
        ),
        ("1. search_class(Model)", [("search_class", "Model")]),
        ("search_code(x = foo(1, [2]))", [("search_code", "foo(1, [2])")]),
        ('search_code("a)b(c")', [("search_code", "a)b(c")]),
        ('search_code("""two\nlines""")', [("search_code", "two\nlines")]),
        ("get_code_around_line('a.py', 12, 5)", [("get_code_around_line", "a.py", "12", "5")]),
        ("get_file_head(tests/test_a.py)", [("get_file_head", "tests/test_a.py")]),
        ("get_file_head(../test-a.py)", [("get_file_head", "../test-a.py")]),
        ("search_class(class_name)", []),
        ("search_class('A') search_class('A')", [("search_class", "A")]),
        ("research_class('A')", []),
        ("search_class('A", []),
        ("search_class" + "(" * 5_000, []),
        ("eval('1')", []),
    ],
)
def test_calls_are_read_tolerantly(answer: str, calls: list[tuple[str, ...]]) -> None:
    assert read_calls(answer) == [SearchCall(name, tuple(rest)) for name, *rest in calls]


def test_calls_are_bounded() -> None:
    assert len(read_calls("\n".join(f"search_class('A{i}')" for i in range(50)))) == 10


def test_asked_for_a_fix_the_form_is_shown_on_code_and_not_on_a_test() -> None:
    written = render("acr_write", fix=True)
    assert "<original>" in written
    assert "def test_" not in written
