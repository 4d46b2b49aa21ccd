"""Arguments become one call of the API, and its result the types that agents read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

import refute.verbs.issues
import refute.verbs.red_green
from refute.doors import arguments as given
from refute.doors.verbs import LONGEST, MOST, VERBS, clipped, first
from refute.errors import InputError
from refute.gating.running import Standing
from refute.issue.vet import Vetted
from refute.models.asking import Asked
from refute.verbs.red_green import RedGreenResult
from refute.workspace.contract import Failure, TestReport


def answered(verb: str, **arguments: Any) -> Any:
    """The result of a verb in this process."""
    found = VERBS[verb]
    asked_for = msgspec.convert(arguments, found.arguments)
    result = found.run(asked_for, Asked(), lambda line: None).result
    assert isinstance(result, found.result)
    return result


@pytest.mark.parametrize(
    ("tests", "passed"),
    [
        ("", []),
        ("tests/test_a.py", ["tests/test_a.py"]),
        (["a.py::b", "c.py"], ["a.py::b", "c.py"]),
    ],
)
def test_red_and_green(
    monkeypatch: pytest.MonkeyPatch, tests: str | list[str], passed: list[str]
) -> None:
    called: dict[str, Any] = {}
    run = TestReport((), "finished")
    boom = Failure("AssertionError", "assert 1 == 2", "")
    rows = (
        Standing("a.py::b", "a.py", "fail", "pass", boom),
        Standing("c.py::d", "c.py", "pass", "pass"),
    )

    def red_green(chosen: list[str], **how: Any) -> RedGreenResult:
        called.update(how, tests=chosen)
        return RedGreenResult("main", "working tree", rows, run, run)

    monkeypatch.setattr(refute.verbs.red_green, "red_green", red_green)
    found = answered("check_tests_red_green", tests=tests, base="main", time_limit=100)
    assert (called["tests"], called["base"], called["head"]) == (passed, "main", None)
    assert called["timeout"] < 50
    assert found.shown
    assert found.summary == "main -> working tree: 1 red to green, 1 green before"
    assert [(one.turn, one.failure_before) for one in found.tests] == [
        ("red to green", "AssertionError: assert 1 == 2"),
        ("green before", ""),
    ]


def test_nothing_is_shown_where_a_test_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    run = TestReport((), "finished")
    rows = (
        Standing("a.py::b", "a.py", "fail", "pass"),
        Standing("c.py::d", "c.py", "pass", "fail"),
    )
    found = RedGreenResult("main", "working tree", rows, run, run)
    monkeypatch.setattr(refute.verbs.red_green, "red_green", lambda *args, **how: found)
    assert not answered("check_tests_red_green").shown


def test_test_files_as_text_become_a_patch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}

    def vet(fix: Path, *, issue: Path, tests: Path, **how: Any) -> Any:
        seen.update(fix=fix.read_text(), issue=issue.read_text(), tests=tests.read_text())
        vetted = Vetted("cannot tell", "no test fails")
        return refute.verbs.issues.VetResult("given", vetted, seen["tests"], None, "not Python")

    (tmp_path / ".git").mkdir()
    (tmp_path / "test_old.py").write_text("a = 1\n")
    monkeypatch.setattr("refute.doors.verbs.vet", vet)
    monkeypatch.setattr("refute.workspace.snapshot.checkout_root", lambda repo: tmp_path)
    monkeypatch.chdir(tmp_path)
    files = {"test_old.py": "a = 2\n", "tests/test_new.py": "b = 1\n"}
    found = answered("vet_patch", patch="a diff", issue="It is wrong", tests=files)
    assert (seen["fix"], seen["issue"]) == ("a diff", "It is wrong")
    assert "--- a/test_old.py\n+++ b/test_old.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n" in seen["tests"]
    assert "--- /dev/null\n+++ b/tests/test_new.py\n" in seen["tests"]
    assert (found.verdict, found.behaviour, found.behaviour_summary) == (
        "cannot tell",
        [],
        "not Python",
    )
    with pytest.raises(InputError, match="tests: path is not plain"):
        answered("vet_patch", patch="a diff", issue="It is wrong", tests={"../x.py": ""})


def test_tests_are_written_to_new_files_below_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_x.py").touch()
    for place, why in (("test_x.py", "exists; name a new file"), ("../y.py", "lies outside of")):
        with pytest.raises(InputError, match=why):
            answered("find_failing_input", targets="a.py", output=place)


def test_arguments_that_write_are_those_that_are_named() -> None:
    for verb in VERBS.values():
        fields = verb.arguments.__struct_fields__
        assert {name for name in fields if name in ("write", "output", "apply")} <= given.WRITING


def test_what_a_model_reads_is_short() -> None:
    rows = [(number, number == 99) for number in range(100)]
    kept = first(rows, lambda row: row[1])
    assert (len(kept), kept[0], kept[1]) == (MOST, (99, True), (0, False))
    assert clipped("x" * LONGEST) == "x" * LONGEST
    long = clipped("a" * 5000 + "b" * 5000)
    assert long.startswith("aaa")
    assert long.endswith("bbb")
    assert "[... 8,000 characters ...]" in long
