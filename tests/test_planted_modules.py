"""A hostile checkout as the current folder: none of its modules is imported on the host, whichever
way refute is started there."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

import refute
from refute.core.processes import run_tasks, shared_slots
from refute.doors.worker import Done, all_ended, call
from refute.workspace.environment import build_environment
from refute_lab.runs.executors import Workers
from refute_lab.runs.ray import _connected

ROOT = Path(__file__).parent.parent
SOURCE = str(Path(refute.__file__).resolve().parents[1])
THEIRS = (
    "refute", "sitecustomize", "usercustomize", "click", "msgspec", "rich", "pygments", "mcp",
    "mcp_types", "anyio", "pydantic", "pygls", "lsprotocol", "watchfiles", "starlette", "uvicorn",
    "httpx", "numpy", "yaml", "pytest", "pip", "ray",
)  # fmt: skip
NAMES = sorted({name for name in sys.stdlib_module_names if name != "__future__"} | {*THEIRS})
ROW = {
    "id": "half",
    "description": "Half of n.",
    "entry_point": "half",
    "code": "def half(n):\n    return n // 3\n",
    "reference": "def half(n):\n    return n // 2\n",
    "inputs": [[4]],
}
HALF = "def half(n):\n    '''\n    >>> half(4)\n    2\n    '''\n    return n // {}\n"


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a module of every name, each of which says that it ran."""
    folder = tmp_path_factory.mktemp("hostile") / "checkout"
    for name in NAMES:
        for path in (folder / f"{name}.py", folder / "packages" / name / "__init__.py"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"open({str(folder.parent / 'ran')!r}, 'a').write({name!r} + '\\n')\n")
    (folder / "refute").mkdir()
    (folder / "refute.py").rename(folder / "refute" / "__init__.py")
    (folder / "refute" / "__main__.py").write_bytes((folder / "refute/__init__.py").read_bytes())
    (folder / "uv.toml").write_text("this is not toml, and nobody reads it")
    (folder / "half.jsonl").write_text(json.dumps(ROW) + "\n")
    (folder / "half.py").write_text(HALF.format(2))
    (folder / "third.py").write_text(HALF.format(3))
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in ("init -qb main", "add -A", "commit -qm first"):
        subprocess.run([*git, *words.split()], check=True)
    (folder / "half.py").write_text(HALF.format(3))
    program = folder.parent / "bin" / "refute"  # as installers write it
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom refute.doors.command_line import main\n"
        "if __name__ == '__main__':\n    sys.exit(main())\n"
    )
    program.chmod(0o755)
    return folder


@pytest.fixture
def checkout(planted: Path) -> Iterator[Path]:
    """The repository; nothing of it has run, before and after."""
    told = planted.parent / "ran"
    told.unlink(missing_ok=True)
    yield planted
    assert not told.exists(), f"ran on the host: {sorted(set(told.read_text().split()))}"


def variables(checkout: Path, **more: str) -> Mapping[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith("PYTHON")}
    path = f"{checkout.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    cache = str(checkout.parent / "cache")
    return {**kept, "REFUTE_CACHE": cache, "PYTHONPATH": SOURCE, "PATH": path, **more}


def entries() -> Iterator[Any]:
    """Commands for a shell in the checkout, what is said to them, and what their output holds."""
    half = f"--python {sys.executable} --budget 0.5"
    yield "refute --version", "", "refute "
    yield f"refute hunt half.py third.py --jobs 2 {half}", "", "half"
    yield f"refute debug half.py {half}", "", "half"
    yield f"refute diff HEAD {half}", "", "half"
    yield "refute bench half.jsonl --method none --jobs 2 --run ../run", "", "half"
    for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()):
        files = " half.py" if hook.get("pass_filenames", True) else ""
        yield f"{hook['entry']} --python {sys.executable}{files}", "", "half"
    (stop,) = json.loads((ROOT / "hooks/hooks.json").read_text())["hooks"]["Stop"]
    message = json.dumps({"hook_event_name": "Stop", "session_id": "s"})
    yield stop["hooks"][0]["command"], message, "refute gate: "
    yield f"{sys.executable} -I {ROOT / 'action/pull_request.py'}", "", "::stop-commands::"


@pytest.mark.parametrize(("command", "said", "shown"), [*entries()])
def test_a_command_imports_nothing_of_the_checkout(
    checkout: Path, command: str, said: str, shown: str
) -> None:
    base = {"INPUT_BASE": "main", "INPUT_BUDGET": "0.5", "INPUT_PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", "-c", command], input=said, cwd=checkout, env=variables(checkout, **base),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert shown in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@contextlib.contextmanager
def running(checkout: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A verb that goes on until it is told to end."""
    command = [str(checkout.parent / "bin" / "refute"), *words]
    process = subprocess.Popen(
        command, cwd=checkout, env=variables(checkout), text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    timer = threading.Timer(100, process.kill)
    timer.start()
    try:
        yield process
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        timer.cancel()
        process.kill()
        process.communicate()


def until(process: subprocess.Popen[str], pattern: str) -> str:
    """What it prints up to a line like that."""
    assert process.stdout is not None
    text = ""
    while not re.search(pattern, text):
        line = process.stdout.readline()
        assert line, text
        text += line
    return text


def test_watch_imports_nothing_of_the_checkout(checkout: Path) -> None:
    words = ("--python", sys.executable, "--budget", "0.5")
    with running(checkout, "watch", ".", *words) as process:
        assert "half(" in until(process, "waiting for changes")


def test_serve_imports_nothing_of_the_checkout(checkout: Path) -> None:
    with running(checkout, "serve", "--port", "0", "--jobs", "1") as process:
        found = re.search(r"http://\S+", until(process, "listening on"))
        assert found is not None
        with urllib.request.urlopen(f"{found[0]}/healthz", timeout=60) as answer:
            assert answer.status == 200


def test_a_call_imports_nothing_of_the_checkout(checkout: Path) -> None:
    arguments = {"targets": "half.py", "budget": 2.0, "python": sys.executable}

    async def called() -> Any:
        done = await call("hunt", arguments, root=checkout, seconds=60.0, outside=True)
        await all_ended()
        return done

    done = asyncio.run(called())
    assert isinstance(done, Done), done


def test_mcp_imports_nothing_of_the_checkout(checkout: Path) -> None:
    pytest.importorskip("mcp")
    client = {"name": "a test", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    arguments = {"targets": "half.py", "budget": 2.0, "python": sys.executable}
    called = {"name": "hunt", "arguments": arguments}
    with running(checkout, "mcp", "--allow", "outside") as process:
        assert process.stdin is not None
        for message in (
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {"id": 2, "method": "tools/call", "params": called},
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        assert "1 wrong" in until(process, r'"id":2')


def test_lsp_imports_nothing_of_the_checkout(checkout: Path) -> None:
    pytest.importorskip("pygls")
    uri = checkout.as_uri()
    item = {"uri": f"{uri}/half.py", "languageId": "python", "version": 1, "text": HALF.format(3)}
    with running(checkout, "lsp", "--budget", "2", "--python", sys.executable) as process:
        assert process.stdin is not None
        for message in (
            {"id": 1, "method": "initialize", "params": {"rootUri": uri, "capabilities": {}}},
            {"method": "initialized", "params": {}},
            {"method": "textDocument/didOpen", "params": {"textDocument": item}},
        ):
            body = json.dumps({"jsonrpc": "2.0", **message})
            process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n{body}\n")
        process.stdin.flush()
        assert process.stdout is not None
        text = ""
        while "half is wrong" not in text:
            text += (one := process.stdout.read(1))
            assert one, text


@pytest.mark.parametrize("name", ["msgspec", "numpy"])
def test_python_m_refute_forgets_the_current_folder(tmp_path: Path, name: str) -> None:
    """Where the folder has no `refute` of its own: with one, Python runs that."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / f"{name}.py").write_text("raise SystemExit('ran')")
    (folder / "half.py").write_text(HALF.format(3))
    command = [sys.executable, "-m", "refute", "hunt", "half.py", "--budget", "9"]
    done = subprocess.run(
        command, cwd=folder, env=variables(folder), capture_output=True, text=True
    )
    assert (done.returncode, "half(4)" in done.stdout) == (1, True), done.stderr


def test_workers_of_a_cluster_are_started_elsewhere(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray puts the folder in which its driver starts in front of its workers' `sys.path`."""
    seen = []
    stub = SimpleNamespace(
        is_initialized=lambda: False,
        init=lambda *_, **__: seen.append(os.getcwd()),
        shutdown=lambda: None,
    )
    monkeypatch.setitem(sys.modules, "ray", stub)
    monkeypatch.chdir(checkout)
    with _connected(Workers(place="local")):
        assert Path.cwd() == checkout
    assert seen == ["/"]


WORKS = """
import sys
sys.path[:] = [entry for entry in sys.path if entry not in ("", {checkout!r})]
sys.path.insert(0, {tests!r})
from test_planted_modules import start
from refute.core.processes import run_tasks
from refute.core.processes import shared_slots
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
    assert done.returncode == 0, done.stderr


def test_a_caller_keeps_its_own_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    with shared_slots(1):
        assert dict(run_tasks([3], start=start, jobs=1)) == {3: 6}
    assert "PYTHONSAFEPATH" not in os.environ


def test_environments_are_built_without_the_current_folder(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(checkout.parent / "cache"))
    monkeypatch.chdir(checkout)
    built = build_environment("{}.{}".format(*sys.version_info[:2]), [()])
    assert built.version == sys.version_info[:2]
