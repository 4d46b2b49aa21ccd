"""The container backend: its command lines, and the same behaviour as the others.

The engine here runs on this machine what the backend asks of a real one.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from refute.errors import PatchRejected, WorkspaceUnavailable
from refute.workspace.containers import ContainerBackend
from refute.workspace.contract import WORK_TREE, Recipe, TestSelection, WorkspaceLimits
from refute.workspace.factory import open_workspace, prepare
from refute.workspace.working_copy import WorkingCopy

from .shops import FIX, Shop

TESTS = TestSelection(("tests/test_cart.py",))


@pytest.fixture
def container(shop: Shop, engine: Path) -> WorkingCopy:
    recipe = Recipe(
        image=str(shop.path),
        options=("-p", "no:cacheprovider"),
        env={"PYTHONPATH": WORK_TREE, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    base = prepare("o/shop", shop.later, recipe, "o__shop-1", backend="podman")
    room = ContainerBackend(
        base,
        "podman",
        limits=WorkspaceLimits(memory=1 << 30, processes=99),
        tree=str(engine / "testbed"),
        packages=str(Path(sys.executable).parent),
        own=str(engine / "own"),
    )
    return WorkingCopy(room, recipe)


def test_a_container_is_closed_off(container: WorkingCopy, engine: Path) -> None:
    container.close()
    lines = [json.loads(line) for line in (engine / "log.jsonl").read_text().splitlines()]
    run = lines[0]
    assert run[0] == "run"
    for option, value in (
        ("--network", "none"), ("--cap-drop", "ALL"), ("--pids-limit", "99"),
        ("--memory", str(1 << 30)), ("--security-opt", "no-new-privileges"),
    ):  # fmt: skip
        assert run[run.index(option) + 1] == value
    assert [word for word in run if word.endswith(":ro")] == [run[run.index("--volume") + 1]]
    assert "--privileged" not in run
    name = run[run.index("--name") + 1]
    assert lines[-1] == ["rm", "--force", "--volumes", name]
    begun = sum(line[:2] == ["exec", "-i"] for line in lines)
    ended = sum("kill -9 -1" in line for line in lines)
    assert begun == ended > 0


def test_a_container_works_as_a_workspace(container: WorkingCopy, shop: Shop) -> None:
    with container as workspace:
        report = workspace.run_tests(TESTS, count_lines={"shop/cart.py": [3, 5]}, timeout=120)
        assert report.status == "finished", report
        assert [result.outcome for result in report.results] == ["passed", "failed"]
        assert report.lines == {"shop/cart.py": {3: 2, 5: 1}}
        assert workspace.diff() == ""
        with pytest.raises(PatchRejected):
            workspace.apply(FIX.replace("shop/cart.py", "README.md"))
        workspace.apply(FIX.replace("@@ -2,4 +2,4 @@", "@@ -3,4 +3,4 @@"))
        workspace.write("deep/new.txt", b"new")
        assert workspace.read("deep/new.txt") == b"new"
        report = workspace.run_tests(TESTS, timeout=120)
        assert [result.outcome for result in report.results] == ["passed", "passed"]
        diff = workspace.diff()
        assert "max(0" in diff
        assert "deep/new.txt" in diff
        workspace.reset()
        assert workspace.diff() == ""
        assert "deep/new.txt" not in workspace.files()
        assert workspace.run("git log --all --format=%H").output.split() == [shop.later]
        assert workspace.run(f"git cat-file -e {shop.first}").status != 0
        assert workspace.run("echo $TZ; exit 4").status == 4


def test_links_out_of_a_container_tree(container: WorkingCopy, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("x")
    with container as workspace:
        workspace.run(f"ln -s {tmp_path}/outside out; ln -s {tmp_path}/outside/secret link")
        for path in ("out/secret", "link", "../x", "/etc/passwd"):
            with pytest.raises(OSError, match=r"."):
                workspace.read(path)
        for path in ("out/planted", "out/a/b", "../planted"):
            with pytest.raises(OSError, match=r"."):
                workspace.write(path, b"x")
    assert os.listdir(tmp_path / "outside") == ["secret"]


def test_what_is_missing_is_told_in_one_line(
    shop: Shop, engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe(image="no/such:image")
    base = prepare("o/shop", shop.first, recipe, backend="podman")
    with pytest.raises(WorkspaceUnavailable, match="podman run: no such image"):
        open_workspace(base, backend="podman")
    with pytest.raises(WorkspaceUnavailable, match="no container image"):
        open_workspace(replace(base, recipe=Recipe()), backend="podman")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(WorkspaceUnavailable, match="docker is not installed"):
        open_workspace(base, backend="docker")
