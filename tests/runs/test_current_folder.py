"""A checkout as the current folder: none of its modules is imported by refute's own processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import refute
from refute.runs.pool import run_tasks
from refute.runs.spawning import shared_slots
from refute.workspace.environment import build_environment

SOURCE = str(Path(refute.__file__).resolve().parents[1])
NAMES = (
    "multiprocessing", "pickle", "socket", "signal", "threading", "struct", "typing", "re", "json",
    "subprocess", "selectors", "tempfile", "random", "hashlib", "logging", "collections", "click",
    "contextlib", "functools", "weakref", "copyreg", "_compat_pickle", "sitecustomize", "ast",
    "usercustomize", "venv", "ensurepip", "compileall", "pip", "sysconfig", "shutil", "argparse",
    "dataclasses", "abc", "enum", "types", "runpy", "encodings", "codecs", "linecache", "inspect",
)  # fmt: skip


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with a module of every such name, each of which says that it ran."""
    folder = tmp_path / "checkout"
    for name in NAMES:
        for path in (folder / f"{name}.py", folder / "packages" / name / "__init__.py"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + '\\n')\n")
    (folder / "uv.toml").write_text("this is not toml, and nobody reads it")
    (folder / "half.py").write_text("def half(n):\n    '''\n    >>> half(4)\n    2\n    '''\n")
    return folder


def ran(checkout: Path) -> str:
    """The names of the modules that ran."""
    told = checkout.parent / "ran"
    return told.read_text() if told.exists() else ""


def variables(checkout: Path, **more: str) -> Mapping[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith("PYTHON")}
    return {**kept, "REFUTE_CACHE": str(checkout.parent / "cache"), "PYTHONPATH": SOURCE, **more}


WORKS = """
import sys
sys.path[:] = [entry for entry in sys.path if entry not in ("", {checkout!r})]
sys.path.insert(0, {tests!r})
from test_current_folder import start
from refute.runs.pool import run_tasks
from refute.runs.spawning import shared_slots
if __name__ == "__main__":
    slots = shared_slots(1)
    with slots:
        assert dict(run_tasks([1, 2], start=start, jobs=2)) == {{1: 2, 2: 4}}
"""


def start() -> Callable[[int], int]:
    import selectors  # noqa: F401
    import tempfile  # noqa: F401

    return twice


def twice(task: int) -> int:
    return 2 * task


def test_workers_import_nothing_from_the_current_folder(checkout: Path) -> None:
    script = checkout.parent / "works.py"
    script.write_text(WORKS.format(checkout=str(checkout), tests=str(Path(__file__).parent)))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=checkout, env=variables(checkout), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran(checkout) == ""
    assert done.returncode == 0, done.stderr


def test_a_caller_keeps_its_own_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with shared_slots(1):
        assert dict(run_tasks([3], start=start, jobs=1)) == {3: 6}
    assert "PYTHONSAFEPATH" not in os.environ


@pytest.mark.parametrize(
    "verb", ["--version", "hunt half.py --budget 1", "bench half.jsonl --method none"]
)
def test_the_program_imports_nothing_from_the_current_folder(checkout: Path, verb: str) -> None:
    """As an installed `refute` is started; `python -m` is another matter, and Python's own."""
    row = {
        "id": "half",
        "description": "Half of n.",
        "entry_point": "half",
        "code": "def half(n):\n    return n // 3\n",
        "reference": "def half(n):\n    return n // 2\n",
        "inputs": [[4]],
    }
    (checkout / "half.jsonl").write_text(json.dumps(row) + "\n")
    script = checkout.parent / "refute"
    script.write_text("from refute.cli import main\nif __name__ == '__main__':\n    main()\n")
    done = subprocess.run(
        [sys.executable, str(script), *verb.split()],
        cwd=checkout, env=variables(checkout), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran(checkout) == ""
    assert done.returncode in (0, 1), done.stderr


def test_environments_are_built_without_the_current_folder(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(checkout.parent / "cache"))
    monkeypatch.chdir(checkout)
    built = build_environment("{}.{}".format(*sys.version_info[:2]), [()])
    assert built.version == sys.version_info[:2]
    assert ran(checkout) == ""
