"""`refute bench` on a small dataset of our own: figures, resuming, interrupting."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from refute_lab.benches import RECORDS, BenchSettings, load_items, summarize, work_on
from refute_lab.benches.grade import Grade, ProgramGrade, TestGrade, TestVerdict, metrics
from refute_lab.runs import ErrorRecord
from refute_lab.runs.executors import Run
from refute_lab.verbs.bench import BenchOptions

from .scripted_server import row

DOC = '    """Sum of the numbers up to n.\n\n    >>> f(3)\n    6\n    >>> f(1)\n    1\n    """\n'


@pytest.fixture
def data(own_place: Path) -> Path:
    """Two programs that are wrong by one edit, one that is right, one that cannot be fixed."""
    path = own_place / "sums.jsonl"
    rows = [
        row("off", "sum(range(n))", DOC),
        row("right", "n * (n + 1) // 2", DOC),
        row("minus", "sum(range(n - 1))", DOC),
        row("hopeless", "__import__('os').getcwd()", DOC),
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


Bench = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bench(data: Path, refute: Bench) -> Bench:
    return partial(refute, "bench", data)


def test_grading_the_code_as_it_is(bench: Bench, data: Path, tmp_path: Path) -> None:
    status, out, _ = bench("--method", "none", "--set", f"runs_dir={tmp_path / 'runs'}", "--json")
    document = json.loads(out)
    assert status == 0
    assert (document["dataset"], document["method"], document["n"]) == (str(data), "none", 4)
    assert document["metrics"]["code_accuracy"]["value"] == 0.25
    assert document["metrics"]["code_accuracy"]["stderr"] == pytest.approx(0.25)
    assert document["metrics"]["attack_rate"] == {"value": None, "stderr": None, "n": 0}
    assert document["metrics"]["pass_rate"]["value"] == pytest.approx((0.2 + 1 + 0.2 + 0) / 4)
    assert Path(document["run"]).parent == tmp_path / "runs"
    assert document["errors"] == {}


def test_the_search_on_a_small_data_set(bench: Bench, tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ["--set", "budget=4", "--ids", "off,right", "--run", run, "--jobs", 2]
    status, out, _ = bench(*options, "--json")
    document = json.loads(out)
    assert status == 0
    assert document["n"] == 2
    assert document["metrics"]["code_accuracy"]["value"] == 1.0
    assert document["metrics"]["code_accuracy_top3"]["value"] == 1.0
    assert (document["abstained"], document["wrong_fixes"]) == (1, 0)
    records = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    assert {r["id"]: r["status"] for r in records[1:]} == {"off": "fixed", "right": "passes"}
    assert "sum(range(n + 1))" in json.dumps(records)
    before = (run / "journal.jsonl").read_bytes()
    _, table, _ = bench("--run", run)
    assert "code accuracy, first choice │ 100.00" in table
    assert (run / "journal.jsonl").read_bytes() == before


def test_errors_are_counted_apart_and_retried(data: Path, tmp_path: Path) -> None:
    settings = BenchSettings(str(data), "none")
    items = load_items(settings, None)
    told: list[int] = []
    with Run(tmp_path / "run", settings.header(items), RECORDS) as run:
        run.journal.append(ErrorRecord("off", "died"))
        result = summarize(items, settings, run.journal)
        assert (result.n, dict(result.errors)) == (0, {"off": "died"})
        work_on(run, items, settings, jobs=1, progress=told.append)
        assert told == [0, 1, 2, 3, 4]
        result = summarize(items, settings, run.journal)
        assert (result.n, dict(result.errors)) == (4, {})


def test_runs_of_one_problem_are_one_cluster() -> None:
    """Repeating every problem does not make the standard error smaller; what varies counts."""

    def grade(problem: str, passed: bool, attacks: int) -> Grade:
        verdicts = [TestVerdict(True, at < attacks, True) for at in range(3)]
        program = ProgramGrade(passed, (passed,), ())
        return Grade(problem, TestGrade(tuple(verdicts)), (program,), fixed=False)

    once = [grade("a", True, 3), grade("b", False, 1), grade("c", False, 0)]
    single, triple = metrics(once), metrics(once * 3)
    for name in ("code_accuracy", "attack_rate", "accuracy_and_attack", "pass_rate"):
        assert triple[name].value == pytest.approx(single[name].value)
        assert triple[name].stderr == pytest.approx(single[name].stderr)
    assert single["attack_rate"].value == pytest.approx(4 / 9)
    assert single["code_accuracy"].stderr == pytest.approx(math.sqrt(2 / 9 * 3 / 2 / 3))
    varied = metrics([*once, grade("a", False, 3), grade("b", True, 1), grade("c", False, 0)])
    assert varied["code_accuracy"].value == pytest.approx(1 / 3)
    assert varied["code_accuracy"].stderr < single["code_accuracy"].stderr


def test_the_command_that_resumes_says_what_the_journal_does_not_keep() -> None:
    assert BenchOptions(dataset="d").again(Path("r")) == "refute bench d --run r"
    uncached = BenchOptions(dataset="d", cache=False)
    assert uncached.again(Path("r")) == "refute bench d --run r --no-cache"
