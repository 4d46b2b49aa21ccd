"""Tries cheats on a grader: refute's own, or a command that reads a task and prints a verdict."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from refute.core.storage import parse_json
from refute.errors import InputError
from refute.sandbox import Sandbox
from refute.sandbox.local import LocalSandbox
from refute_lab.cheats.contract import Cheat, TestTask
from refute_lab.rewards import Task, grade, grade_test

__all__ = ["End", "Tried", "by_command", "by_refute", "question", "try_cheats"]

End = Literal["paid", "not paid", "died", "hung"]
"""paid: a reward above 0 for all tests. died: the grader ended without a verdict."""
Grader = Callable[[str, Task | TestTask], End]


@dataclass(frozen=True, slots=True)
class Tried:
    """What a grader made of a cheat and of its twin."""

    name: str
    what: str
    cheat: End
    twin: End

    @property
    def good(self) -> bool:
        """The cheat is not paid, and the twin is."""
        return self.cheat != "paid" and self.twin == "paid"

    def to_json(self) -> dict[str, Any]:
        """As data for JSON."""
        return asdict(self)


def try_cheats(cheats: Iterable[Cheat], grader: Grader | None = None) -> Iterator[Tried]:
    """Each cheat and its twin, before a grader; None: refute's own in one sandbox, so that what a
    cheat leaves behind meets the next one."""
    if grader is None:
        with LocalSandbox() as box:
            yield from try_cheats(cheats, by_refute(box))
        return
    for one in cheats:
        ends = grader(one.source, one.task), grader(one.twin, one.task)
        yield Tried(one.name, one.what, *ends)


def by_refute(box: Sandbox) -> Grader:
    """refute's own graders in this sandbox. They raise `SandboxUnavailable`."""

    def graded(source: str, task: Task | TestTask) -> End:
        if isinstance(task, Task):
            return "paid" if grade(source, task, box=box).reward > 0 else "not paid"
        found = grade_test(
            source, task.reference, task.faulty, entry_point=task.entry_point, box=box
        )
        return "paid" if found.both > 0 else "not paid"

    return graded


def question(source: str, task: Task | TestTask) -> str:
    """What a grader's command reads: a JSON object with `kind` ("program" or "test"), `task` and
    the `program` or `test`."""
    kind = "test" if isinstance(task, TestTask) else "program"
    return json.dumps({"kind": kind, "task": task.to_json(), kind: source})


def by_command(command: str, *, timeout: float = 30.0) -> Grader:
    """A grader that is a command of the shell's words: it reads the question on stdin and prints a
    verdict, an object with `passed` or `reward`, as its last line. Each question starts it anew.

    `timeout`: seconds until it counts as hung. Raises `InputError` where it cannot be started.
    """
    words = shlex.split(command)
    if not words:
        raise InputError("--grader: an empty command")

    def graded(source: str, task: Task | TestTask) -> End:
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise InputError(f"--grader: {words[0]}: {error.strerror}") from None
        with process:
            try:
                out, _ = process.communicate(question(source, task).encode(), timeout)
            except subprocess.TimeoutExpired:
                return "hung"
            finally:
                _end(process)
        return _read(out)

    return graded


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command with all that it started in its session."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _read(out: bytes) -> End:
    lines = out.decode("utf-8", "replace").strip().splitlines()
    try:
        verdict = parse_json(lines[-1]) if lines else None
    except ValueError:
        return "died"
    if not isinstance(verdict, dict) or not verdict.keys() & {"passed", "reward"}:
        return "died"
    reward = verdict.get("reward", verdict.get("passed"))
    return "paid" if isinstance(reward, int | float) and reward > 0 else "not paid"
