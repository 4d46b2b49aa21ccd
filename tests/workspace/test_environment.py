"""Environments and editable layers, built without network from what an interpreter brings along."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from refute.errors import EnvironmentBroken, WorkspaceUnavailable
from refute.workspace.contract import Recipe, TestSelection
from refute.workspace.environment import build_environment
from refute.workspace.factory import open_local, prepare
from refute.workspace.interpreters import find_interpreter
from refute.workspace.local import LocalBackend
from refute.workspace.working_copy import WorkingCopy

from .shops import LIMITS, Shop, git

THIS = "{}.{}".format(*sys.version_info[:2])
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
BACKEND = """
import os, zipfile
NAME = "shelf-{version}"
def build_editable(folder, settings=None, metadata=None):
    wheel = NAME + "-py3-none-any.whl"
    files = {{
        "METADATA": "Metadata-Version: 2.1\\nName: shelf\\nVersion: {version}\\n",
        "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        "entry_points.txt": "[console_scripts]\\nshelf = shelf:main\\n",
        "RECORD": "",
    }}
    with zipfile.ZipFile(os.path.join(folder, wheel), "w") as archive:
        archive.writestr("shelf.pth", os.getcwd() + "\\n")
        for name, text in files.items():
            archive.writestr(NAME + ".dist-info/" + name, text)
    return wheel
build_wheel = build_editable
"""


def test_two_commits_share_an_environment_but_not_the_editable_install(
    cache: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "shelf"
    repository.mkdir()
    git(repository, "init", "-q")
    commits = []
    for version in ("1.0", "2.0"):
        (repository / "pyproject.toml").write_text(PROJECT)
        (repository / "backend.py").write_text(BACKEND.format(version=version))
        (repository / "shelf.py").write_text(f"def main(): print('shelf {version}')\n")
        git(repository, "add", "-A")
        git(repository, "commit", "-qm", version)
        commits.append(git(repository, "rev-parse", "HEAD"))
    recipe = Recipe(python=THIS, pins=((),))
    bases = [prepare(str(repository), commit, recipe) for commit in commits]
    assert len(list((cache / "environments").glob("*.ready"))) == 1
    assert bases[0].tree != bases[1].tree
    version_of = "import importlib.metadata as m; print(m.version('shelf'))"
    code = f'python -c "{version_of}"; shelf; cd /; shelf'
    for base, version in zip(bases, ("1.0", "2.0"), strict=True):
        with open_local(base) as workspace:
            told = workspace.run(code)
            assert told.output.split("\n")[:3] == [version, *[f"shelf {version}"] * 2], told
            assert workspace.diff() == ""
            assert workspace.run("git status --short").output == ""
            workspace.write("shelf.py", b"def main(): print('changed')\n")
            assert workspace.run("cd /; shelf").output == "changed\n"
    assert prepare(str(repository), commits[0], recipe) == bases[0]


def test_a_broken_recipe_is_told_and_tried_again_by_the_next_run(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EnvironmentBroken) as first:
        build_environment(THIS, [["pip", "/nonexistent/package-1.0-py3-none-any.whl"]])
    assert "\n" not in str(first.value)
    assert str(first.value).startswith("the packages cannot be installed in Python")
    assert "nonexistent" in str(first.value)
    log = next((cache / "environments").glob("*.log"))
    size = log.stat().st_mtime_ns
    with pytest.raises(EnvironmentBroken, match="the next run tries again"):
        build_environment(THIS, [["pip", "/nonexistent/package-1.0-py3-none-any.whl"]])
    assert log.stat().st_mtime_ns == size
    monkeypatch.setenv("REFUTE_SINCE", str(time.time() + 1))
    with pytest.raises(EnvironmentBroken, match="nonexistent"):
        build_environment(THIS, [["pip", "/nonexistent/package-1.0-py3-none-any.whl"]])
    assert log.stat().st_mtime_ns > size


def test_interpreters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_interpreter(THIS).exists()
    for version in ("3.99", "three", "3"):
        with pytest.raises(WorkspaceUnavailable):
            find_interpreter(version)
    for name in ("3.99.9", "3.99.10"):
        program = tmp_path / "versions" / name / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert find_interpreter("3.99") == tmp_path / "versions" / "3.99.10" / "bin" / "python"


STRICT = b"[pytest]\naddopts = --strict-config --strict-markers\ncache_dir = .some/cache\n"
PATHS = b"""import os
import pytest

@pytest.mark.parametrize("path", [pytest.param(os.getcwd(), id=os.getcwd() + "/data")])
def test_path(path):
    assert os.path.isabs(path)
"""


def test_strict_configurations_and_machine_paths(shop: Shop) -> None:
    base = replace(shop.base, recipe=replace(shop.base.recipe, options=()))
    with WorkingCopy(LocalBackend(base, limits=LIMITS), base.recipe) as workspace:
        workspace.write("pytest.ini", STRICT)
        workspace.write("tests/test_path.py", PATHS)
        report = workspace.run_tests(TestSelection(("tests/test_path.py",)))
        assert (report.status, report.remark) == ("finished", "")
        (result,) = report.results
        assert result.id == "tests/test_path.py::test_path[<work tree>/data]"
        assert not [name for name in workspace.files() if "cache" in name]
        assert workspace.run("ls -d .some .pytest_cache").status
        again = workspace.run_tests(TestSelection(tests=(result.id,)))
        assert [one.outcome for one in again.results] == ["passed"]
        workspace.write("pytest.ini", STRICT + b"unknown_option = 1\n")
        report = workspace.run_tests(TestSelection(("tests/test_path.py",)))
        assert (report.status, report.results) == ("crashed", ())
        assert "did not start (exit status 4)" in report.remark
        assert "Unknown config option: unknown_option" in report.remark
