"""A verb in a process of its own: answers, faults, limits of time, and being given up."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from refute.doors.calls import all_ended, call
from refute.doors.worker import Done, Failed
from refute.testing.workspaces import FIX, make_repository

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


def called(verb: str, root: Path, *, seconds: float = 60.0, **arguments: Any) -> Done | Failed:
    async def run() -> Done | Failed:
        done = await call(verb, arguments, root=root, seconds=seconds)
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
    failed = called("find_failing_input", tmp_path, targets="cart.py")
    assert failed == Failed("bad input", "cart.py: No such file or directory")


def test_a_folder_that_is_gone_is_unavailable(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    failed = called("find_failing_input", gone, targets="a.py")
    assert failed == Failed("unavailable", f"{gone}: No such file or directory")


def test_a_right_fix_is_not_called_wrong_where_tests_cannot_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(tmp_path)
    bare = with_packages(tmp_path / ".venv", set())
    monkeypatch.setenv("VIRTUAL_ENV", str(bare))
    test = {"tests/test_new.py": "from shop.cart import total\n\n\n"
                                 "def test_new():\n    assert total([1], 2) == 0\n"}  # fmt: skip
    how = {"patch": FIX, "issue": "total([1], 2) should be 0", "tests": test, "behaviour": False}
    failed = called("vet_patch", tmp_path, **how)
    assert isinstance(failed, Failed), failed
    assert failed.fault == "unavailable"
    assert f"pytest is not installed in {bare}/bin/python" in failed.message


def test_where_time_is_up_what_was_found_comes_back(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    how = {"budget": 600.0, "targets": "endless.py"}
    done = called("find_failing_input", tmp_path, seconds=1.5, **how)
    assert isinstance(done, Done)
    assert done.result["complete"] is False
    assert done.result["summary"].endswith("time was up before the rest")


def test_a_call_that_is_given_up_ends_its_process(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    how = {"budget": 600.0, "targets": "endless.py"}

    async def run() -> None:
        at_work = asyncio.Event()

        async def told(seconds: float, line: str) -> None:
            at_work.set()

        task = asyncio.create_task(
            call("find_failing_input", how, root=tmp_path, seconds=600, told=told)
        )
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


def test_a_fix_is_applied_where_it_is_asked_for_and_only_in_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    shutil.copy(SHIPPING, inside)
    shutil.copy(SHIPPING, tmp_path)
    target = "shipping.py::shipping_cost"
    failed = called("debug_function", inside, targets=f"../{target}", write=True)
    assert isinstance(failed, Failed)
    assert "lies outside of" in failed.message
    done = called("debug_function", inside, targets=target, write=True)
    assert isinstance(done, Done)
    assert done.result["written"] == ["shipping.py"]
    assert (tmp_path / "shipping.py").read_text() == SHIPPING.read_text()
    assert (inside / "shipping.py").read_text() == done.document["code"] != SHIPPING.read_text()
