"""Runs over functions beside each other: paired tests, Figure 4, the paper's tables, formats."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.doors import command_line
from refute_lab.benches import read_result
from refute_lab.figures import mcnemar, paired_interval
from refute_lab.report.function_grids import PageRun, by_tests, dataset_studies
from refute_lab.verbs.report import FunctionReport
from refute_lab.verbs.report import report as refute_report

from .function_runs import record, write_run
from .pages import tables_of

QWEN = "openai:Qwen/Qwen2.5-Coder-7B-Instruct"


class Runs:
    """Runs in a folder, each given by the problems that it solves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, solves: Sequence[int], of: Sequence[int], **settings: Any) -> Path:
        rows = [record(f"HumanEval/{at}", passes=at in solves) for at in of]
        for row in rows:
            passed = row["grade"]["rounds"][-1]
            row["grade"]["rounds"] += [passed] * (settings.get("m", 2) - 2)
        return write_run(self.folder / name, rows, **settings)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def tables(*folders: Path, **options: Any) -> dict[str, list[list[Any]]]:
    return tables_of(refute_report(*folders, **options).to_dict())


def test_two_runs_are_compared_on_the_same_problems(runs: Runs) -> None:
    first = runs.add("a", range(7), range(10))
    second = runs.add("b", [0, 1, 9], range(2, 12), vote=False)
    pairs = tables(first, second)["pairs"]
    *counts, difference, p, adjusted = next(row for row in pairs if row[1] == "code")
    assert counts[2:] == [8, 5, 1]
    assert p == adjusted == mcnemar(5, 1)
    assert difference == pytest.approx(50)
    (grid,) = refute_report(first, second).chosen(["pairs"])
    cell = next(row.cells[5] for row in grid.rows if row.cells[1].text == "code")
    wanted = paired_interval(5, 1, 8)
    assert (cell.low, cell.high) == pytest.approx((100 * wanted.low, 100 * wanted.high))
    text = str(refute_report(first, second))
    assert "warning: the runs cover different problems (10 each, 8 in common)" in text
    common = tables(first, second, common=True)
    assert [row[1] for row in common["figures"]] == [8, 8]
    assert "warning" not in str(refute_report(first, second, common=True))


def test_several_runs_of_a_problem_are_one_pair(runs: Runs) -> None:
    rows = [record("HumanEval/1", passes=True), record("HumanEval/1", passes=False)]
    rows[1]["id"] = "HumanEval/1 run 2"
    twice = write_run(runs.folder / "twice", rows, runs=2, method="random")
    pair = tables(twice, runs.add("b", [1], [1]))["pairs"][0]
    assert pair[2:6] == [1, 0, 1, -50]


def test_runs_of_other_options_do_not_overwrite_each_others_points(runs: Runs) -> None:
    folders = [
        runs.add("n1", range(4), range(4), n=1),
        runs.add("n2", range(4), range(4), n=2),
        runs.add("n3", range(4), range(4), n=3),
        runs.add("again", range(2), range(4), n=3),
        runs.add("tests-only", [], range(4), n=3, m=0),
        runs.add("no-vote", [], range(4), n=1, vote=False),
    ]
    found = [PageRun(*read_result(folder)) for folder in folders]
    lines = by_tests(dataset_studies(found)[0])
    (points,) = lines.values()
    assert {n: figure.value for n, figure in points.items()} == {1: 1.0, 2: 1.0, 3: 1.0}
    assert points[3].low == pytest.approx(0.51, abs=0.01), "4 of 4 is no certainty"


def test_the_papers_tables_are_filled(runs: Runs) -> None:
    shared = {"model": QWEN, "m": 3, "guard": False}
    report = refute_report(
        runs.add("full", range(6), range(10), **shared),
        runs.add("no-vote", range(3), range(10), vote=False, **shared),
        runs.add("hard", range(3), range(10), dataset="mbpp-fix-hard", **shared),
    )
    assert isinstance(report, FunctionReport)
    (table,) = report.chosen(["utgen-2"])
    assert table.heads == ("model", "method", "he-fix", "mbpp-fix-hard")
    cells = [[cell.text.partition(" [")[0] for cell in row.cells] for row in table.rows]
    assert cells[0][2:] == ["60.00", "30.00"]
    assert cells[1][1:] == ["  paper", "82.91", "29.41"]
    (table,) = report.chosen(["utgen-4"])
    assert [row.cells[2].text for row in table.rows] == ["UTDebug", "no vote"]
    assert table.rows[1].cells[4].value == pytest.approx(-30)
    (beside,) = (grid for grid in report.chosen(["paper"]) if "hard" in grid.title)
    row = next(row for row in beside.rows if row.cells[1].text == "code")
    assert [cell.text for cell in row.cells[3:4]] == ["29.41"]
    assert row.cells[6].text == "10 of 170"


@pytest.mark.parametrize("continued", [True, False, None])
def test_votes_that_were_asked_for_by_a_question_stand_beside_the_papers_figures(
    runs: Runs, continued: bool | None, tmp_path: Path
) -> None:
    """The settings say what was wanted; a model that continues nothing got something else."""
    rows = [record(f"HumanEval/{at}", passes=True) for at in range(4)]
    for row in rows:
        row["log"]["suites"][0][0]["vote"]["continued"] = continued
        row["grade"]["rounds"].append("11")
    folder = write_run(
        runs.folder / "a", rows, model=QWEN, m=3, preset="paper", evaluation="paper", guard=False,
        raises=False, shown="last", vote_by="continuation",
    )  # fmt: skip
    beside = tables(folder)["paper"]
    fell_back = continued is False
    assert [row[7:] for row in beside] == [["vote_by=question"] * fell_back] * 4
    report = refute_report(folder)
    assert isinstance(report, FunctionReport)
    (main,) = report.chosen(["figures"])
    theirs = [row.cells[0].text for row in main.rows if row.kind == "paper"]
    assert [name.endswith("of other settings") for name in theirs] == [fell_back] * len(theirs)
    said = "4 votes by a question, not by a continuation"
    assert (said in str(report)) == fell_back
    assert command_line.run(["report", str(folder), "-o", str(tmp_path / "page.html")]) == 0
    assert (said in (tmp_path / "page.html").read_text()) == fell_back


def test_a_run_that_is_given_tests_is_another_experiment(runs: Runs) -> None:
    shared = {"model": QWEN, "m": 3, "guard": False}
    assert tables(runs.add("bare", [0], range(4), **shared))["paper"]
    assert "paper" not in tables(runs.add("given", [0], range(4), failing_tests=1, **shared))


def test_table_3_has_a_row_for_each_judge_one_sample_and_the_perfect_judge(runs: Runs) -> None:
    folder = runs.add("judge", [0, 1], range(4), dataset="humaneval+", method="judge:mine", m=0)
    (table,) = refute_report(folder).chosen(["utgen-3"])
    assert [row.cells[1].text for row in table.rows] == ["judge:mine"]


def test_on_the_page_a_place_without_a_number_stands_below_the_numbers(
    runs: Runs, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    folder = str(runs.add("a", [0], range(4)))
    assert command_line.run(["report", folder, "-o", str(page)]) == 0
    places = re.findall(r'<td class="(\w*)">-</td>', page.read_text())
    assert places
    assert set(places) == {"n"}


def test_every_format_is_printed(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(runs.add("a", range(3), range(4)))
    assert command_line.run(["report", folder, "--format", "csv", "--table", "figures"]) == 0
    head, row = csv.reader(io.StringIO(capsys.readouterr().out))
    assert dict(zip(head, row, strict=True))["code low"][:2] == "30"
    assert command_line.run(["report", folder, "--format", "latex"]) == 0
    text = capsys.readouterr().out
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") >= 3
    assert command_line.run(["report", folder, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [table["name"] for table in found["tables"]][:2] == ["figures", "rounds"]
    assert command_line.run(["report", folder, "--table", "more"]) == 0
    assert "further figures" in capsys.readouterr().out
    for words in (["--table", "x"], ["--set", "paper_model=x"]):
        assert command_line.run(["report", folder, *words]) == 2
        err = capsys.readouterr().err
        assert "x:" in err
        assert err.count("\n") == 1
