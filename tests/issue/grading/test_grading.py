"""`refute grade` from the command line: predictions in, journal, reports, resumed after kill -9."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from refute_lab.runs import read_header
from refute_lab.swt.grade import read_evidence

from ..shop import PATCH, TEST_PATCH, TESTS, Shop, diff, new_file

RIGHT = "from shop.cart import total\n\n\ndef test_it():\n    assert total([1], 2) == 0\n"


@dataclass(frozen=True)
class Bench:
    """A dataset of instances that are all the same issue, and a command to grade them."""

    folder: Path
    rows: Path
    env: Mapping[str, str]

    def command(self, predictions: str | Path, *options: str | Path) -> list[str]:
        place = f"runs_dir={self.folder / 'runs'}"
        words = ["grade", self.rows, predictions, "--set", place, *options]
        return [sys.executable, "-m", "refute", *map(str, words)]

    def run(self, predictions: str | Path, *options: str | Path, status: int = 0) -> dict[str, Any]:
        command = self.command(predictions, "--json", "--jobs", "2", *options)
        ran = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=600)
        assert ran.returncode == status, ran.stderr
        document: dict[str, Any] = json.loads(ran.stdout) if ran.stdout else {"error": ran.stderr}
        return document

    def predict(self, name: str, patches: Mapping[str, str | None]) -> Path:
        path = self.folder / f"{name}.jsonl"
        rows = (
            {"instance_id": id, "model_name_or_path": "some/model", "model_patch": patch}
            for id, patch in patches.items()
        )
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path


@pytest.fixture
def bench(shop: Shop, tmp_path: Path) -> Bench:
    """Six instances; the shop's base is built already."""
    recipe = shop.problem.recipe
    assert recipe is not None
    rows = [
        {
            "instance_id": f"shop-{number}",
            "repo": shop.problem.repo,
            "base_commit": shop.problem.base_commit,
            "problem_statement": "negative",
            "patch": PATCH,
            "test_patch": TEST_PATCH,
            "FAIL_TO_PASS": '["tests/test_cart.py::test_never_negative"]',
            "PASS_TO_PASS": "[]",
            "environment": {
                "interpreter": sys.executable,
                "editable": False,
                "env": dict(recipe.env),
                "test_command": "python -m pytest tests/test_cart.py",
            },
        }
        for number in range(6)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    cache = shop.states.parent / "cache"
    return Bench(tmp_path, path, {**os.environ, "REFUTE_CACHE": str(cache)})


def test_gold_and_others(bench: Bench) -> None:
    patches = {
        "shop-0": new_file(RIGHT),
        "shop-1": new_file(RIGHT.replace("== 0", "== 3")),
        "shop-2": None,
        "shop-3": "",
        "elsewhere-1": "x",
    }
    run = bench.folder / "run"
    ids = "shop-0,shop-1,shop-2,shop-3,shop-4"
    path = bench.predict("mixed", patches)
    found = bench.run(path, "--ids", ids, "--run", run, "--set", "compat=swtbench")
    assert {one["id"]: one["status"] for one in found["instances"]} == {
        "shop-0": "success",
        "shop-1": "fails_after",
        "shop-2": "empty",
        "shop-3": "empty",
        "shop-4": "empty",
    }
    code = (
        "import json, sys, refute_lab\n"
        "if __name__ == '__main__':\n"
        "    rows, path, run, ids = sys.argv[1:]\n"
        "    result = refute_lab.grade(rows, path, run=run, ids=ids.split(','))\n"
        "    print(json.dumps(result.to_dict()))\n"
    )
    called = [sys.executable, "-c", code, bench.rows, path, run, ids]
    ran = subprocess.run(list(map(str, called)), env=bench.env, capture_output=True, text=True)
    assert json.loads(ran.stdout) == found, "the function and the command give one document"
    metrics = {name: figure["value"] for name, figure in found["metrics"].items()}
    assert metrics == {
        "applicable": 0.4,
        "fail_to_any": 0.4,
        "fail_to_pass": 0.2,
        "pass_to_pass": 0.0,
        "fail_to_any_v1": 0.4,
        "pass_to_pass_v1": 0.0,
        "success": 0.2,
        "coverage": 0.4,
        "coverage_success": 1.0,
        "coverage_other": 0.25,
        "tdd_score": 0.2,
    }
    assert found["instances"][0]["golden"] == {"works": True, "missing": []}
    evidence = read_evidence(run, "shop-0")
    assert evidence is not None
    assert evidence.predicted[0][0].results[0].outcome == "failed"
    assert read_evidence(run, "shop-2") is None
    logs = run / "swtbench" / "run_instance_swt_logs" / "run" / "some__model"
    report = json.loads((logs / "shop-0" / "report.json").read_text())["shop-0"]
    assert (report["resolved"], report["added_f2p"]) == (True, 1)
    assert report["tests_pred"]["FAIL_TO_PASS"] == ["tests/test_new.py::test_it"]
    summary = run / "swtbench" / "evaluation_results" / "some__model.run.json"
    assert json.loads(summary.read_text())["resolved_ids"] == ["shop-0"]
    # The same command with the same folder runs nothing again, and says the same.
    journal = (run / "journal.jsonl").read_bytes()
    assert bench.run(path, "--ids", ids, "--run", run) == found
    assert (run / "journal.jsonl").read_bytes() == journal
    # Other predictions are another run.
    path.write_text(path.read_text().replace("== 3", "== 4"))
    assert "started with" in bench.run(path, "--ids", ids, "--run", run, status=2)["error"]


def test_golden_tests_are_predictions_too(bench: Bench) -> None:
    found = bench.run("gold", "--limit", "2")
    assert found["statuses"] == {"success": 2}
    assert found["metrics"]["coverage"]["value"] == 1
    none = bench.run(bench.predict("none", {"shop-0": ""}), "--limit", "1", "--preset", "paper")
    assert none["statuses"] == {"empty": 1}
    assert none["metrics"]["coverage"]["value"] == 0
    header = read_header(Path(none["run"]))
    assert header is not None
    assert header["terms"]["executable"] == "printed"


def test_an_instance_that_cannot_be_graded_stops_no_other(bench: Bench) -> None:
    rows = bench.rows.read_text().splitlines()[:2]
    broken = json.loads(rows[0])
    broken["base_commit"] = "0" * 40
    bench.rows.write_text("\n".join([json.dumps(broken), rows[1]]) + "\n")
    found = bench.run("gold", status=3)
    assert found["statuses"] == {"success": 1}
    assert list(found["errors"]) == ["shop-0"]
    assert "0000000" in found["errors"]["shop-0"]


def test_fuzzy_predictions(bench: Bench) -> None:
    new = TESTS + "\n\ndef test_new():\n    assert total([1], 2) == 0\n"
    slips = re.sub("@@ .* @@", "@@ -1,1 +1,1 @@", diff("tests/test_cart.py", TESTS, new))
    path = bench.predict("slips", {"shop-0": f"Here it is:\n```diff\n{slips}```\nDone."})
    assert bench.run(path, "--limit", "1")["statuses"] == {"not_applicable": 1}
    fuzzy = bench.run(path, "--limit", "1", "--set", "patch_types=fuzzy")
    assert fuzzy["statuses"] == {"success": 1}


@pytest.mark.parametrize(
    ("predictions", "what"),
    [("nothing.jsonl", "cannot be read"), ("other.jsonl", "no prediction for any")],
)
def test_bad_input_is_one_line(bench: Bench, predictions: str, what: str) -> None:
    bench.predict("other", {"elsewhere-1": "x"})
    error = bench.run(bench.folder / predictions, status=2)["error"]
    assert what in error
    assert error.count("\n") == 1


def test_killed_in_the_middle_and_resumed(bench: Bench) -> None:
    """`kill -9`: the report is the same, and nothing is graded twice."""
    patches: dict[str, str | None] = {f"shop-{n}": None for n in range(6)}
    patches |= {f"shop-{n}": new_file(RIGHT + f"# {n}\n") for n in (0, 2, 4)}
    patches["shop-0"] = new_file("def test_it():\n    pass\n")
    path, run = bench.predict("some", patches), bench.folder / "killed"
    options = ("--jobs", "2", "--run", run)
    journal = run / "journal.jsonl"
    process = subprocess.Popen(
        bench.command(path, *options), env=bench.env, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 300
        while not journal.is_file() or len(journal.read_bytes().splitlines()) < 4:
            assert process.poll() is None, "it ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = journal.read_bytes().splitlines()[:-1]
    found = bench.run(path, *options)
    lines = journal.read_bytes().splitlines()
    assert lines[: len(kept)] == kept
    ids = [json.loads(line)["id"] for line in lines[1:]]
    assert sorted(ids) == sorted(patches)
    assert found["statuses"] == {"empty": 3, "success": 2, "passes_before": 1}
    whole = bench.run(path, "--run", bench.folder / "whole")

    def comparable(document: dict[str, Any]) -> dict[str, Any]:
        rows = [{**row, "seconds": None} for row in document["instances"]]
        return {**document, "instances": rows, "run": None}

    assert comparable(found) == comparable(whole)


def test_the_best_of_several_samples(bench: Bench) -> None:
    """What `refute bench --grade` prints: the predictions, and the oracle of pass@k."""
    first = bench.predict("predictions", {"shop-0": new_file(RIGHT), "shop-1": ""})
    files = [
        first,
        bench.predict("predictions.0", {"shop-0": "", "shop-1": new_file(RIGHT)}),
        bench.predict("predictions.1", {"shop-0": new_file(RIGHT), "shop-1": "no diff"}),
    ]
    code = (
        "import json, sys; from pathlib import Path\n"
        "from refute_lab.verbs.grade import grade_samples\n"
        "from refute_lab.datasets.swe import load_issues\n"
        "if __name__ == '__main__':\n"
        "    rows, folder, *files = map(Path, sys.argv[1:])\n"
        "    items = load_issues(rows, limit=2)\n"
        "    found = grade_samples(items, files, str(rows), folder / 'grades')\n"
        "    print(json.dumps({name: one.to_dict() for name, one in found.items()}))\n"
    )
    script = bench.folder / "script.py"
    script.write_text(code)
    command = [sys.executable, script, bench.rows, bench.folder / "run", *files]
    ran = subprocess.run(
        list(map(str, command)), env=bench.env, capture_output=True, text=True, timeout=600
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert list(found) == ["predictions.jsonl", "pass@2"]
    assert found["predictions.jsonl"]["statuses"] == {"success": 1, "empty": 1}
    assert found["pass@2"]["statuses"] == {"success": 2}
