"""A verb in a process of its own: answers, faults, limits of time, and being given up."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from refute.doors.worker import READY, Done, Failed, all_ended, call
from tests.workspace.shops import FIX, make_repository

from ..environments import with_packages

SHIPPING = Path(__file__).resolve().parents[2] / "examples" / "shipping.py"
ENDLESS = """\
def spin(n: int) -> int:
    \"\"\"Count.

    >>> spin(1)
    1
    \"\"\"
    while True:
        n += 1
"""


TESTS = """\
--- /dev/null
+++ b/tests/test_new.py
@@ -0,0 +1,5 @@
+from shop.cart import total
+
+
+def test_new():
+    assert total([1], 2) == 0
"""


def called(
    verb: str, root: Path, *, seconds: float = 60.0, outside: bool = False, **arguments: Any
) -> Done | Failed:
    async def run() -> Done | Failed:
        done = await call(verb, arguments, root=root, seconds=seconds, outside=outside)
        await all_ended()
        return done

    return asyncio.run(run())


def working_folders() -> Iterator[str]:
    """Where the processes of this machine work."""
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            yield os.readlink(entry)


def test_bad_input_is_a_fault_that_the_caller_can_mend(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('imported from the folder')\n")
    failed = called("hunt", tmp_path, targets="cart.py")
    assert failed == Failed("bad input", "cart.py: No such file or directory")


def test_a_folder_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    failed = called("hunt", gone, targets="a.py")
    assert failed == Failed("unavailable", f"{gone}: No such file or directory")


def test_a_right_fix_is_not_called_wrong_where_tests_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(tmp_path)
    bare = with_packages(tmp_path / ".venv", set())
    monkeypatch.setenv("VIRTUAL_ENV", str(bare))
    how: dict[str, Any] = {
        "fixes": FIX,
        "issue": "total([1], 2) should be 0",
        "tests": TESTS,
        "behaviour": False,
    }
    failed = called("vet", tmp_path, **how)
    assert isinstance(failed, Failed), failed
    assert failed.fault == "unavailable"
    assert f"pytest is not installed in {bare}/bin/python" in failed.message


def test_where_time_is_up_what_was_found_comes_back(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    how: dict[str, Any] = {"budget": 600.0, "targets": "endless.py"}
    done = called("hunt", tmp_path, seconds=1.5, **how)
    assert isinstance(done, Done)
    assert done.text.partition("\n")[0].endswith("; time was up before the rest")


def test_a_call_that_is_given_up_ends_its_process(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    how = {"budget": 600.0, "targets": "endless.py"}

    async def run() -> None:
        at_work = asyncio.Event()

        async def told(seconds: float, line: str) -> None:
            at_work.set()

        task = asyncio.create_task(call("hunt", how, root=tmp_path, seconds=600, told=told))
        await at_work.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await all_ended()

    asyncio.run(run())
    end = time.monotonic() + 30  # a killed process is gone when the kernel has cleared it up
    while str(tmp_path) in working_folders() and time.monotonic() < end:
        time.sleep(0.05)
    assert str(tmp_path) not in working_folders()


def test_calls_share_nothing_but_what_was_imported(tmp_path: Path) -> None:
    """Each works in its folder, from this process's variables, also where the process that they are
    copied from was killed."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(
            f'def f():\n    """\n    >>> f()\n    {name!r}\n    """\n    return 0\n'
        )
    for name in ("one", "two", "two", "one"):
        done = called("hunt", tmp_path / name, targets="a.py", n=1)
        assert isinstance(done, Done), done
        assert f'expected: "{name}"' in done.text
        if name == "two":
            os.kill(READY.process.pid, signal.SIGKILL)
            READY.process.wait()


def test_a_call_that_is_given_up_before_it_is_made_says_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    READY.start()  # it has the stderr of this test
    with READY.copy() as given_up:
        given_up.shutdown(socket.SHUT_WR)
        assert given_up.recv(1) == b""  # its process is gone
    assert capfd.readouterr().err == ""


def test_a_fix_is_applied_in_the_folder_and_outside_only_where_that_is_allowed(
    tmp_path: Path,
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    shutil.copy(SHIPPING, inside)
    shutil.copy(SHIPPING, tmp_path)
    (inside / "link.py").symlink_to(tmp_path / "shipping.py")
    target = "shipping.py::shipping_cost"
    for place in (f"../{target}", "link.py", "/etc/passwd"):
        failed = called("debug", inside, targets=place, write=True)
        assert isinstance(failed, Failed)
        assert f"{place.partition('::')[0]}: lies outside of {inside}" in failed.message
    failed = called("diff", inside, repo="..")
    assert isinstance(failed, Failed)
    assert "--allow outside" in failed.message
    done = called("debug", inside, targets=target, write=True)
    assert isinstance(done, Done)
    assert "fix written to shipping.py" in done.text
    assert done.text.endswith("next: run `refute gate`")
    assert (tmp_path / "shipping.py").read_text() == SHIPPING.read_text()
    assert (inside / "shipping.py").read_text() == done.result["code"] != SHIPPING.read_text()
    there = called("hunt", inside, outside=True, targets=f"../{target}", n=1)
    assert isinstance(there, Done), there
    assert there.text.splitlines() == [
        "1 wrong",
        "shipping_cost is wrong",
        "call: shipping_cost(50.0, 1.0)",
        "  expected: 0.0",
        "  actual: 4.9",
        "  source: doctest line 14",
        f"next: `refute debug ../{target}` looks for a fix",
    ]
