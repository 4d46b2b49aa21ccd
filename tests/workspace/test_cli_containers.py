"""`--workspace podman` of the verbs over issues, with the engine that runs the commands here."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from refute.doors.command_line import run as run_cli
from refute.workspace import factory
from refute.workspace.containers import ContainerBackend
from refute.workspace.contract import WORK_TREE

from .shops import Shop

ISSUE = """total falls below zero

>>> from shop.cart import total
>>> total([10], 20)
-10

I expected 0.
"""
WHERE = ("--set", "workspace=podman", "--jobs", "1", "--run", "run", "--json")
SNIPPET = ("bench", "rows.jsonl", "--method", "snippet")
AGENT = (
    "python -c 'import shop.cart' && cp tests/test_cart.py tests/test_made.py && "
    "! git cat-file -e HEAD~1 && grep -q 'total falls below zero' {prompt_file}"
)
EXTERNAL = ("bench", "rows.jsonl", "--method", "external", "--set", f"agent={AGENT}")


@pytest.fixture
def rows(shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One instance, whose environment is its image alone."""
    environment = {
        "python": "no such version",
        "test_command": "pytest -p no:cacheprovider",
        "env": {"PYTHONPATH": WORK_TREE, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    }
    row = {
        "instance_id": "shop__shop-1",
        "repo": "shop/shop",
        "base_commit": shop.later,
        "problem_statement": ISSUE,
        "patch": "",
        "test_patch": "",
        "FAIL_TO_PASS": "[]",
        "PASS_TO_PASS": "[]",
        "environment": environment,
        "image": str(shop.path),
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REFUTE_REPOS", str(tmp_path / "no-clones"))
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return path


def test_bench_works_in_the_image(
    rows: Path, engine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no clone and no interpreter for the instance: all that it needs is in the image."""
    room: Any = partial(
        ContainerBackend,
        tree=str(engine / "testbed"),
        packages=str(Path(sys.executable).parent),
        own=str(engine / "own"),
    )
    monkeypatch.setattr(factory, "ContainerBackend", room)
    status = run_cli([*EXTERNAL, *WHERE])
    out, err = capsys.readouterr()
    assert status == 0, err
    assert json.loads(out)["status"] == {"predicted": 1, "abstained": 0, "error": 0}, out
    record = json.loads(Path("run/journal.jsonl").read_text().splitlines()[1])
    assert "+++ b/tests/test_made.py" in record["prediction"]["patch"]
    assert record["prediction"]["notes"] == [], "the agent's command ended well"
    calls = [json.loads(line) for line in (engine / "log.jsonl").read_text().splitlines()]
    assert {call[0] for call in calls} >= {"run", "exec", "rm"}
    header = json.loads(Path("run/journal.jsonl").read_text().splitlines()[0])
    assert header["settings"]["workspace"] == "podman", "the run goes on in containers"
    status = run_cli([*EXTERNAL, "--run", "run", "--set", "workspace=local"])
    assert status == 2
    assert 'workspace = "podman", not "local"' in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [SNIPPET, ("grade", "rows.jsonl", "gold"), (*SNIPPET, "--filter", "fixes.jsonl")]
)
def test_without_an_engine(
    arguments: tuple[str, ...],
    rows: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "--filter" in arguments:
        run_cli([*SNIPPET, "--run", "run"])  # a run to take the tests from, were there an engine
        capsys.readouterr()
    monkeypatch.setenv("PATH", "/nonexistent")
    status = run_cli([*arguments, *WHERE])
    out, err = capsys.readouterr()
    assert (status, out) == (3, "")
    assert err == (
        "refute: no workspace: podman is not installed here; workspace=local needs none\n"
    )
