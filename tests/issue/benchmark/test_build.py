"""A benchmark built from a real repository's merges, its tests run in real workspaces."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import IssueProblem
from refute.core.storage import cache_folder
from refute.doors.command_line import run as refute
from refute.errors import DatasetError, WorkspaceUnavailable
from refute.workspace.contract import Failure, TestReport, TestResult, Workspace
from refute.workspace.factory import open_workspace, prepare
from refute.workspace.infer import infer_recipe
from refute.workspace.patches import test_files, touched_files
from refute.workspace.repositories import find_clone
from refute_lab.datasets.swe import load_issues
from refute_lab.runs import Journal
from refute_lab.swt import PatchedState, counted_lines, state_reports
from refute_lab.swt.build import (
    RECORDS,
    BuildSettings,
    BuiltBenchmark,
    Issue,
    Place,
    Pull,
    build,
    change_of,
    measured,
    read_issues,
    read_pulls,
    resolved_issues,
)
from refute_lab.swt.workspaces import recipe_of_row
from refute_lab.verbs.data_issues import benchmark_figures, build_swt, codebase, own_releases

from ...diffing.repositories import commit, git

AREA = "def area(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 3\n"
OLD_TEST = "from area import area, double\n\n\ndef test_zero():\n    assert area(0, 0) == 0\n"
PULLS: dict[int, dict[str, str]] = {
    1: {"area.py": AREA.replace("a + b", "a * b"),
        "tests/test_area.py": OLD_TEST + "\n\ndef test_area():\n    assert area(2, 3) == 6\n"},
    2: {"area.py": AREA.replace("a * 3", "a * 2"),
        "tests/test_double.py": "from area import double\n\n\n"
                                "def test_double():\n    assert double(2) == 4\n\n\n"
                                "def test_none():\n    assert double(0) == 0\n"},
    3: {"area.py": AREA + "# 3\n", "tests/test_area.py": OLD_TEST + "# 3\n"},
    4: {"area.py": AREA + "# 4\n", "tests/test_area.py": OLD_TEST + "# 4\n"},
    5: {"area.py": AREA + "# 5\n"},
    6: {"tests/test_area.py": OLD_TEST + "# 6\n"},
    7: {"area.py": AREA + "# 7\n", "tests/test_area.py": OLD_TEST + "# 7\n"},
    8: {"area.py": AREA + "# 8\n",
        "tests/test_area.py": OLD_TEST + "\n\ndef test_one():\n    assert double(0) == 0\n"},
    9: {"area.py": AREA + "# 9\n", "tests/data.bin": "\0\1\2"},
    10: {"area.py": AREA + "# 10\n", "tests/data.txt": "x\n"},
    12: {"area.py": AREA + "# 12\n", "tests/cases/one.py": "print( 1 )\n"},
}  # fmt: skip
BODIES = {
    1: "Fixes #101\r\n", 2: "Closes: me/shapes#102", 3: "fixes #101",
    4: "Like #101 <!-- fixes #101 -->", 5: "resolves #101", 6: "Resolved #101", 7: "fix #999",
    8: "close #101", 9: "fixes #101", 10: "fixes #101", 11: "fixes #101", 12: "fixes #101",
}  # fmt: skip
KEPT = ["me__shapes-1", "me__shapes-2"]
REASONS = {
    "not merged": 1, "resolves no issue": 1, "its issues are unknown": 1, "touches no test": 1,
    "its commits are not in the clone": 1, "touches tests only": 1, "binary or undecodable": 1,
    "touches only test data": 2, "no test fails before and passes after": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a clone, and its pull requests and issues as GitHub's API gives them."""
    folder = tmp_path_factory.mktemp("build")
    clone = folder / "shapes"
    start = {"area.py": AREA, "tests/test_area.py": OLD_TEST, "conftest.py": "", "pytest.ini": ""}
    base = commit(clone, start, "start")
    pulls = []
    for number, files in PULLS.items():
        git(clone, "checkout", "-q", "-b", f"pull-{number}", base)
        head = commit(clone, files, f"work of {number}")
        pull: dict[str, Any] = {
            "number": number, "title": f"Pull {number}", "body": BODIES[number],
            "created_at": "2024-01-01T00:00:00Z",
            "merged_at": None if number == 3 else "2024-01-02T00:00:00Z",
            "base": {"sha": base, "repo": {"full_name": "me/shapes"}}, "head": {"sha": head},
            "merge_commit_sha": None,
        }  # fmt: skip
        if number == 2:  # squashed, and its branch is gone
            pull["head"] = {"sha": "f" * 40}
            pull["merge_commit_sha"] = head
        pulls.append(pull)
    pulls.append({**pulls[0], "number": 11, "body": BODIES[11], "head": {"sha": "e" * 40}})
    git(clone, "checkout", "-q", "main")
    issues = [
        {"number": 101, "title": "area adds", "body": "It should multiply.\r\n"},
        {"number": 102, "title": "double triples", "body": None},
        {"number": 7, "title": "a pull request", "body": "", "pull_request": {"url": "x"}},
    ]
    (folder / "pulls.jsonl").write_text("".join(json.dumps(p) + "\n" for p in reversed(pulls)))
    (folder / "issues.json").write_text(json.dumps(issues))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REFUTE_CACHE", str(folder / "cache"))
        patch.setenv("VIRTUAL_ENV", sys.prefix)
        patch.delenv("REFUTE_REPOS", raising=False)
        yield folder


def open_at(folder: Path, problem: IssueProblem) -> Workspace:
    clone = folder / "shapes"
    return open_workspace(prepare(str(clone), problem.base_commit, infer_recipe(clone)))


@pytest.fixture(scope="module")
def built(repository: Path) -> Path:
    """The rows, made on the command line."""
    problem = IssueProblem("probe", "", git(repository / "shapes", "rev-parse", "main"), "")
    try:
        open_at(repository, problem).close()
    except WorkspaceUnavailable as error:
        pytest.skip(f"no workspace here: {error}")
    output = repository / "rows.jsonl"
    assert refute(arguments(repository, output)) == 0
    return output


def arguments(folder: Path, output: Path) -> list[str]:
    files = ["--pulls", str(folder / "pulls.jsonl"), "--issues", str(folder / "issues.json")]
    command = ["data", "build-swt", "--clone", str(folder / "shapes"), *files]
    return [*command, "-o", str(output), "--set", "runs=1", "--set", "timeout=120", "--json"]


def test_rows_are_a_benchmark(built: Path) -> None:
    first, second = load_issues(built)
    assert [first.problem.id, second.problem.id] == KEPT
    assert first.problem.text == "area adds\nIt should multiply."
    assert second.problem.text == "double triples"
    assert first.key.fail_to_pass == ("tests/test_area.py::test_area",)
    assert first.key.pass_to_pass == ("tests/test_area.py::test_zero",)
    assert second.key.fail_to_pass == ("tests/test_double.py::test_double",)
    assert second.key.pass_to_pass == ("tests/test_double.py::test_none",)
    assert "tests/" not in first.key.patch
    assert "+    return a * b" in first.key.patch
    assert "+def test_area" in first.key.test_patch


def test_reasons_are_counted_and_nothing_runs_twice(
    built: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = built.read_bytes()
    journal = built.with_name("rows.jsonl.run") / "journal.jsonl"
    size = journal.stat().st_size
    capsys.readouterr()
    assert refute(arguments(repository, built)) == 0
    report = json.loads(capsys.readouterr().out)
    files = {"pulls": repository / "pulls.jsonl", "issues": repository / "issues.json"}
    result = build_swt(clone=repository / "shapes", **files, output=built, runs=1, timeout=120)
    assert (result.to_dict(), result.complete) == (report, True)
    assert "no test fails before" in str(result)
    assert report["dropped"] == REASONS
    assert report["rows"] == 2
    assert report["unavailable"] == {}
    assert built.read_bytes() == before
    assert journal.stat().st_size == size


def test_figures_of_table_1(
    built: Path, repository: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "me__shapes").symlink_to(repository / "shapes")
    capsys.readouterr()
    clones = f"clones={tmp_path}"
    assert refute(["data", "statistics", str(built), "--set", clones, "--format", "json"]) == 0
    (table, *_) = json.loads(capsys.readouterr().out)["tables"]
    figures = {
        (group, name): tuple(cell["value"] for cell in cells)
        for group, name, *cells in (row["cells"] for row in table["rows"])
    }
    assert figures["issue", "words"] == (4.0, 6, 2)
    assert figures["codebase", "files"] == (3.0, 3, 2)
    assert figures["codebase", "lines"] == (11.0, 11, 2)
    assert figures["existing tests", "P→P"] == (0.5, 1, 2)
    assert figures["golden tests", "F→P"] == (1.0, 1, 2)
    assert figures["golden tests", "added"] == (1.5, 2, 2)
    assert figures["golden patch", "lines edited"] == (2.0, 2, 2)
    assert figures["golden tests", "files edited"] == (1.0, 1, 2)
    assert refute(["data", "statistics", str(built)]) == 0
    table = capsys.readouterr().out
    assert "words" in table
    assert "codebase" not in table
    statistics = ["data", "statistics", str(built), "--table", "changes", "--format"]
    assert refute([*statistics, "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [",instances,%", "adds,2,100"]
    assert refute([*statistics, "latex"]) == 0
    assert "{}adds & 2 & 100.0 \\\\" in capsys.readouterr().out
    assert refute(["data", "statistics", str(built), "--table", "changed"]) == 2
    assert "there are swt-1, repositories, changes" in capsys.readouterr().err


def test_a_changed_parametrised_test_is_a_golden_one() -> None:
    before = {"p2p": ["test_a[1]", "test_b"], "f2f": ["test_c"], "f2p": [], "p2f": []}
    after = {"f2p": ["test_a[1]", "test_new"], "p2p": ["test_b"], "f2f": [], "p2f": ["test_c"]}
    found = measured(before, after, 1)
    assert found["golden"] == {"f2p": 2, "p2p": 0, "f2f": 0, "p2f": 0}, "test_c fails either way"
    assert (found["added"], found["removed"]) == (1, 0)


class Machine:
    """Runs of the pull requests of the repository, on made-up reports where they are given."""

    def __init__(self, folder: Path) -> None:
        self.pulls = read_pulls(folder / "pulls.jsonl")[:1]
        self.issues = read_issues(folder / "issues.json")
        self.clone = find_clone(str(folder / "shapes"))
        self.folder = folder
        self.opened: list[str] = []
        self.said: list[str] = []
        self.kept: list[int] = []
        self.broken: set[int] = set()
        """Numbers of the environments that cannot be made."""

    def prepare(self, problem: IssueProblem) -> Place:
        self.opened.append(problem.id)
        if len(self.opened) in self.broken:
            raise WorkspaceUnavailable("no engine\nhere")
        interpreter = {"interpreter": sys.executable, "editable": False}
        return Place(interpreter, lambda: open_at(self.folder, problem))

    def build(self, journal: Path, runs: int = 1, **given: Any) -> BuiltBenchmark:
        with Journal(journal, {}, RECORDS) as opened:
            return build(
                self.pulls, self.issues, self.clone, self.prepare, opened,
                BuildSettings(runs, given.pop("timeout", 120)), progress=self.said.append,
                kept=lambda rows: self.kept.append(len(rows)), **given,
            )  # fmt: skip


def test_unavailable_is_not_dropped_and_finished_runs_are_kept(
    repository: Path, tmp_path: Path, built: Path
) -> None:
    machine = Machine(repository)
    machine.broken = {1}
    first = machine.build(tmp_path / "run")
    assert (first.rows, first.dropped) == ((), {})
    assert first.unavailable == {KEPT[0]: "no engine here"}
    second = machine.build(tmp_path / "run", environment={"pins": "mended"})
    assert [row["instance_id"] for row in second.rows] == KEPT[:1]
    assert second.unavailable == {}
    row = second.rows[0]
    assert row["FAIL_TO_PASS"] == ["tests/test_area.py::test_area"]
    assert row["environment"] == {"interpreter": sys.executable, "editable": False}
    assert row["measured"]["seconds"] > 0
    assert machine.kept == [1]
    assert machine.said[-2] == "me__shapes-1: run 1/1"
    assert machine.said[-1].startswith("me__shapes-1: kept: 1 F→P, 1 P→P")
    machine.build(tmp_path / "run", environment={"pins": "mended"})
    assert machine.opened == [KEPT[0]] * 2, "what was run is not run again"
    machine.broken = {3}
    assert machine.build(tmp_path / "run", environment={"pins": "other"}).unavailable
    # the reports of the first run are those that `refute grade` looks for
    problem = replace(load_issues_of(tmp_path, row)[0].problem, recipe=recipe_of_row(row))
    fix, tests = row["patch"], row["test_patch"]
    golden = PatchedState(fix, tests, test_files(tests), counted_lines(fix), touched_files(fix))
    report = state_reports(cache_folder() / "states", problem, "local").get(asdict(golden))
    assert report is not None
    assert {result.outcome for result in report.results} == {"passed"}


def load_issues_of(folder: Path, row: dict[str, Any]) -> list[Any]:
    (folder / "row.jsonl").write_text(json.dumps(row) + "\n")
    return load_issues(folder / "row.jsonl")


def test_a_commit_with_its_issue_needs_no_api(
    repository: Path, tmp_path: Path, built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = repository / "shapes"
    sha = git(clone, "rev-parse", "pull-1")
    text = "area adds\nIt should multiply."
    (tmp_path / "commits.jsonl").write_text(json.dumps({"commit": sha[:10], "issue": text}) + "\n")
    output = tmp_path / "rows.jsonl"
    command = ["data", "build-swt", "--clone", str(clone), "-o", str(output), "--set", "runs=1"]
    source = ["--commits", str(tmp_path / "commits.jsonl")]
    assert refute([*command, *source]) == 2
    assert "repo=OWNER/NAME" in capsys.readouterr().err
    assert refute([*command, *source, "--set", "repo=me/shapes"]) == 0
    (row,) = map(json.loads, output.read_text().splitlines())
    assert row["instance_id"] == f"me__shapes-{sha[:12]}"
    assert row["problem_statement"] == text
    assert row["FAIL_TO_PASS"] == ["tests/test_area.py::test_area"]
    assert row["created_at"]
    for wrong in ([], [*source, "--pulls", "x"]):
        assert refute([*command, *wrong]) == 2
        assert "--pulls and --issues, or --commits" in capsys.readouterr().err
    (tmp_path / "commits.jsonl").write_text('{"commit": "nonsense", "issue": "x"}')
    assert refute([*command, *source, "--set", "repo=me/shapes"]) == 2
    assert "not a commit: 'nonsense'" in capsys.readouterr().err


def made_up(status: str, *outcomes: str, remark: str = "") -> TestReport:
    missing = Failure("ModuleNotFoundError", "No module named 'x'", "")
    results = tuple(
        TestResult(f"t.py::{n}", "t.py", "error", "collect", missing)
        if one == "error"
        else TestResult(f"t.py::{n}", "t.py", one)  # type: ignore[arg-type]
        for n, one in enumerate(outcomes)
    )
    return TestReport(results, status, remark=remark)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reports", "dropped", "unavailable"),
    [
        ((made_up("crashed", remark="the runner did not start: E"),) * 4, "", "did not start: E"),
        ((made_up("finished", "error"),) * 4, "", "cannot be imported: ModuleNotFoundError"),
        ((made_up("crashed"), *(made_up("finished", "passed"),) * 3), "does not finish", ""),
        ((made_up("finished", "passed"),) * 4, "no test fails before and passes after", ""),
    ],
)  # fmt: skip
def test_a_runner_that_cannot_start_drops_nothing(
    repository: Path, tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch,
    reports: tuple[TestReport, ...], dropped: str, unavailable: str,
) -> None:  # fmt: skip
    monkeypatch.setattr("refute_lab.swt.build.run_lane", lambda *a, **k: list(reports))
    machine = Machine(repository)
    result = machine.build(tmp_path / "run")
    assert list(result.dropped) == ([dropped] if dropped else [])
    assert unavailable in result.unavailable.get(KEPT[0], "")
    assert bool(result.unavailable) == bool(unavailable)
    machine.build(tmp_path / "run", timeout=240)
    assert len(machine.opened) == 1 + (dropped in ("", "does not finish")), "with more time"


def test_a_test_that_does_not_turn_in_every_run_is_not_kept(
    repository: Path, tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flaky = iter(("failed", "passed", "failed", "failed"))

    def lane(states: Sequence[PatchedState], *rest: Any, **more: Any) -> list[TestReport]:
        after = made_up("finished", "passed", "passed")
        return [made_up("finished", "failed", next(flaky)), *(after,) * (len(states) - 1)]

    monkeypatch.setattr("refute_lab.swt.build.run_lane", lane)
    machine = Machine(repository)
    result = machine.build(tmp_path / "run", runs=2)
    assert result.rows[0]["FAIL_TO_PASS"] == ["t.py::0"]
    assert result.rows[0]["PASS_TO_PASS"] == []


PULL = Pull(1, "", "", "me/shapes", "", "", "", True, "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fixes #12", (12,)),
        ("Fixes: #12, closes #13 and resolves #12", (12, 13)),
        ("FIXED #1\nCLOSED #2\nResolve #3\nclose #4\nfix #5\nresolved #6", (1, 2, 3, 4, 5, 6)),
        ("closes GH-7", (7,)),
        ("fixes me/shapes#8 and Me/Shapes#9", (8,)),
        ("fixes Me/Shapes#9", (9,)),
        ("fixes you/other#8", ()),
        ("fixes https://github.com/me/shapes/issues/10", (10,)),
        ("fixes https://github.com/you/shapes/issues/10", ()),
        ("prefixes #1, see #2, fix 3, fixing #4, hotfix#5", ()),
        ("<!-- fixes #1 -->`fixes #2`\n```\nfixes #3\n```\n<!-- fixes #4", ()),
        ("", ()),
    ],
)
def test_grammar_of_resolved_issues(text: str, expected: tuple[int, ...]) -> None:
    assert resolved_issues(replace(PULL, body=text)) == expected
    assert resolved_issues(replace(PULL, title=text)) == expected
    assert resolved_issues(PULL, text) == expected


def test_the_diff_of_a_merge_is_that_of_its_branch(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    base = commit(tmp_path, {"a.py": "1\n"}, "one")
    git(tmp_path, "checkout", "-q", "-b", "work")
    commit(tmp_path, {"b.py": "2\n"}, "two")
    head = commit(tmp_path, {"b.py": "3\n"}, "fixes #5")
    git(tmp_path, "checkout", "-q", "main")
    main = commit(tmp_path, {"c.py": "4\n"}, "other work")
    git(tmp_path, "merge", "-q", "--no-ff", "-m", "merge", "work")
    merge = git(tmp_path, "rev-parse", "HEAD")
    clone = find_clone(str(tmp_path))
    by_branch = change_of(Pull(1, "", "", "me/x", main, head, merge, True, ""), clone)
    by_merge = change_of(Pull(1, "", "", "me/x", "", "", merge, True, ""), clone)
    assert by_branch is not None
    assert by_merge is not None
    assert (by_branch.base, by_merge.base) == (base, main)
    assert by_branch.diff == by_merge.diff
    assert "+3" in by_branch.diff
    assert "c.py" not in by_branch.diff
    assert "fixes #5" in by_branch.messages
    assert "fixes #5" in by_merge.messages
    assert change_of(Pull(1, "", "", "me/x", "", "", "d" * 40, True, ""), clone) is None
    assert codebase(clone, merge) == (3, 3)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"number": "1"}, "number"),
        ({"base": {"sha": "--output=/etc/x", "repo": {"full_name": "me/x"}}}, "base"),
        ({"base": {"sha": None}}, "base"),
        ({"head": "main"}, "head"),
        ({"merge_commit_sha": "HEAD"}, "merge_commit_sha"),
        ({"body": 5}, "body"),
    ],
)
def test_malformed_pull_requests_are_named(
    change: dict[str, Any], field: str, tmp_path: Path
) -> None:
    good = {"number": 1, "base": {"repo": {"full_name": "me/x"}}}
    path = tmp_path / "pulls.jsonl"
    path.write_text(json.dumps({**good, **change}) + "\n")
    with pytest.raises(DatasetError, match=f":1: field '{field}'"):
        read_pulls(path)


def test_statistics_of_rows_without_measurements() -> None:
    row = {"problem_statement": "It doesn't work.", "patch": "", "test_patch": "",
           "FAIL_TO_PASS": ["a", "b"], "PASS_TO_PASS": []}  # fmt: skip
    figures = {(f.group, f.name): f.mean for f in benchmark_figures([row])}
    assert figures["issue", "words"] == 4
    assert figures["listed tests", "F→P"] == 2
    assert ("existing tests", "total") not in figures
    assert benchmark_figures([]) == ()


def test_releases_of_the_project_itself_are_told(tmp_path: Path) -> None:
    sites = [tmp_path / name / "site-packages" for name in ("environment", "machine")]
    for site in sites:
        for name, module in (("Some_Thing", "thing"), ("pip", "pip")):
            info = site / f"{name}-26.3.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Name: {name}\nVersion: 26.3\n")
            (info / "RECORD").write_text(f"{module}/__init__.py,,\n{info.name}/METADATA,,\n")
    hidden = [str(site / part) for site in sites for part in ("thing", "pip/_vendor/thing")]
    assert own_releases(hidden, [str(sites[0])]) == ["Some_Thing==26.3"]


def test_texts_of_issues_have_plain_line_ends() -> None:
    assert Issue(1, "a", "b\r\nc\r\n").text == "a\nb\nc"
