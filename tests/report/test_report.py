"""`refute report`: figures from journals, beside the paper's; a page that is safe to open."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from refute.core.registry import presets_of
from refute.doors import command_line
from refute_lab.benches import read_result
from refute_lab.report.function_grids import run_labels

from .function_runs import record, write_run
from .pages import HOSTILE, Page, tables_of


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [record(f"HumanEval/{at}", passes=at < 3) for at in (10, 9, 2, 0)]
    rows.append({"id": "HumanEval/4", "status": "error", "error": HOSTILE})
    return write_run(tmp_path / "run", rows)


def test_the_page_is_self_contained_and_hostile_text_stays_text(run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", [record("HumanEval/2", passes=True)], n=1)
    output = tmp_path / "page.html"
    assert command_line.run(["report", str(run), str(other), "-o", str(output)]) == 0
    text = output.read_text()
    page = Page(text)
    assert not page.open, "every tag is closed"
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert page.addresses == []
    assert "default-src 'none'" in text
    assert "url(" not in text
    shown = "".join(page.words)
    assert HOSTILE in shown
    assert "x" * 601 not in shown
    assert page.tags.count("svg") > 6
    for words in ("wrong fixes (2)", "right fixes (2)", "without a result (1)", "rounds of debug"):
        assert words in shown
    assert "unit tests (n)" in shown, "two runs differ in n alone"
    assert "n = 1" in shown
    assert "-    return n" in shown
    assert "+    return n + 1" in shown
    assert "not asked for" in shown


def test_figures_come_from_the_journal(run: Path) -> None:
    result, records = read_result(run)
    assert [r.id for r in records] == [f"HumanEval/{at}" for at in (0, 2, 4, 9, 10)]
    assert (result.n, result.wrong_fixes, result.missing) == (4, 2, 0)
    assert result.figures["attack_rate"].value == pytest.approx(1 / 3)
    assert result.figures["output_accuracy"].value == pytest.approx(2 / 3)
    assert result.figures["kept_attack_rate"].value == 1.0
    assert [figure.value for figure in result.rounds] == [0.0, 0.0, 0.5]
    assert result.rounds[2].stderr == pytest.approx(math.sqrt(1 / 3) / 2)
    assert (result.cost.samples, result.cost.unreadable, result.cost.saved) == (36, 8, 8)
    assert result.cost.usd is None, "no price is not a price of 0"


def test_the_paper_stands_beside_the_runs(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert command_line.run(["report", str(run)]) == 0
    out = capsys.readouterr().out
    assert "paper:" not in out, "m is not a model of the paper's, so there is no figure"
    assert "33.33 [" in out
    as_model = ("--set", "paper_model=Qwen2.5 7B")
    assert command_line.run(["report", str(run), "--format", "json", *as_model]) == 0
    document = json.loads(capsys.readouterr().out)
    tables = tables_of(document)
    assert tables["figures"][0][5] == 50
    assert {row[1]: row[3] for row in tables["paper"]} == pytest.approx(
        {"attack": 96.54, "output": 72.9, "both": 72.48}
    ), "Table 6; two rounds are not the three of Table 2"
    assert all("Qwen2.5 7B" in row[5] for row in tables["paper"])


def test_a_run_under_way_is_read_and_left_alone(run: Path) -> None:
    path = run / "journal.jsonl"
    torn = path.read_bytes()[:-20]
    path.write_bytes(torn)
    result, records = read_result(run)
    assert (len(records), result.missing) == (4, 1)
    assert path.read_bytes() == torn


@pytest.mark.parametrize("content", [None, '{"journal": 1, "settings": {"other": 1}}\n', "x\n"])
def test_what_is_no_run(
    tmp_path: Path, content: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "journal.jsonl").write_text(content)
    assert command_line.run(["report", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert str(tmp_path) in err
    assert err.count("\n") == 1


def test_a_page_among_the_runs_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    page.write_text("<html>")
    assert command_line.run(["report", str(run), str(page)]) == 2
    assert f"{page}: is a file" in capsys.readouterr().err


def test_labels_say_no_more_than_they_must(tmp_path: Path) -> None:
    def labels(*settings: dict[str, Any]) -> list[str]:
        rows = [record("HumanEval/2", passes=True)]
        names = [tmp_path / f"{len(list(tmp_path.iterdir()))}-{at}" for at in range(len(settings))]
        runs = [write_run(n, rows, **s) for n, s in zip(names, settings, strict=True)]
        return run_labels([read_result(one)[0] for one in runs])

    assert labels({"m": 3}, {"m": 3, "method": "random"}) == ["utgen", "random"]
    assert labels({"m": 3}, {"method": "random"}) == ["utgen", "random m=2"]
    assert labels({"m": 3}, {"m": 3, "model": "hf:a/x"}) == ["utgen m", "utgen x"]
    assert labels({"m": 3}, {"m": 3, "model": "hf:m"}) == ["utgen openai:m", "utgen hf:m"]
    assert labels({"m": 3}, {"m": 3, "vote": False}) == [
        "utgen",
        "utgen vote=False",
    ]
    preset = presets_of("function")["paper"]
    paper = {"m": 3, "preset": "paper", **preset.options, **preset.settings}
    assert labels({"m": 3}, paper) == ["utgen", "utgen preset=paper"]
    guarded = {**paper, "guard": True}
    assert labels(paper, guarded) == ["utgen", "utgen guard=True"], "also what is the default"
    same = labels({"m": 3}, {"m": 3})
    assert same[0].startswith("utgen [")
    assert same[0] != same[1]
