"""Hostile commands and tests: what they must not reach, and that the workspace works afterwards."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.workspace.contract import TestSelection, WorkspaceLimits
from refute.workspace.working_copy import WorkingCopy

from .shops import FILES, FIX, Shop, opened

WALLED = pytest.mark.parametrize("level", ["overlay", "copied"], indirect=True)
"""Levels whose commands cannot even signal a process of this machine."""


def still_works(workspace: WorkingCopy) -> bool:
    return workspace.run("echo alive").output == "alive\n"


def python(workspace: WorkingCopy, code: str, timeout: float = 60.0) -> str:
    workspace.write("attack.py", code.encode())
    done = workspace.run(f"{workspace._backend.python} attack.py", timeout=timeout)
    return done.output


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / ".ssh" / "id_rsa"
    path.parent.mkdir()
    path.write_text("PRIVATE KEY")
    return path


@pytest.fixture
def port() -> Iterator[int]:
    """A server of the host that listens on its loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


CONNECT = """
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=5)
    print("CONNECTED")
except OSError as error:
    print("refused", error)
"""


def test_no_network(workspace: WorkingCopy, port: int) -> None:
    if not (workspace.protections()["network"] or workspace.protections()["landlock"]):
        pytest.skip("nothing here stops it, and protections() says so")
    assert "refused" in python(workspace, CONNECT.format(port=port))


@WALLED
def test_own_loopback_works(workspace: WorkingCopy) -> None:
    code = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"served"), daemon=True).start()
print(socket.create_connection(server.getsockname()).recv(9).decode())
print(sorted(name for _, name in socket.if_nameindex()))
"""
    assert python(workspace, code) == "served\n['lo']\n"


def test_other_files_cannot_be_read_or_written(
    workspace: WorkingCopy, secret: Path, shop: Shop
) -> None:
    if not workspace.protections()["files"]:
        pytest.skip("nothing here stops it, and protections() says so")
    assert "PRIVATE" not in workspace.run(f"cat {secret}; cp {secret} stolen; cat stolen").output
    targets = [secret, shop.base.tree / "README.md", shop.path / "README.md", Path("/usr/x")]
    targets.append(Path(sys.prefix) / "planted")
    for path in targets:
        workspace.run(f"echo planted > {path}; rm -rf {path}")
    assert secret.read_text() == "PRIVATE KEY"
    assert (shop.base.tree / "README.md").read_text() == "A shop.\n"
    assert (shop.path / "README.md").exists()
    assert not Path("/usr/x").exists()
    assert not (Path(sys.prefix) / "planted").exists()
    workspace.reset()
    assert workspace.read("README.md") == b"A shop.\n"


def test_no_secrets_in_the_environment(
    workspace: WorkingCopy, monkeypatch: pytest.MonkeyPatch, shop: Shop, level: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with opened(shop.base, level) as fresh:
        told = fresh.run(
            "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"
        )
    assert "HOME=" in told.output
    assert "sk-very-secret" not in told.output


def test_nothing_lives_on(workspace: WorkingCopy) -> None:
    code = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                with open("beat", "a") as file: file.write("x")
                time.sleep(0.01)
        os._exit(0)
time.sleep(0.3)
"""
    python(workspace, code)
    beats = workspace.read("beat")
    assert beats
    told = workspace.run("sleep 0.3; wc -c < beat")
    assert int(told.output) == len(workspace.read("beat"))


def test_processes_are_bounded(shop: Shop, level: str) -> None:
    limits = WorkspaceLimits(memory=1 << 30, processes=40, disk=16 << 20)
    with opened(shop.base, level, limits) as workspace:
        code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
        if level == "bare":  # without walls: many processes, but not ever more of them
            code = (
                "import os, time\n"
                "for _ in range(60):\n"
                "    if os.fork() == 0: time.sleep(600)\n"
                "time.sleep(600)\n"
            )
        workspace.write("bomb.py", code.encode())
        done = workspace.run(f"{workspace._backend.python} bomb.py", timeout=120)
        assert not done.timed_out
        assert "over the limit of processes" in done.output
        assert still_works(workspace)


def test_memory_is_bounded(shop: Shop, level: str) -> None:
    limits = WorkspaceLimits(memory=200 << 20, processes=100, disk=16 << 20)
    with opened(shop.base, level, limits) as workspace:
        workspace.write(
            "tests/test_big.py",
            b"import time\ndef test_a():\n    x = bytearray(400 << 20)\n    time.sleep(600)\n",
        )
        report = workspace.run_tests(TestSelection(("tests/test_big.py",)), timeout=120)
        assert report.status == "memory", report
        assert still_works(workspace)


@WALLED
def test_disk_is_bounded(shop: Shop, level: str) -> None:
    with opened(shop.base, level, WorkspaceLimits(processes=100, disk=8 << 20)) as workspace:
        for target in (".", "/tmp", "/dev/shm"):
            fill = f"for i in 1 2 3 4 5 6; do head -c 4000000 /dev/zero > {target}/f$i; done"
            assert "space" in workspace.run(fill).output
        workspace.reset()
        workspace.write("README.md", b"there is room again")
        assert still_works(workspace)


@WALLED
def test_the_jail_cannot_be_killed(workspace: WorkingCopy) -> None:
    assert workspace.protections()["namespaces"]  # else these signals would reach the machine
    for command in ("kill -9 1", "kill -INT 1; kill -TERM 1", "kill -STOP 1; kill -HUP $PPID"):
        workspace.run(command)
        assert still_works(workspace), command


@WALLED
def test_no_way_to_more_rights(workspace: WorkingCopy) -> None:
    assert workspace.run("unshare -Ur true").status != 0
    assert workspace.run("mount -t tmpfs none /tmp").status != 0
    assert workspace.run("echo 1 > /proc/sys/vm/drop_caches").status != 0
    assert workspace.run("chroot / true").status != 0
    assert "0000000000000000" in workspace.run("grep CapEff /proc/self/status").output
    assert workspace.run("ls /root/.ssh /work /home 2>/dev/null | grep -c ssh").output == "0\n"


def test_links_lead_nowhere(workspace: WorkingCopy, secret: Path) -> None:
    folder = secret.parent
    workspace.run(
        f"ln -s {secret} link; ln -s {folder} folder; ln -s ../../../../../../..{secret} up; "
        "ln -s loop loop; mkfifo pipe; ln -s README.md inside; ln -s shop packages"
    )
    for path in ("link", "folder/id_rsa", "up", "loop", "pipe"):
        with pytest.raises(OSError, match=r"."):
            workspace.read(path)
    for path in ("folder/id_rsa", "folder/new", "loop/x"):
        with pytest.raises(OSError, match=r"."):
            workspace.write(path, b"planted")
    workspace.write("link", b"a file now")
    assert workspace.read("link") == b"a file now"
    assert workspace.read("inside") == b"A shop.\n"
    workspace.write("packages/new.py", b"1")
    assert workspace.read("shop/new.py") == b"1"
    assert secret.read_text() == "PRIVATE KEY"
    assert os.listdir(folder) == ["id_rsa"]
    assert "PRIVATE KEY" not in workspace.diff()


def test_git_settings_of_the_tree_are_not_believed(workspace: WorkingCopy) -> None:
    workspace.run(
        "printf '#!/bin/sh\\ntouch $PWD/ran\\ncat' > evil; chmod +x evil; root=$PWD\n"
        "git config core.fsmonitor $root/evil; git config diff.external $root/evil\n"
        "git config diff.py.textconv $root/evil; git config core.hooksPath $root\n"
        "git config filter.f.clean $root/evil; git config filter.f.smudge $root/evil\n"
        "git config core.worktree /; git config core.ignoreStat true\n"
        "cp evil post-index-change; cp evil .git/hooks-post; mkdir -p .git/hooks\n"
        "cp evil .git/hooks/post-index-change; printf '*.py diff=py filter=f\\n' > .gitattributes\n"
        "git update-index --assume-unchanged README.md; echo '*' >> .git/info/exclude\n"
        "echo changed > README.md; echo new > new.txt"
    )
    diff = workspace.diff()
    assert "+changed" in diff
    assert "+++ b/new.txt" in diff
    workspace.apply(FIX)
    assert "new.txt" in workspace.files()
    assert workspace.run("ls ran").status != 0
    workspace.run("rm -rf .git; ln -s /nowhere .git")
    assert "+changed" in workspace.diff()


def test_a_repository_in_the_tree_is_no_trouble(workspace: WorkingCopy) -> None:
    workspace.run(
        "mkdir empty; git init -q empty; mkdir other; git init -q other; echo 1 > other/x"
    )
    workspace.run("cd other; git add x; git commit -qm x")
    workspace.write("README.md", b"changed\n")
    assert "+changed" in workspace.diff()
    assert set(FILES) <= set(workspace.files())


def test_forged_results_are_not_believed(workspace: WorkingCopy) -> None:
    forged = """
import glob, os
def test_a():
    channel = os.environ.get("REFUTE_PROBE", "")
    for folder in {channel, *glob.glob("/.refute/scratch/channel")} - {""}:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.symlink("/etc/passwd", os.path.join(folder, "results"))
    assert False
"""
    workspace.write("tests/test_forged.py", forged.encode())
    report = workspace.run_tests(TestSelection(("tests/test_forged.py",)), timeout=120)
    assert not any(result.outcome == "passed" for result in report.results)
    assert report.status != "finished" or not report.trusted or report.results


def test_all_ends_with_the_caller(shop: Shop, tmp_path: Path) -> None:
    """kill -9 of the program that opened it leaves no process behind."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from refute.workspace.contract import Base
from refute.workspace.contract import Recipe
from tests.workspace.shops import opened
base = Base({shop.base.repo!r}, {shop.base.commit!r}, Recipe(), Path({str(shop.base.tree)!r}),
            Path({str(shop.base.python)!r}), {shop.base.readable!r}, "k")
workspace = opened(base, "overlay")
print(workspace._backend._process.pid, flush=True)
workspace.run("sleep 1000")
"""
    client = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    with client.stdout:
        line = client.stdout.readline()
    if not line:
        pytest.skip("this machine has no namespaces")
    jail = int(line)
    client.send_signal(signal.SIGKILL)
    client.wait()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{jail}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{jail}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.05)
    else:
        assert time.monotonic() < deadline, "the jail outlived its caller"
