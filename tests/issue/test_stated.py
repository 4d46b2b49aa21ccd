"""What an issue states beside the reproducing test is run with a fix and without it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.issue.contract import read_issue
from refute.issue.stated import Said, inputs_of
from refute.verbs.vet import vet

from .projects import CLAMP, GOLDEN_TESTS, ISSUE, Project
from .shop import diff


def fixed(condition: str) -> str:
    """A fix for what meets the condition; the rest stays as it is."""
    above = "    if value > high:\n"
    return diff(
        "shapes/line.py",
        CLAMP,
        CLAMP.replace(above, f"    if {condition}:\n        return high\n{above}"),
    )


@pytest.mark.parametrize(
    ("condition", "said", "verdict", "why"),
    [
        ("value > high", "`clamp(7, 0, 5)` is 0, too; for 4 it works.", "fixed", "failed before"),
        ("value == 10", "It is 0 for 30 as well.", "not fixed", "where a value is 10"),
        # the value goes the same way through the code as the example's, and is left behind
        ("value - high <= high < value", "It is 0 for 31 as well.", "cannot tell", "states 31"),
        ("value > high > 8", "`clamp(7, 0, 5)` gives `0`.", "cannot tell", "clamp(7, 0, 5) of"),
        ("high < value < 70", "", "cannot tell", "that 70 is the right number"),
        ("high < value and value > 0", "", "cannot tell", "that 0 is the right number"),
        ("high < value and value % 2 == 0", "", "cannot tell", "by `value % 2 == 0`"),
    ],
)  # fmt: skip
def test_vet(
    project: Project, tmp_path: Path, condition: str, said: str, verdict: str, why: str
) -> None:
    (tmp_path / "fix.diff").write_text(fixed(condition))
    (tmp_path / "test.patch").write_text(GOLDEN_TESTS)
    (tmp_path / "issue.md").write_text(f"{ISSUE}\n{said}\n")
    found = vet(
        tmp_path / "fix.diff", issue=tmp_path / "issue.md", tests=tmp_path / "test.patch",
        repo=Path(project.folder), behaviour=False, neighbours=0,
    )  # fmt: skip
    assert (found.verdict, why in found.vetted.reason) == (verdict, True), found.vetted.reason


def test_inputs_are_what_is_given_and_not_what_works() -> None:
    text = (
        "ordinal is wrong\n\nPython 3.11, line 7 of 12.\n\n>>> ordinal(11)\n'11st'\n\n"
        "The same for 113 and `-12`. `ordinal(21)` is fine, but `ordinal([1])` raises.\n"
        "It should not: `x` works not."
    )
    inputs = inputs_of(text)
    assert inputs.values == ("-12", "113", "x")
    assert inputs.said[0] == Said("ordinal(11)", "'11st' ")
    assert [one.source for one in inputs.said] == ["ordinal(11)", "ordinal([1])"]


def test_text_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "issue.md"
    file.write_bytes(b"\xef\xbb\xbfTitle\r\n\r\nBody `x`\r\n")
    assert read_issue(str(file)) == "Title\n\nBody `x`\n"


@pytest.mark.parametrize(
    "document",
    [
        {"title": "T", "body": "a\r\nb", "number": 3, "comments": 7},
        [{"title": "T", "body": "a\nb"}],
        {"action": "opened", "issue": {"title": "T", "body": "a\nb"}},
    ],
)
def test_github_json(tmp_path: Path, document: object) -> None:
    file = tmp_path / "issue.json"
    file.write_text(json.dumps(document))
    assert read_issue(str(file)) == "T\na\nb"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"T\nbody")))
    assert read_issue("-") == "T\nbody"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"  \n", "the issue is empty"),
        (b"a\xff", "not UTF-8 text (byte 1)"),
        (b'{"body": "x"}', "JSON without a `title`"),
        (b'{"title": "x", "body": 3}', "`body` is not text"),
        (b"x" * (1 << 20) + b"x", "longer than 1 MiB"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, data: bytes, line: str) -> None:
    file = tmp_path / "issue"
    file.write_bytes(data)
    with pytest.raises(InputError, match=line.replace("(", r"\(").replace(")", r"\)")) as error:
        read_issue(str(file))
    assert "\n" not in str(error.value)
    assert str(file) in str(error.value)
