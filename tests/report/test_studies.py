"""`refute report` over graded runs: SWT-Bench's tables from journals, and the page about them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from refute.doors import command_line
from refute_lab.swt.study import pass_at, read_graded
from refute_lab.verbs.report import report as refute_report

from .pages import HOSTILE, Page, tables_of

PATCH = "--- a/m.py\n+++ b/m.py\n@@ -1,1 +1,1 @@\n-x = 1\n+x = 2\n"
LINE = [["m.py", 1]]
IDS = [f"{'django__django' if at < 12 else 'psf__requests'}-{at}" for at in range(20)]


def grade(identity: str, status: str) -> dict[str, Any]:
    """The record of a grade: S and F→P with full coverage, or nothing of either."""
    if status == "error":
        return {"id": identity, "status": "error", "error": HOSTILE}
    states = {"success": ("fail", "pass"), "fails_after": ("fail", "fail")}
    own = [[f"t::{HOSTILE}", *states[status], False]] if status in states else []
    covered = LINE if status == "success" else []
    coverage = {"removed": LINE, "added": LINE, "covered_removed": covered, "covered_added": []}
    return {
        "id": identity,
        "status": status,
        "own": own,
        "broken": [],
        "remarks": [HOSTILE],
        "others": [],
        "coverage": coverage if own else None,
        "golden_coverage": coverage if own else None,
        "golden": {"works": True, "missing": []},
        "repo": "x/y",
        "seconds": 1.0,
    }


def write(folder: Path, settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    lines = [{"journal": 1, "settings": settings}, *rows]
    (folder / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


class Runs:
    """A dataset of twenty instances in two repositories, and runs over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows = folder / "rows.jsonl"
        rows = [
            {
                "instance_id": identity,
                "repo": identity.split("-")[0].replace("__", "/"),
                "base_commit": "0" * 40,
                "problem_statement": "word " * (20 if at % 2 else 900),
                "patch": PATCH,
                "test_patch": PATCH.replace("m.py", "test_m.py"),
                "created_at": f"20{10 + at}-01-01T00:00:00Z",
            }
            for at, identity in enumerate(IDS)
        ]
        self.rows.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def grades(
        self, name: str, solves: Sequence[int], *, errors: Sequence[int] = (), **settings: Any
    ) -> Path:
        """Predictions from elsewhere: instance 19 fails after, what is not solved is empty."""
        rows = [self._grade(at, solves, errors) for at in range(20)]
        header = {"kind": "grades", "dataset": str(self.rows), "model": name}
        return write(self.folder / name, {**header, **settings}, rows)

    def bench(
        self, name: str, samples: Sequence[Sequence[int]], *, grades: bool = True, **settings: Any
    ) -> Path:
        """A run of ours with a price; its samples beyond the first are alternatives."""
        tally = {"samples": 2, "cached": 1, "prompt_tokens": 900, "completion_tokens": 100}
        work = [
            {
                "id": identity,
                "status": "predicted",
                "prediction": {"patch": f"+{HOSTILE}\n", "notes": [HOSTILE], "confidence": 0.5},
                "tally": {**tally, "usd": 0.25},
                "alternatives": [],
                "steps": [],
                "seconds": 36.0,
            }
            for identity in IDS
        ]
        header = {"kind": "issues", "dataset": str(self.rows), "method": "libro", "problems": 20}
        folder = write(self.folder / name, {**header, **settings}, work)
        for number, solves in enumerate(samples if grades else ()):
            file = "predictions" if number == 0 else f"predictions.{number - 1}"
            rows = [self._grade(at, solves, ()) for at in range(20)]
            graded = {"kind": "grades", "dataset": str(self.rows), "model": "m"}
            write(folder / "grades" / file, graded, rows)
        return folder

    @staticmethod
    def _grade(at: int, solves: Sequence[int], errors: Sequence[int]) -> dict[str, Any]:
        if at in errors:
            return grade(IDS[at], "error")
        if at in solves:
            return grade(IDS[at], "success")
        return grade(IDS[at], "fails_after" if at == 19 else "empty")


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def report(capsys: pytest.CaptureFixture[str], *words: str | Path) -> dict[str, list[list[Any]]]:
    assert command_line.run(["report", *map(str, words), "--format", "json"]) == 0
    return tables_of(json.loads(capsys.readouterr().out))


def test_the_tables(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    first = runs.grades("first", range(10))
    second = runs.grades("second", [0, 1, 15], errors=[9])
    tables = report(capsys, first, second)
    one, two = tables["figures"]
    assert one[:2] == ["first", 20]
    # A, F→×, F→P; S, ΔC, ΔC of S, ΔC of others
    assert [*one[2:5], *one[6:]] == pytest.approx([55, 55, 50, 50, 25, 50, 0])
    assert two[1] == 19
    (repositories,) = refute_report(first, second).chosen(["by-repository"])
    assert repositories.heads == ("", "django/django", "psf/requests")
    sizes, of_first, of_second = tables["by-repository"]
    assert sizes == ["instances", 12, 8]
    assert of_first[1] == pytest.approx(100 * 10 / 12)
    cell = repositories.rows[1].cells[1]
    assert (cell.low, cell.high) == pytest.approx((55.2, 95.3), abs=0.1)
    assert of_second[1:] == pytest.approx([100 * 2 / 11, 100 / 8]), "no grade is not counted"
    assert tables["by-length"][0][1:] == [10, 10]
    assert tables["overlap"] == [
        ["first", 7],
        ["all", 2],
        ["second", 1],
        ["the ideal ensemble", 10],
    ]
    ((*counts, difference, p, adjusted),) = tables["pairs"]
    assert counts == ["first / second", "S", 19, 7, 1]
    assert p == adjusted == pytest.approx(2 * 9 / 256)
    assert difference == pytest.approx(600 / 19)


def test_a_run_of_bench_with_samples(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    folder = runs.bench("b", [[0, 1], [0, 1], [1, 2], [1]], model="openai:m")
    tables = report(capsys, folder)
    assert [(row[0], row[6]) for row in tables["figures"]] == [
        ("libro", pytest.approx(10)),
        ("pass@3 of libro", pytest.approx(15)),
    ]
    [[_, *pass_at_k]] = tables["samples"]
    assert pass_at_k == pytest.approx([5 * (1 + 1 / 3 + 1 / 3), 5 * (1 + 2 / 3 + 2 / 3), 15])
    [cost] = tables["cost"]
    assert cost[:4] == ["libro", 20, 60, 20_000], "an oracle has no cost"
    assert cost[4:7] == pytest.approx([5.0, 0.25, 2.5])
    assert "pairs" not in tables, "an oracle is no method to compare with"
    # The folder of its grades is the same run.
    (same,) = read_graded(folder / "grades" / "predictions")
    assert (same.method, same.model, len(same.work)) == ("libro", "openai:m", 20)


def test_models_and_contexts_tell_runs_apart(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [
        runs.bench("a", [[0]], model="m"),
        runs.bench("b", [[1]], model="m", code_patch="golden", patch_may_be_wrong=True),
        runs.bench("c", [[1]], model="m", test_files="golden"),
    ]
    assert [row[0] for row in report(capsys, *folders)["figures"]] == [
        "libro",
        "libro, golden patch, told that it may be wrong",
        "libro, golden test files",
    ]


def test_solving_tests_and_solving_fixes(runs: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    results = runs.folder / "agent.json"
    results.write_text(json.dumps({"resolved": [*IDS[:5], "elsewhere-1"], "applied": IDS}))
    [row] = report(capsys, runs.grades("first", range(10)), "--fixes", results)["fixes"]
    # n, tests, fixes, both, so many if independent
    assert row[:6] == ["first", 20, 10, 5, 5, 2.5]
    # 252 of 15504 ways to choose five of twenty lie within the ten; and as many outside them.
    assert row[7] == pytest.approx(2 * 252 / 15504)
    results.write_text('{"other": 1}')
    assert command_line.run(["report", str(runs.folder / "first"), "--fixes", str(results)]) == 2
    assert "resolved" in capsys.readouterr().err


def test_what_fixes_resolve_stands_beside_the_tests_by_repository(runs: Runs) -> None:
    results = runs.folder / "agent.json"
    results.write_text(json.dumps({"resolved": IDS[:3]}))
    found = refute_report(runs.grades("first", range(10)), fixes=[results])
    (table,) = found.chosen(["by-repository"])
    assert table.heads == ("", "django/django", "psf/requests")
    rows = {row.cells[0].text: row.cells[1:] for row in table.rows}
    assert [cell.value for cell in rows["instances"]] == [12, 8]
    assert [cell.value for cell in rows["fixes: agent"]] == [25, 0]
    assert rows["fixes: agent"][1].high == pytest.approx(32.4, abs=0.1), "0 of 8 is no certainty"


def test_runs_are_restricted_to_their_common_instances(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = runs.grades("first", range(10)), runs.grades("second", [0], errors=[9, 19])
    text = str(refute_report(first, second))
    assert "warning: the runs cover different instances (18 to 20 each, 18 in common)" in text
    found = refute_report(first, second, common=True)
    assert [row[1] for row in tables_of(found.to_dict())["figures"]] == [18, 18]
    assert "warning" not in str(found)
    nothing = runs.grades("nothing", [], errors=range(20))
    assert command_line.run(["report", str(first), str(nothing), "--set", "common=true"]) == 2
    assert "no instance in common" in capsys.readouterr().err


def test_a_sample_of_pass_k_is_not_called_pass_k(runs: Runs) -> None:
    folder = runs.bench("p", [[0], [0], [1]], method="pass@2", model="m")
    (figures,) = refute_report(folder).chosen(["figures"])
    assert [row.cells[0].text for row in figures.rows] == ["first sample of pass@2", "pass@2"]
    assert [row.cells[6].value for row in figures.rows] == [5, 10]


def test_runs_whose_coverage_counts_other_lines_are_told_apart(runs: Runs) -> None:
    printed = runs.grades("p", [1], terms={"executable": "printed"})
    figures, table = refute_report(runs.grades("a", [1]), printed).chosen(["figures", "swt-2"])
    assert "ΔC counts other lines from run to run (executable): a: own; p: printed" in (
        figures.notes
    )
    assert table.notes[1:] == ("ΔC of a counts other lines than version 1's (executable=printed)",)
    (alone,) = refute_report(printed).chosen(["swt-2"])
    assert len(alone.notes) == 1


def test_the_page_is_self_contained_and_hostile_text_stays_text(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [
        runs.bench("b", [[0, 1], [0], [1, 2]], model=HOSTILE),
        runs.grades("first", range(10), errors=[11]),
    ]
    page = runs.folder / "page.html"
    words = ["report", *map(str, folders), "-o", str(page), "--set", "cutoff=2015-06-01"]
    assert command_line.run(words) == 0
    out = capsys.readouterr().out
    assert "McNemar" in out
    assert "until 2015-06-01" in out
    text = page.read_text()
    found = Page(text)
    assert not found.open, "every tag is closed"
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    assert found.addresses == []
    assert "default-src 'none'" in text
    shown = "".join(found.words)
    assert HOSTILE in shown
    for part in ("reproduces the issue (10)", "without a grade (1)", "pass@2", "ideal ensemble"):
        assert part in shown
    assert "SWE-Agent" in shown, "the claims are those of SWT-Bench"
    assert "UTGen" not in shown
    assert "nan" not in text.replace("nanum", "")
    assert text.index("ΔC of others") < text.index("<h3>"), "the main table is the first thing"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bare"], "--grade"),
        (["first", "bare"], "--grade"),
        (["first", "nothing"], "nothing: no run is there"),
        (["first", "functions"], "one kind at a time"),
        (["first", "--set", "cutoff=May"], "2023-04-30"),
        (["first", "--fixes", "missing.json"], "missing.json"),
        (["empty"], "no instance has a grade"),
    ],
)
def test_what_cannot_be_reported_on(
    runs: Runs,
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(runs.folder)
    runs.grades("first", [1])
    runs.bench("bare", [], grades=False)
    write(runs.folder / "empty", {"kind": "grades", "dataset": str(runs.rows), "model": "m"}, [])
    write(runs.folder / "functions", {"dataset": "d", "method": "search"}, [])
    assert command_line.run(["report", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_filters_of_a_run_are_reported_with_it(
    runs: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = runs.bench("b", [[0, 1, 2, 3]])
    rows = [
        {
            "id": IDS[at],
            "status": "judged" if at < 8 else "not_applied",
            "resolved": at in (0, 1, 9),
            "verdict": "success" if at in (1, 2) else "fails_after",
            "confidence": 0.9 if at == 1 else 0.4,
        }
        for at in range(10)
    ]
    rows[9] = {"id": IDS[9], "status": "error", "error": HOSTILE}
    dataset = str(runs.rows)
    header = {"kind": "filter", "dataset": dataset, "fixer": HOSTILE, "tests": "libro"}
    filtered = write(folder / "filter" / "agent", header, rows)
    assert command_line.run(["report", str(folder), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    again = refute_report(folder)
    assert again.to_dict() == document, "the same document as in a program"
    every, kept, sure = tables_of(document)["filter"]
    assert (every[3], *kept[3:], sure[3]) == (25, 50, 50, 100)
    [[_, _, tests, _, both, *_]] = tables_of(document)["fixes"]
    assert (tests, both) == (4, 2)
    # Alone it is reported as well, and given twice it is there once.
    page = runs.folder / "page.html"
    assert command_line.run(["report", str(filtered), "-o", str(page)]) == 0
    assert "kept by generated tests" in capsys.readouterr().out
    assert page.read_text() == refute_report(filtered).page()
    read = Page(page.read_text())
    assert not read.open
    assert "Precision over recall" in "".join(read.words)
    assert HOSTILE in "".join(read.words)
    assert "script" not in read.tags
    assert command_line.run(["report", str(folder), str(filtered), "--format", "json"]) == 0
    assert capsys.readouterr().out.count('"filter"') == 1


def test_samples_with_trouble_are_left_out(runs: Runs) -> None:
    folder = runs.bench("b", [[0], [0], [0]])
    path = folder / "grades" / "predictions.1" / "journal.jsonl"
    lines = path.read_text().splitlines()
    lines[1] = json.dumps(grade(IDS[0], "error"))
    path.write_text("\n".join(lines) + "\n")
    run = read_graded(folder)[0]
    assert [figure.value for figure in pass_at(run)] == [0.0, 0.0], "instance 0 has no second grade"


def test_a_run_stands_beside_the_leaderboards_best(
    runs: Runs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.rows.rename(runs.folder / "SWE-bench_Verified.jsonl")
    monkeypatch.setenv("REFUTE_DATA", str(runs.folder))
    folder = runs.grades("first", range(10), dataset="swt-verified")
    assert command_line.run(["report", str(folder), "--format", "json"]) == 0
    [main, *_] = json.loads(capsys.readouterr().out)["tables"]
    said = "S of the leaderboard's best: tex-t 87.0 (dated 2025-12-17, reproduction mode), l*agent"
    assert any(note.startswith(said) for note in main["notes"])
