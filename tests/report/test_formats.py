"""The formats for other programs, made of one report whose texts try to break out of each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from junitparser import JUnitXml, Skipped

from refute.function.contract import Skipped as NotLookedAt
from refute.gating.judging import Judged
from refute.gating.running import Finding, Rule
from refute.results import schema
from refute.results.baselines import OF_CHANGES, OF_FUNCTIONS, read_baseline, write_baseline
from refute.results.formats import (
    FORMATS,
    RULES,
    Case,
    Problem,
    Proposal,
    Report,
    formatted,
    merged,
)
from refute.results.formats.changes import report_of_gate
from refute.verbs.gate import GateResult
from refute.verbs.output import next_step
from tests.conftest import check_document

DATA = Path(__file__).parent.parent / "data"
NASTY = "f('a,b:c'): 50% \x1b[31m\x00 ]]> <script> `tick` | @all ::error::no\nsecond line"
STATED = Problem("behaviour-changed-as-stated", "src/b.py", 5, "k", "k(1): 1, now 2")
BEFORE, AFTER = "def f(a):\n    return a\n\n\nx = 1", "def f(a):\n    return a + 1\n\n\nx = 1"
WRONG = Problem("wrong-output", "src/a b.py", 3, "Cart.f", NASTY, "f(1) -> 2", others=2)
REPORT = Report(
    "debug",
    (
        Case("src/a b.py", 3, "Cart.f", "fixed", (WRONG,), "", Proposal(BEFORE, AFTER, "line 2")),
        Case("src/a b.py", 9, "g", "passes"),
        Case("src/b.py", 1, "h", "cannot tell", (), "no oracle"),
        Case("src/b.py", 5, "k", "differs", (STATED,)),
    ),
    (NotLookedAt("src/c.py", "cannot be loaded", "No module named 'x'"),),
    "1 fixed, 1 passes",
    known=3,
)


def test_sarif_is_as_its_schema_says() -> None:
    document = json.loads(formatted(REPORT, "sarif"))
    Draft7Validator(json.loads((DATA / "sarif-2.1.0.json").read_text())).validate(document)
    (run,) = document["runs"]
    wrong, stated = run["results"]
    assert [wrong["level"], stated["level"]] == ["error", "note"]
    location = wrong["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "src/a%20b.py"
    assert location["region"]["startLine"] == 3
    rule = run["tool"]["driver"]["rules"][wrong["ruleIndex"]]
    assert rule["id"] == wrong["ruleId"] == "wrong-output"
    assert wrong["partialFingerprints"]["refute/v1"] == WRONG.fingerprint
    (replacement,) = wrong["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement["deletedRegion"] == {
        "startLine": 2, "startColumn": 1, "endLine": 3, "endColumn": 1,
    }  # fmt: skip
    assert replacement["insertedContent"]["text"] == "    return a + 1\n"
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "src/c.py" in note["message"]["text"]


def test_every_rule_is_one_of_sarif() -> None:
    problems = [Problem(rule, "", 1, "", "said") for rule in RULES]
    report = Report("vet", (Case("", 1, "", "not fixed", tuple(problems)),))
    document = json.loads(formatted(report, "sarif"))
    Draft7Validator(json.loads((DATA / "sarif-2.1.0.json").read_text())).validate(document)
    assert all("locations" not in result for result in document["runs"][0]["results"])


def test_junit_is_read_by_others() -> None:
    xml = JUnitXml.fromstring(formatted(REPORT, "junit").encode())
    assert (xml.tests, xml.failures, xml.skipped, xml.errors) == (5, 1, 2, 0)
    suites = {suite.name: list(suite) for suite in xml}
    assert list(suites) == ["src/a b.py", "src/b.py", "not looked at"]
    wrong, passes = suites["src/a b.py"]
    (failure,) = wrong.result
    assert failure.type == "wrong-output"
    assert "\\x1b[31m\\x00 ]]> <script>" in failure.text
    assert passes.result == []
    assert isinstance(suites["src/b.py"][0].result[0], Skipped)


def test_junit_shows_no_character_that_hides_or_turns_others() -> None:
    odd = replace(WRONG, message="a\x85b\u2028c\u202ed\u2066e\ufefff\ud800")
    text = formatted(Report("hunt", (Case("a.py", 1, "f", "wrong", (odd,)),)), "junit")
    assert all(char.isprintable() or char == "\n" for char in text)
    assert r"a\x85b\u2028c\u202ed\u2066e\ufefff\ud800" in text


def test_workflow_commands_hold_no_command_of_the_code() -> None:
    lines = formatted(REPORT, "github").splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::notice", "::notice"]
    assert lines[0].startswith(
        "::error file=src/a b.py,line=3,title=wrong-output%3A Cart.f::f('a,b:c'): 50%25 \\x1b[31m"
    )
    assert "%0Asecond line and 2 more%0Aline 2" in lines[0]
    odd = replace(WRONG, file="a,b:c%.py", function="f\n::error::x")
    (line,) = formatted(Report("hunt", (Case("", 1, "f", "wrong", (odd,)),)), "github").splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25.py,line=3,title=wrong-output%3A f%0A%3A%3A")


def test_a_page_holds_no_markup_of_the_code() -> None:
    text = formatted(REPORT, "html")
    page = ElementTree.fromstring(text[text.index("<main>") : text.index("</body>")])
    assert {one.tag for one in page.iter()} == {
        "main", "h1", "p", "h2", "span", "ul", "li", "code", "pre", "details", "summary",
    }  # fmt: skip
    assert ["".join(one.itertext()) for one in page.iter("h2")] == [
        "fixed Cart.f src/a b.py:3", "differs k src/b.py:5",
    ]  # fmt: skip
    assert "\\x1b[31m\\x00 ]]> <script>" in "".join(page.itertext())
    assert [one.text for one in page.iter("summary")] == ["Also looked at: 2", "Not looked at: 1"]
    diff = [(one.get("class"), one.text) for one in page.iterfind("pre/span")]
    assert ("add", "+    return a + 1") in diff


def test_what_is_against_a_change_lies_where_its_finding_says() -> None:
    found = Finding("green-now", "t.py::test_f", "fails"), Finding("no-skip", "t.py:7", "skips")
    report = report_of_gate(Judged("not proven", "two things", "HEAD", "working tree", found))
    assert report.summary == "not proven: two things"
    assert [(one.file, one.line, one.message) for one in report.problems] == [
        ("t.py", 1, "green-now: fails"), ("t.py", 7, "no-skip: skips"),
    ]  # fmt: skip


def test_a_badge_is_red_where_something_is_wrong() -> None:
    assert json.loads(formatted(REPORT, "badge")) == {
        "schemaVersion": 1, "label": "refute debug", "message": "1 fixed, 1 passes", "color": "red",
    }  # fmt: skip
    assert json.loads(formatted(Report("hunt", ()), "badge"))["color"] == "green"


@pytest.mark.parametrize(
    ("rule", "step"),
    [
        ("no-regression", "fix the code until the tests above pass"),
        ("red-first", "`refute diff --pin after` writes one"),
        ("no-skip", "change the code or the tests"),
    ],
)
def test_the_next_step_of_a_gate_is_about_what_it_found(rule: Rule, step: str) -> None:
    found = (Finding(rule, "t.py", "it is so"),)
    result = GateResult(Judged("not proven", "it is so", "HEAD", "working tree", found))
    assert step in next_step(result)


def test_markdown_shows_what_code_says_as_code() -> None:
    text = formatted(REPORT, "markdown")
    (row,) = [line for line in text.splitlines() if "tick" in line]
    assert "``" in row  # the fence is longer than what is inside
    assert "\\|" in row
    assert row.startswith("| wrong | `src/a b.py:3 Cart.f` |")
    assert "3 known problems are not shown" in text
    many = replace(REPORT, cases=REPORT.cases[:1] * 30)
    assert "and 10 more" in formatted(many, "markdown")


def test_lines_are_as_their_schema_says() -> None:
    lines = [json.loads(line) for line in formatted(REPORT, "jsonl").splitlines()]
    for line in lines:
        Draft202012Validator(schema("line/1")).validate(line)
    assert [line["type"] for line in lines] == ["function"] * 4 + ["skipped", "summary"]
    assert lines[-1]["known"] == 3


@pytest.mark.parametrize("name", [one for one in FORMATS if one not in ("text", "json")])
def test_nothing_found_is_a_document_too(name: str) -> None:
    text = formatted(Report("hunt", ()), name)
    assert text == "" or text.endswith("\n")


def test_a_fingerprint_outlives_what_changes_around_a_problem() -> None:
    moved = replace(WRONG, line=40, message="another", others=0)
    assert moved.fingerprint == WRONG.fingerprint
    others: list[dict[str, Any]] = [{"rule": "crash"}, {"file": "b.py"}, {"function": "g"}]
    for change in [*others, {"detail": "f(2) -> 3"}]:
        assert replace(WRONG, **change).fingerprint != WRONG.fingerprint
    (one,) = merged([WRONG, moved])
    assert (one.line, one.others) == (3, 3)


def test_a_baseline_is_renewed_only_where_one_looked(tmp_path: Path) -> None:
    file = tmp_path / "known.json"

    def written(*cases: Case, rules: tuple[str, ...] = OF_FUNCTIONS) -> list[str]:
        write_baseline(file, Report("hunt", cases), rules)
        check_document(file.read_text())
        return [row["function"] for row in json.loads(file.read_text())["problems"]]

    one = replace(WRONG, file="m.py", function="one")
    two, changed = replace(one, function="two"), replace(STATED, file="m.py", function="one")
    assert written(Case("m.py", 1, "two", "wrong", (two,))) == ["two"]
    assert written(Case("m.py", 1, "one", "wrong", (one,))) == ["one", "two"]
    both = Case("m.py", 1, "one", "differs", (changed,))
    assert written(both, rules=OF_CHANGES) == ["one", "one", "two"]
    assert read_baseline(file) == {each.fingerprint for each in (one, two, changed)}
    assert written(Case("m.py", 1, "one", "passes")) == ["one", "two"]
    assert read_baseline(file) == {two.fingerprint, changed.fingerprint}
