"""Any agent as a command: a real script in the jail and, where it is let out, on the machine."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from refute.core.methods import Bounds, Context
from refute.errors import InputError
from refute.issue.contract import Reproduction
from refute.issue.original import Original
from refute_lab.baselines.methods.external import (
    UNCONTAINED,
    ExternalOptions,
    chosen_agent,
    external,
    presets,
)

from ..projects import Project
from .talking import same_as_golden

AGENT = '''
"""A coding agent without a mind: it reads its task and writes a test."""
import os, pathlib, subprocess, sys

task = pathlib.Path(sys.argv[1]).read_text()
assert "clamp returns the lower bound" in task
tests = pathlib.Path("tests/test_line.py")
tests.write_text(tests.read_text() + """

def test_above():
    assert clamp(10, 0, 9) == 9
""")
pathlib.Path("notes.txt").write_text("mine")
pathlib.Path("shapes/colour.py").unlink()
print(os.getcwd(), sorted(os.listdir(".")))
print("commits", subprocess.run(["git", "log", "--all", "--format=%s"], text=True,
      capture_output=True).stdout.split("\\n"))
print("key", os.environ.get("OPENAI_API_KEY"))
'''


def run(
    project: Project, agent: str, *, network: bool = False, seconds: float = 300
) -> Reproduction:
    bounds = Bounds(seconds=seconds)
    ctx = Context(workspace=project.spawn, bounds=bounds)
    options = ExternalOptions(agent=agent, network=network)
    return asyncio.run(external(project.problem, ctx=ctx, options=options))


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "agent.py"
    path.write_text(AGENT)
    return path


def test_in_the_jail(project: Project, monkeypatch: pytest.MonkeyPatch, script: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    # in the jail nothing of the user's can be read, so the script comes with the command
    found = run(
        project, f"cat > $TMPDIR/a.py <<'X'\n{AGENT}\nX\npython $TMPDIR/a.py {{prompt_file}}"
    )
    assert_right(project, found)
    (step,) = found.steps
    assert step["contained"] is True
    assert step["status"] == 0
    assert "key None" in step["output"]
    assert "sk-secret" not in str(found)
    same_as_golden("external", step["prompt"])
    hidden = run(project, f"python {script} {{prompt_file}}")
    assert hidden.prediction.patch == ""
    assert "exit status 2" in hidden.prediction.notes[0]


def test_let_out(project: Project, monkeypatch: pytest.MonkeyPatch, script: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-the-agent")
    found = run(project, f"{sys.executable} {script} {{prompt_file}}", network=True)
    assert_right(project, found)
    assert found.prediction.notes[0] == UNCONTAINED
    (step,) = found.steps
    assert step["contained"] is False
    assert "key sk-for-the-agent" in step["output"]
    assert "commits ['as it is', '']" in step["output"]
    copy = Path(step["output"].split()[0])
    assert copy != project.folder
    assert not copy.exists(), "the copy is gone"
    assert "test_above" not in (project.folder / "tests/test_line.py").read_text()
    assert (project.folder / "shapes/colour.py").exists()


def assert_right(project: Project, found: Reproduction) -> None:
    with project.spawn() as workspace:
        trial = Original(workspace, Bounds()).attempt(found.prediction.patch)
    assert [result.id for result in trial.failing] == ["tests/test_line.py::test_above"]
    assert "left out, no tests: notes.txt, shapes/colour.py" in found.prediction.notes
    assert "colour" not in found.prediction.patch


def test_new_files_links_and_modes(project: Project, tmp_path: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("PRIVATE KEY")
    make = (
        f"mkdir -p tests/deep .git/x; echo 'def test_a(): pass' > tests/deep/test_a.py; "
        f"ln -s {secret} tests/test_secret.py; ln -s {tmp_path} tests/folder; mkfifo tests/pipe; "
        "rm tests/test_colour.py; ln -s test_line.py tests/test_colour.py; "
        "printf '*.log\\n' > .gitignore; echo x > tests/a.log; rm -rf .git; cat {prompt_file}"
    )
    found = run(project, make, network=True).prediction
    assert "+++ b/tests/deep/test_a.py" in found.patch
    assert "PRIVATE KEY" not in found.patch
    assert "a.log" not in found.patch
    assert "deleted file" in found.patch, "a link is no file: what it replaced is gone"


@pytest.mark.parametrize("network", [False, True])
def test_its_time_is_limited(project: Project, network: bool) -> None:
    command = (
        "echo 'def test_a(): assert 0' > tests/test_a.py; echo begun; sleep 1000; {prompt_file}"
    )
    found = run(project, command, network=network, seconds=2)
    assert "ended after 2 seconds" in " ".join(found.prediction.notes)
    assert "test_a.py" in found.prediction.patch
    assert found.steps[0]["timed_out"] is True
    assert "begun" in found.steps[0]["output"]


def test_what_it_prints_is_bounded(project: Project) -> None:
    found = run(project, "yes | head -c 30000000; : {prompt_file}; exit 7", network=True)
    assert len(found.steps[0]["output"]) < 25_000
    assert "the agent ended with exit status 7" in found.prediction.notes


def test_a_program_that_is_left_behind_does_not_hold_it(project: Project, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = f"sleep 1000 & echo $! > {pid}; echo done; : {{prompt_file}}"
    found = run(project, command, network=True, seconds=200)
    assert found.steps[0]["timed_out"] is False
    assert found.steps[0]["output"].strip() == "done"
    assert_gone(int(pid.read_text()))


def test_cancelling_ends_the_program(project: Project, tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    async def work() -> None:
        command = f"echo $$ > {pid}.part; mv {pid}.part {pid}; sleep 1000; : {{prompt_file}}"
        task = asyncio.create_task(
            external(
                project.problem,
                ctx=Context(workspace=project.spawn),
                options=ExternalOptions(agent=command, network=True),
            )
        )
        while not pid.exists():
            await asyncio.sleep(0.05)
            assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert_gone(int(pid.read_text()))


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the program lives on")


# -- choosing --------------------------------------------------------------------------------------


def test_presets() -> None:
    known = presets()
    wanted = "claude-code codex aider openhands mini-swe-agent gemini-cli opencode"
    assert set(known) == set(wanted.split())
    for agent in known.values():
        assert agent.network
        assert agent.started("'/t/p'").count("'/t/p'") == 1
        assert "{" not in agent.started("x")


def test_a_preset_is_started_by_its_name(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Path
) -> None:
    program = tmp_path / "bin" / "mini"
    program.parent.mkdir()
    task = tmp_path / "task"
    program.write_text(f'#!/bin/sh\nprintf "%s" "$4" > {task}\n{sys.executable} {script} {task}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    found = run(project, "mini-swe-agent", network=True)
    assert "+def test_above" in found.prediction.patch
    assert found.steps[0]["agent"] == "mini-swe-agent"


@pytest.mark.parametrize(
    ("agent", "network", "why"),
    [
        (None, False, "name an agent with --set agent"),
        ("  ", True, "name an agent with --set agent"),
        ("claude", True, "not a preset"),
        ("codex", False, "add --set network=true"),
        ("aider", True, "'aider' is not on PATH"),
    ],
)
def test_what_cannot_be_run(
    agent: str | None, network: bool, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match=why):
        chosen_agent(agent, network=network)
