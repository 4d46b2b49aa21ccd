"""Recorded answers, also those written by hand."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from refute.errors import InputError, ModelUnavailable
from refute.models.cache import ReplayModel
from refute.models.contract import GREEDY, Message, Sampling

HELLO = [Message("user", "hello")]
ASKED = [{"role": "user", "content": "hello"}]


def replayed(path: Path, n: int = 1, first: int = 0, sampling: Sampling = GREEDY) -> list[str]:
    model = ReplayModel(path)
    answers = asyncio.run(model.generate(HELLO, n=n, sampling=sampling, first=first))
    return [answer.text for answer in answers]


def write(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


def test_lines_by_hand(tmp_path: Path) -> None:
    """Without sampling and number, they answer the samples in their order."""
    path = write(
        tmp_path / "a.jsonl",
        {"messages": ASKED, "completion": "first"},
        {"messages": ASKED, "completion": {"text": "second\u2028line"}},
        {"messages": ASKED, "number": 5, "completion": "sixth"},
        {"messages": ASKED, "number": 5, "completion": "not this one"},
        {
            "messages": ASKED,
            "sampling": {"temperature": 0, "top_p": 1},
            "number": 1,
            "completion": "greedy second",
        },
    )
    assert replayed(path, 2, sampling=Sampling()) == ["first", "second\u2028line"]
    assert replayed(path, 2) == ["first", "greedy second"]
    assert replayed(path, 1, first=5) == ["sixth"]


def test_the_line_that_is_missing_is_named_and_works(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"messages": ASKED, "completion": "first"})
    with pytest.raises(ModelUnavailable) as caught:
        replayed(path, 2, sampling=Sampling(seed=3))
    found = re.fullmatch(rf"{re.escape(str(path))} has no answer; add: (.*)", str(caught.value))
    assert found
    path.write_text(path.read_text() + "\n\n" + found.group(1).replace("...", "added") + "\n")
    assert replayed(path, 2, sampling=Sampling(seed=3)) == ["first", "added"]
    with pytest.raises(ModelUnavailable):
        replayed(path, 2, sampling=Sampling(seed=4))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "Expecting property name"),
        ('{"completion": "x"}', "needs `messages`"),
        (
            '{"messages": [{"role": "x", "content": ""}], "completion": "x"}',
            "enum value 'x' - at `$.role`",
        ),
        ('{"messages": [], "number": -1, "completion": "x"}', "number"),
        ('{"messages": [], "sampling": {"stop": 1}, "completion": "x"}', "stop"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_wrong_line_is_named(line: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = json.dumps({"messages": ASKED, "completion": "x"})
    path.write_bytes(f"{good}\n\n{line}".encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError) as caught:
        ReplayModel(path)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_name_tells_contents_apart(tmp_path: Path) -> None:
    """So that no cache holds on to what a file said before it was edited."""
    one = ReplayModel(write(tmp_path / "a.jsonl", {"messages": ASKED, "completion": "x"})).name
    same = ReplayModel(tmp_path / "a.jsonl").name
    other = ReplayModel(write(tmp_path / "a.jsonl", {"messages": ASKED, "completion": "y"})).name
    assert one == same != other
    assert one.startswith("replay:a.jsonl")
