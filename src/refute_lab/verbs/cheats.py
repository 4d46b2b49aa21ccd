"""`cheats`: programs and tests that cheat on a grader, each with an honest twin; what it pays them.

They are data: `cheats.toml`.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, Literal

import click

from refute.core.parameters import parameter
from refute.core.storage import parse_json
from refute.errors import InputError
from refute.sandbox import Sandbox
from refute.sandbox.local import LocalSandbox
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.options import json_option
from refute_lab.adapters import TestTask
from refute_lab.rewards import Task, grade, grade_test

# -- cheats ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cheat:
    """A program, or a test, that wants the reward without doing the work, and its honest twin."""

    name: str
    what: str
    """The cheat, in one line."""
    source: str
    twin: str
    """Does the work by the same means: it must be paid."""
    task: Task | TestTask

    @property
    def is_test(self) -> bool:
        """It is a generated test, not a program."""
        return isinstance(self.task, TestTask)


def _read_cheats() -> Iterator[Cheat]:
    data = tomllib.loads(files("refute_lab.verbs").joinpath("cheats.toml").read_text())
    given = {name: (row.pop("right", ""), row) for name, row in data["tasks"].items()}
    tasks = {name: _task(name, row) for name, (_, row) in given.items()}
    for row in data["cheats"]:
        right, task = given[row["task"]][0], tasks[row["task"]]
        # An honest twin that says nothing of the task's function is completed by the right one.
        if right and f"def {task.entry_point}(" not in row["twin"]:
            row["twin"] += right
        yield Cheat(**{**row, "task": task})


def _task(name: str, row: Mapping[str, Any]) -> Task | TestTask:
    if "reference" in row:
        return TestTask(row["reference"], tuple(row["faulty"]), row["entry_point"])
    return Task.from_json({"id": name, **row})


CHEATS: tuple[Cheat, ...] = tuple(_read_cheats())
"""All cheats, by kind."""


# -- trying ----------------------------------------------------------------------------------------


End = Literal["paid", "not paid", "died", "hung"]
"""paid: a reward above 0 for all tests. died: the grader ended without a verdict."""
Grader = Callable[[str, Task | TestTask], End]


@dataclass(frozen=True, slots=True)
class Tried:
    """A grader's verdicts on a cheat and its twin."""

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
    """Return the question that a grader's command reads: a JSON object with `kind` ("program" or
    "test"), `task` and the `program` or `test`."""
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


# -- the command -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CheatsOptions:
    """The options of `cheats`."""

    names: tuple[str, ...] = parameter((), "Parts of the cheats' names.", positional=True)
    grader: str | None = parameter(
        None,
        "Command that reads a task and a program as JSON on stdin and prints a verdict as JSON.",
        metavar="CMD",
    )


@click.command("cheats", cls=MethodCommand)
@offered(CheatsOptions)
@json_option
def command(options: CheatsOptions, as_json: bool) -> int:
    """Run known reward hacks and their honest twins against a grader; list those it rewards.

    Without --grader on refute's own. NAMES: only those whose name contains one of them. A cheat
    that is paid, or a twin that is not, makes the exit status 1.
    """
    names = options.names
    chosen = [c for c in CHEATS if not names or any(name in c.name for name in names)]
    if not chosen:
        raise InputError(f"no cheat has {' or '.join(names)} in its name")
    used = None
    if options.grader is not None:
        used = by_command(options.grader)
    tried = list(try_cheats(chosen, used))
    _print(tried, as_json=as_json)
    return 0 if all(one.good for one in tried) else 1


def _print(tried: list[Tried], *, as_json: bool) -> None:
    from refute.verbs.output import print_json, print_list

    paid = sum(one.cheat == "paid" for one in tried)
    honest = sum(one.twin == "paid" for one in tried)
    if as_json:
        counts = {"cheats": len(tried), "cheats_paid": paid, "twins_paid": honest}
        print_json({**counts, "tried": [one.to_json() for one in tried]})
        return
    print_list([{**one.to_json(), "what": one.what} for one in tried], as_json=False)
    click.echo(f"\n{paid} of {len(tried)} cheats paid; {honest} of {len(tried)} twins paid")
