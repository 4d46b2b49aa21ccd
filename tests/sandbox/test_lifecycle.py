"""Processes and files: whoever dies, in whatever way, leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call
from refute.errors import SandboxUnavailable
from refute.sandbox import Limits, Program, Returned, TimedOut
from refute.sandbox.loading import LateFinder
from refute.sandbox.local import LocalSandbox

from .attacks import ATTACKS
from .conftest import LEVELS, children_of, sentinel

USER = """
import sys, threading, time
from refute.core.problems import Call
from refute.sandbox import Limits, Program
from refute.sandbox.local import LocalSandbox
code = {code!r}
box = LocalSandbox(measures={measures!r})
box.run(Program(code="def f(x): return x", entry_point="f"), [Call(args=(1,))])
print("ready", flush=True)
{then}
box.run(Program(code=code, entry_point="f"), [Call(args=(1,))], Limits(cpu=60.0))
"""
SPIN = "def f(x):\n    open('left', 'w').close()\n    while 1: pass"
FORKS = """
import os, time
def f(x):
    for _ in range(3):
        try:
            if os.fork() == 0:
                os.setsid(); time.sleep(100)
        except OSError: pass
    while 1: pass
"""


def start(
    level: str, code: str = SPIN, then: str = "", tmp: Path | None = None
) -> subprocess.Popen[str]:
    source = USER.format(code=code, measures=sorted(LEVELS[level]), then=textwrap.dedent(then))
    environment = os.environ | ({"TMPDIR": str(tmp)} if tmp else {})
    process = subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout.readline() == "ready\n"
    return process


def wait_for(condition: object, seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.02)
    return False


def alive(pids: set[int]) -> set[int]:
    found = set()
    for pid in pids:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.add(pid)
        except OSError:
            pass
    return found


@pytest.mark.parametrize(
    ("level", "how"),
    [
        ("all", "busy"),
        ("all", "forked"),
        ("all", "idle"),
        ("no-namespaces", "forked"),
        ("limits-only", "busy"),
    ],
)
def test_a_killed_client_leaves_nothing(level: str, how: str, tmp_path: Path) -> None:
    then = "time.sleep(100)" if how == "idle" else ""
    client = start(level, FORKS if how == "forked" else SPIN, then, tmp_path)
    pids: set[int] = set()
    size = 2 if how == "idle" else 3
    assert wait_for(lambda: len(children_of(client.pid)) >= size)
    time.sleep(0.1)
    pids = children_of(client.pid)
    client.kill()
    client.wait()
    assert wait_for(lambda: not alive(pids)), alive(pids)
    assert wait_for(lambda: not list(tmp_path.iterdir())), list(tmp_path.iterdir())


def test_a_fork_of_the_client_does_not_keep_the_server_alive() -> None:
    then = """
        import os, signal
        if os.fork() == 0:
            signal.pause()
        time.sleep(100)
    """
    client = start("all", then=then)
    assert wait_for(lambda: len(children_of(client.pid)) >= 3)
    servers = {
        p
        for p in children_of(client.pid)
        if b"server.py" in Path(f"/proc/{p}/cmdline").read_bytes()
    }
    forked = children_of(client.pid) - servers
    client.kill()
    client.wait()
    assert wait_for(lambda: not alive(servers))
    for pid in forked:
        os.kill(pid, signal.SIGKILL)


def test_a_fork_of_the_client_starts_a_server_of_its_own() -> None:
    with LocalSandbox() as box:
        sentinel(box)
        pid = os.fork()
        if pid == 0:
            try:
                sentinel(box)
                box.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        sentinel(box)


def test_a_stopped_server_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refute.sandbox.pool.SILENCE", 0.5)
    monkeypatch.setattr("refute.sandbox.local._PATIENCE", 0.5)
    box = LocalSandbox()
    sentinel(box)
    pids = children_of(box._servers[((), 0, False)].process.pid)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    with pytest.raises(SandboxUnavailable, match="no word"):
        box.run(Program(code="def f(): pass", entry_point="f"), [Call()])
    assert wait_for(lambda: not alive(pids))
    sentinel(box)
    box.close()


def test_an_interrupted_run_does_not_answer_the_next() -> None:
    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with LocalSandbox() as box:
            sentinel(box)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(Interrupted):
                box.run(Program(code=SPIN, entry_point="f"), [Call(args=(1,))], Limits(cpu=9.0))
            sentinel(box)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_new_server_is_never_weaker(monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalSandbox() as box:
        if not box.protections()["namespaces"]:
            pytest.skip("no namespaces here")
        box._servers.popitem()[1].close()
        monkeypatch.setattr(box, "_measures", frozenset({"landlock", "seccomp"}))
        with pytest.raises(SandboxUnavailable, match="namespaces"):
            sentinel(box)


def test_a_server_killed_as_it_starts_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """That somebody ended it does not say that the machine lacks namespaces."""
    with LocalSandbox() as box:
        held = box.protections()
    begin, killed = subprocess.Popen, 0

    def kill(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        nonlocal killed
        process = begin(*args, **named)
        if killed < 2:
            killed += 1
            process.kill()
        return process

    monkeypatch.setattr(subprocess, "Popen", kill)
    with LocalSandbox() as box:
        assert box.protections() == held
        sentinel(box)
    assert killed == 2


def test_nothing_is_left_where_the_janitor_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with LocalSandbox(measures=LEVELS["no-namespaces"]) as box:
        sentinel(box)
        (directory,) = tmp_path.iterdir()
        (directory / "scratch" / "deep").mkdir()
        (directory / "scratch" / "link").symlink_to("/")
        box._servers[((), 0, False)].process.kill()
        with pytest.raises(SandboxUnavailable):
            sentinel(box)
        assert not list(tmp_path.iterdir())
        sentinel(box)
    assert not list(tmp_path.iterdir())


def test_started_from_a_thread_that_ends() -> None:
    box = LocalSandbox()
    thread = threading.Thread(target=lambda: sentinel(box))
    thread.start()
    thread.join()
    time.sleep(0.1)
    pid = box._servers[((), 0, False)].process.pid
    sentinel(box)
    assert box._servers[((), 0, False)].process.pid == pid
    box.close()


def test_no_files_in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for level, measures in LEVELS.items():
        with LocalSandbox(measures=measures) as box:
            sentinel(box)
            assert (not list(tmp_path.iterdir())) == ("namespaces" in measures), level
            (odd,) = [attack for attack in ATTACKS if attack.name == "odd names and modes"]
            box.run(Program(code=odd.code, entry_point="f"), [Call(args=(1,))])
        assert not list(tmp_path.iterdir())


def test_an_interpreter_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(SandboxUnavailable, match="cannot start"):
        LocalSandbox().protections()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(SandboxUnavailable, match="ended"):
        LocalSandbox().protections()


def test_where_user_namespaces_are_refused() -> None:
    source = "from refute.sandbox.local import LocalSandbox as L; print(L().protections())"
    refuse = 'echo 0 > /proc/sys/user/max_user_namespaces || exit 9; exec "$@"'
    try:
        done = subprocess.run(
            ["unshare", "-U", "-r", "sh", "-c", refuse, "-", sys.executable, "-c", source],
            capture_output=True, text=True, timeout=30,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("no unshare command")
    if done.returncode == 9 or "unshare" in done.stderr:
        pytest.skip("cannot simulate it here")
    assert "'namespaces': False" in done.stdout, done.stderr


BURN = """
import time
def f(s):
    end = time.process_time() + s
    while time.process_time() < end: pass
    return s
"""


def test_verdicts_do_not_depend_on_how_busy_the_machine_is() -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(2)]
    try:
        with LocalSandbox() as box:
            calls = [Call(args=(s,)) for s in (0.0, 0.1, 1.5, 0.1)]
            found = box.run(Program(BURN, "f"), calls, Limits(cpu=0.3, wall=0.5))
            kinds = [type(outcome) for outcome in found]
            assert kinds == [Returned, Returned, TimedOut, Returned], found
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_a_long_job_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refute.sandbox.pool.SILENCE", 1.5)
    with LocalSandbox() as box:
        calls = [Call(args=(9.0,))] * 5
        found = box.run(Program(code=BURN, entry_point="f"), calls, Limits(cpu=0.4))
    assert {type(outcome) for outcome in found} == {TimedOut}


STATE = """
import random, resource, sys, os
def f():
    limits = [resource.getrlimit(n) for n in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE,
              resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_AS)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
        raised = True
    except (OSError, ValueError):
        raised = False
    names = [name for name in ("f", "n") if name in vars(sys.modules["refute_program"])]
    return [random.random(), limits, raised, names, "LD_BIND_NOW" in os.environ]
"""


def test_each_begins_alike_whatever_ran_before() -> None:
    found = []
    with LocalSandbox() as box:
        for program in (STATE, "import random\nrandom.seed(5)\ndef f(): return 1", STATE):
            (outcome,) = box.run(Program(program, "f"), [Call()], Limits(cpu=1.0))
            found.append(outcome.value)
    assert found[0] == found[2]
    _, limits, raised, names, bind = found[0]
    assert (raised, names, bind) == (False, ["f"], False)
    assert all(soft == hard >= 0 for soft, hard in limits)
    assert limits[:2] == [(0, 0), (64, 64)]


def test_a_seed_is_what_random_begins_with() -> None:
    first = Program("import random\ndef f(): return random.random()", "f")
    with LocalSandbox() as box:
        seeds = (0, 1, 0)
        rows = [box.run(first, [Call()], Limits(cpu=1.0, seed=seed))[0] for seed in seeds]
    assert rows[0] == rows[2] != rows[1]


def test_code_of_path_files_never_runs_in_the_server() -> None:
    finder = LateFinder(["import os; os.environ['RAN_LATE'] = 'yes'"])
    assert finder.find_spec("no_such_module_anywhere") is None
    assert "RAN_LATE" not in os.environ
    pid = os.fork()
    if pid == 0:
        finder.find_spec("no_such_module_anywhere")
        os._exit(0 if os.environ.get("RAN_LATE") == "yes" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
