"""The issue as a user hands it over."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.issue.contract import read_issue


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
