"""examples/plugin: a package of its own brings a method, a model and a dataset."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "examples" / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the plugin is installed."""
    folder = tmp_path_factory.mktemp("site")
    install = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--no-deps",
        "--target",
        str(folder),
        str(PLUGIN),
    ]
    done = subprocess.run([*install, str(PLUGIN)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the plugin cannot be installed here: {done.stderr.strip()[-200:]}")
    return folder


def call(site: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT / "src"), str(site)))
    environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment)


def test_it_is_listed(site: Path, tmp_path: Path) -> None:
    for verb, name in (("methods", "greedy"), ("datasets", "sums")):
        done = call(site, "-m", "refute", verb, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert name in done.stdout.split()


def test_all_three_through_the_command_line(site: Path, tmp_path: Path) -> None:
    arguments = ("bench", "sums", "--method", "greedy", "--model", "echo:1", "--json")
    done = call(site, "-m", "refute", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["n"], document["method"]) == (1, "greedy")
    again = call(site, "-m", "refute", "bench", "sums", "--run", *runs(tmp_path), cwd=tmp_path)
    assert again.returncode == 0, again.stderr


def runs(folder: Path) -> list[str]:
    return [str(path) for path in (folder / "runs").iterdir()]


def test_its_own_tests_run_the_shipped_conformance(site: Path, tmp_path: Path) -> None:
    tests = str(PLUGIN / "tests")
    done = call(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, cwd=tmp_path)
    assert done.returncode == 0, done.stdout  # 5 where there is no test


def test_a_plugin_that_does_not_load_is_one_line(site: Path, tmp_path: Path) -> None:
    info = tmp_path / "site" / "broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[refute.methods]\nbroken = no_such_module:x\n")
    (tmp_path / "m.py").write_text("def f(x):\n    return x\n")
    arguments = ("debug", "m.py", "--method", "broken")
    done = call(tmp_path / "site", "-m", "refute", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "broken (no_such_module:x) does not load" in done.stderr
    assert "Traceback" not in done.stderr
