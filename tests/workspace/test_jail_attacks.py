"""What a command in a jail reaches of the machine, and what it leaves for the next one."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.workspace.contract import TestSelection, WorkspaceLimits
from refute.workspace.working_copy import WorkingCopy

from .shops import FILES, Shop, opened

WALLED = pytest.mark.parametrize("level", ["overlay", "copied"], indirect=True)
ADD_KEY, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(platform.machine(), (0, 0))
SESSION = -3


def python(workspace: WorkingCopy, code: str, timeout: float = 60.0) -> str:
    workspace.write("attack.py", code.encode())
    return workspace.run(f"{workspace._backend.python} attack.py", timeout=timeout).output


def still_works(workspace: WorkingCopy) -> None:
    """As a fresh one: the tests run, and files can be made where programs make them."""
    report = workspace.run_tests(TestSelection(("tests/test_cart.py",)), timeout=120)
    assert (report.status, report.trusted) == ("finished", True), report
    assert {r.id.split("::")[1]: r.outcome for r in report.results} == {
        "test_sum": "passed",
        "test_discount": "failed",
    }
    probing = "echo 1 > $d/x && rm $d/x"
    folders = "/tmp /dev/shm $HOME ." if workspace.protections()["namespaces"] else "$HOME ."
    told = workspace.run(f"for d in {folders}; do {probing} || echo $d; done; echo > /dev/null")
    assert told.output == ""
    assert workspace.diff() == ""


# -- the user's keys -------------------------------------------------------------------------------


@pytest.fixture
def key() -> Iterator[int]:
    """A key in the session keyring of whoever runs these tests."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.syscall(ADD_KEY, b"user", b"refute-secret", b"PRIVATE", 7, SESSION)
    if number <= 0:
        pytest.skip("no keyrings here")
    yield number
    libc.syscall(KEYCTL, 3, number)


KEYS = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found = ctypes.create_string_buffer(64)
for ring in (-1, -2, -3, -4, -5, -6, {key}):
    for number in (libc.syscall({keyctl}, 10, ring, b"user", b"refute-secret", 0), {key}):
        if number > 0 and libc.syscall({keyctl}, 11, number, found, 64) > 0:
            print("read", ring, found.value)
    if libc.syscall({add_key}, b"user", b"refute-planted", b"x", 1, ring) > 0:
        print("planted", ring)
print("done")
"""


def test_keys_are_neither_read_nor_planted(workspace: WorkingCopy, key: int) -> None:
    code = KEYS.format(key=key, keyctl=KEYCTL, add_key=ADD_KEY)
    assert python(workspace, code) == "done\n"
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.syscall(KEYCTL, 10, SESSION, b"user", b"refute-planted", 0) < 0


def test_calls_that_no_test_needs_are_not_there(workspace: WorkingCopy) -> None:
    assert workspace.protections()["syscalls"]
    code = """
import ctypes, errno, os, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
more = {"x86_64": (323, 319), "aarch64": (282, 279)}[platform.machine()]
for number in (425, 426, 427, 447, *more):
    if libc.syscall(number, 1, 0) >= 0 or ctypes.get_errno() != errno.ENOSYS:
        print(number, os.strerror(ctypes.get_errno()))
if platform.machine() == "x86_64" and libc.syscall(0x40000000 | 39) >= 0:
    print("x32")
for family in range(64):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
        except OSError:
            continue
        if family not in (1, 2, 10, 16, 17):
            print("family", family, kind)
socket.socketpair(); socket.socket(socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET)
"""
    assert python(workspace, code) == ""


# -- what outlives a command -----------------------------------------------------------------------

LEAVES = """
import os, stat, sys
places = ["/tmp", "/dev/shm", "/dev", "/dev/pts", "/dev/pts/ptmx", "/dev/null", "/dev/urandom", "/",
          "/proc", "/proc/meminfo", "/proc/self", "/.refute", "/.refute/scratch", "/.refute/base",
          "/.refute/changes", "/etc", "/etc/passwd", "/usr/bin", os.environ["HOME"], os.getcwd()]
folder = os.getcwd()
while folder != "/":
    folder = os.path.dirname(folder)
    places.append(folder)
for folder in places:
    for name, text in (("pytest.ini", "[pytest]\\naddopts = --collect-only\\n"),
                       ("conftest.py", "import os; os._exit(0)\\n"), ("x/y", "")):
        path = os.path.join(folder, name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w").write(text)
        except OSError:
            pass
for folder in reversed(places):
    for change in (lambda: os.rename(folder, folder + ".moved"),
                   lambda: os.symlink("/nowhere", folder),
                   lambda: os.chmod(folder, 0)):
        try:
            change()
        except OSError:
            pass
"""


@pytest.fixture
def machine() -> Iterator[None]:
    """Modes of devices and of /proc are the same afterwards."""
    paths = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/shm", "/tmp", "/proc/meminfo", "/proc")
    before = {path: stat.S_IMODE(os.stat(path).st_mode) for path in paths}
    yield
    after = {path: stat.S_IMODE(os.stat(path).st_mode) for path in paths}
    for path, mode in before.items():
        if after[path] != mode:
            os.chmod(path, mode)
    assert after == before


@WALLED
def test_nothing_above_the_tree_survives(workspace: WorkingCopy, machine: None) -> None:
    assert workspace.root.parts[1] == "tmp"  # where commands may write
    names = os.listdir(workspace.root)
    python(workspace, LEAVES)
    workspace.reset()
    code = """
import os
folder = os.getcwd()
while folder != "/":
    folder = os.path.dirname(folder)
    for name in ("pytest.ini", "conftest.py", "x"):
        if os.path.lexists(os.path.join(folder, name)): print(folder, name)
    for name in os.listdir(folder):
        if "moved" in name: print(folder, name)
"""
    assert python(workspace, code) == ""
    workspace.reset()
    still_works(workspace)
    assert sorted(names) == sorted(os.listdir(workspace.root))


@WALLED
def test_the_way_to_the_tree_cannot_be_renamed(workspace: WorkingCopy) -> None:
    code = """
import os
folder = os.getcwd()
while folder.count("/") > 1:
    try:
        os.rename(folder, folder + "2")
        print("renamed", folder)
    except OSError:
        pass
    folder = os.path.dirname(folder)
"""
    assert python(workspace, code) == ""


@WALLED
def test_what_belongs_to_the_machine_keeps_its_mode(workspace: WorkingCopy, machine: None) -> None:
    code = """
import os
for path in ("/dev/null", "/dev/urandom", "/dev/pts", "/proc/meminfo", "/proc/1/comm", "/proc",
             "/proc/keys", "/proc/kcore", "/proc/1", "/dev/pts/ptmx", "/etc/passwd", "/usr/bin"):
    try:
        os.chmod(path, os.stat(path).st_mode & 0o7777)
        print("could change", path)
    except OSError:
        pass
for path in ("/proc/1/oom_score_adj", "/proc/1/comm", "/proc/sys/kernel/hostname"):
    try:
        open(path, "r+").close()
        print("could write", path)
    except OSError:
        pass
"""
    assert python(workspace, code) == ""


@WALLED
def test_devices_and_terminals_work(workspace: WorkingCopy) -> None:
    code = """
import os
open("/dev/null", "wb").write(b"x"); open("/dev/full", "rb").read(1)
here, there = os.openpty()
os.write(there, b"x"); assert os.read(here, 1) == b"x"
print(os.ttyname(there), len(open("/dev/urandom", "rb").read(4)), os.path.exists("/proc/self/stat"))
"""
    assert python(workspace, code) == "/dev/pts/0 4 True\n"


def test_the_tree_as_it_was_is_not_shown(workspace: WorkingCopy, shop: Shop) -> None:
    """A test that compares files with it would only tell that there was a change."""
    base = f"{workspace._backend.git_dir}/.."
    told = workspace.run(f"cat {base}/README.md; ls {base}; ls /.refute/changes/upper")
    assert FILES["README.md"] not in told.output
    assert "shop" not in told.output.replace(str(shop.base.tree), "")
    workspace.write("README.md", b"changed\n")
    assert "+changed" in workspace.diff()


# -- memory ----------------------------------------------------------------------------------------

HOGS = {
    "mapped": (
        "import mmap; held = mmap.mmap(-1, n)\n    for _ in range(400): held.write(b'x' * 2**20)"
    ),
    "segment": (
        "import ctypes; libc = ctypes.CDLL(None); libc.shmat.restype = ctypes.c_void_p\n"
        "    one = libc.shmget(0, ctypes.c_size_t(n), 0o1600)\n"
        "    at = libc.shmat(one, None, 0)\n"
        "    ctypes.memset(at, 1, n); libc.shmdt(ctypes.c_void_p(at))"
    ),
    "in parts": (
        "import mmap, os\n"
        "    for _ in range(4):\n"
        "        if os.fork() == 0:\n"
        "            held = mmap.mmap(-1, n // 4); held.write(b'x' * (n // 4)); time.sleep(600)"
    ),
}


@pytest.mark.parametrize("kind", HOGS)
@WALLED
def test_shared_memory_counts(shop: Shop, level: str, kind: str) -> None:
    limits = WorkspaceLimits(memory=200 << 20, processes=100, disk=1 << 30)
    source = (
        f"import time\ndef test_a():\n    n = 400 << 20\n    {HOGS[kind]}\n    time.sleep(600)\n"
    )
    with opened(shop.base, level, limits) as workspace:
        workspace.write("tests/test_big.py", source.encode())
        report = workspace.run_tests(TestSelection(("tests/test_big.py",)), timeout=60)
        assert report.status == "memory", report
        workspace.reset()
        still_works(workspace)


@WALLED
def test_what_several_map_counts_once(shop: Shop, level: str) -> None:
    limits = WorkspaceLimits(memory=200 << 20, processes=100, disk=1 << 30)
    code = (
        "import mmap, os, time\n"
        "held = mmap.mmap(-1, 80 << 20); held.write(b'x' * (80 << 20))\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0: sum(held[::4096]); time.sleep(1); os._exit(0)\n"
        "time.sleep(1); print('done')\n"
    )
    with opened(shop.base, level, limits) as workspace:
        assert python(workspace, code) == "done\n"


@WALLED
def test_segments_and_queues_end_with_a_reset(workspace: WorkingCopy) -> None:
    code = """
import ctypes
libc = ctypes.CDLL(None)
print([call(0x5EC0DE, *more) >= 0 for call, more in
       ((libc.shmget, (4096, {flags})), (libc.semget, (1, {flags})), (libc.msgget, ({flags},)))])
"""
    assert python(workspace, code.format(flags=0o1600)) == "[True, True, True]\n"
    assert python(workspace, code.format(flags=0o600)) == "[True, True, True]\n"
    workspace.reset()
    assert python(workspace, code.format(flags=0o600)) == "[False, False, False]\n"


# -- folders of the host ---------------------------------------------------------------------------


def test_a_killed_caller_leaves_no_folder(shop: Shop, level: str, tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from refute.workspace.contract import Base
from refute.workspace.contract import TestSelection
from refute.workspace.contract import Recipe
from tests.workspace.shops import opened
base = Base({shop.base.repo!r}, {shop.base.commit!r}, Recipe(), Path({str(shop.base.tree)!r}),
            Path({str(shop.base.python)!r}), {shop.base.readable!r}, "k")
workspace = opened(base, {level!r})
workspace.write("tests/test_slow.py", b"import time\\ndef test_a(): time.sleep(1000)\\n")
print("ready", flush=True)
workspace.run_tests(TestSelection(("tests/test_slow.py",)))
"""
    folder = tmp_path / "folder"
    folder.mkdir()
    env = {**os.environ, "TMPDIR": str(folder)}
    client = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env)
    assert client.stdout is not None
    with client.stdout:
        if not client.stdout.readline():
            pytest.skip("this machine has no such level")
    time.sleep(1)
    assert os.listdir(folder)
    client.send_signal(signal.SIGKILL)
    client.wait()
    deadline = time.monotonic() + 30
    while os.listdir(folder) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert os.listdir(folder) == []
