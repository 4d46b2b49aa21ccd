"""Planted endings of agents get the verdict that is due; `benchmarks/gate_endings.py` has all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import refute as api
from refute.gating.running import RULES

from .endings import (
    ENDINGS,
    ONE_EXAMPLE,
    QUICK_ONES,
    RIGHT,
    SPAN,
    SPAN_TESTS,
    WRONG,
    Ending,
    git,
    left_again,
    planted,
)

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One repository for all: its tree is made ready once."""
    place = tmp_path_factory.mktemp("endings")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(place / "cache"))
        yield planted(QUICK_ONES[0], place / "repo")


def test_the_set() -> None:
    assert (len(RIGHT), len(WRONG)) == (10, 20)
    assert {one.rule for one in WRONG} == set(RULES) - {"not-vacuous", "one-example"}
    assert len({one.name for one in ENDINGS}) == 30


@pytest.mark.parametrize(
    "ending", [one for one in QUICK_ONES if one.rule], ids=lambda one: one.name
)
def test_wrong_endings(ending: Ending, folder: Path) -> None:
    left_again(ending, folder)
    result = api.gate(repo=folder, behaviour=False, **ending.options)
    found = [one for one in result.judged.findings if one.rule == ending.rule]
    assert found, result
    assert result.verdict == "not proven"
    assert all(one.shown for one in found)
    first = result.judged.findings[0]
    if first.rule in ("not-weakened", "expected-said", "no-test-lost", "no-skip"):
        assert result.judged.reason.startswith(f"{first.where}: ")


def test_one_example_is_a_note_where_nobody_asks(folder: Path) -> None:
    left_again(ONE_EXAMPLE, folder)
    how = {"repo": folder, "behaviour": False, **ONE_EXAMPLE.options}
    result = api.gate(**how)
    assert result.verdict == "proven"
    assert any("number > 4" in note for note in result.judged.notes)
    asked = api.gate(**how, rules=("one-example", "red-first"))
    assert {one.rule for one in asked.judged.findings} == {"one-example"}


def test_tests_that_run_on_neither_side_are_no_verdict(folder: Path) -> None:
    (ending,) = (one for one in QUICK_ONES if one.is_right)
    left_again(ending, folder)
    (folder / "test_span.py").write_text("import nowhere_to_be_found\n" + SPAN_TESTS)
    git(folder, "commit", "-qam", "needs something")
    try:
        (folder / "span.py").write_text(SPAN)
        with pytest.raises(api.Unavailable, match="on the old code either: ModuleNotFoundError"):
            api.gate(repo=folder, base="HEAD", runner="unittest")
    finally:
        git(folder, "reset", "-q", "--hard", "HEAD~1")


def test_a_right_ending(refute: Run, folder: Path) -> None:
    (ending,) = (one for one in QUICK_ONES if one.is_right)
    left_again(ending, folder)
    status, out, err = refute(
        "gate", "-C", folder, "--json", "--runner", "unittest", "--no-behaviour"
    )
    assert status == 0, err
    document = json.loads(out)
    assert (document["verdict"], document["base"]) == ("proven", "HEAD")
    assert [one.rpartition(".")[2] for one in document["red_to_green"]] == ["test_hours"]
    assert git(folder, "status", "--short") == " M span.py\n M test_span.py"
