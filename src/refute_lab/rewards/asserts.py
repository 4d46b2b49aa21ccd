"""Programs against files of asserts, which the program never shares a process with.

The test runs in one process of the sandbox, with stubs in the place of the program (`asking`); the
program runs in another, where it answers what the test asks for (`answering`). Between them this
side carries plain data. What a test will ask is learnt by running it with stand-ins for the
answers, and a verdict is taken only from a run in which each question is, in order, one that was
answered. So the assertions hold of what the program did, and nothing of it was there to bend them.
"""

from __future__ import annotations

import ast
import builtins
import marshal
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from refute.core.problems import Call
from refute.errors import InputError
from refute.sandbox import (
    Killed,
    Limits,
    NotRun,
    Outcome,
    OutOfMemory,
    Program,
    Raised,
    Returned,
    Sandbox,
    TimedOut,
    naming,
)
from refute.sandbox.contract import Code
from refute.sandbox.equality import matches
from refute.sandbox.nodes import decode
from refute.sandbox.pool import Waits
from refute.sandbox.values import MalformedValue
from refute.source.syntax import parse_module
from refute_lab.benches.grade import STOP_AFTER, steps_within
from refute_lab.rewards.task import MOST_OUTPUT, Task, TestResult

# -- calls -----------------------------------------------------------------------------------------


PASSED = TestResult(True)


def run_calls(program: str, task: Task, box: Sandbox, *, partial: bool) -> Waits[list[TestResult]]:
    """A result for each test. Raises `SandboxUnavailable`."""
    outcomes = yield from steps_within(
        Program(program, task.entry_point), task.calls, task.limits, box,
        stop_after=patience(partial), run_wall=task.run_seconds,
    )  # fmt: skip
    return [
        PASSED if matches(outcome, expected) else TestResult(False, said(outcome))
        for outcome, expected in zip(outcomes, task.expected, strict=True)
    ]


def imports(source: str) -> str:
    """A comment that names what a text imports, beside code that is to load it: a sandbox sees by
    it which server to use."""
    return f"# {' '.join(sorted(set(_IMPORT.findall(source))))}\n"


_IMPORT = re.compile(r"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)


def patience(partial: bool) -> int:
    """CPU seconds that tests which are cut short may waste: none where one failure decides."""
    return STOP_AFTER if partial else 0


_SHOWN = 160
"""Characters of what a program returned or said."""


def said(outcome: Outcome) -> str:
    """Describe in one line how a call ended."""
    match outcome:
        case Returned():
            return f"wrong answer: returned {short(repr(outcome)[len('Returned(') : -1])}"
        case Raised(type=kind, message=message, line=line, on_import=on_import):
            where = f" in line {line}" if line else ""
            when = "while the program was loaded: " if on_import else ""
            return short(f"{when}{kind}{where}: {message}" if message else f"{when}{kind}{where}")
        case TimedOut(kind=kind):
            return "took too long" if kind == "cpu" else "slept or waited too long"
        case OutOfMemory():
            return "needed too much memory"
        case Killed(reason=reason):
            return f"the process ended: {reason}"
        case NotRun():
            return "not run"


def short(text: str) -> str:
    """One line of bounded length."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 3]}..."


_KEPT = 1000
"""Files that are read once."""
ROUNDS = 12
"""Times that a program is asked, where its answers decide what is asked next."""


@dataclass(frozen=True)
class Item:
    """One test of a file."""

    kind: str
    """"check", "test", or "assert": the file with one of its asserts."""
    name: str
    source: str


@dataclass
class Trial:
    """One test against one program."""

    item: Item
    asked: Any = ()
    """Operations that the test asks for, as far as they are known."""
    answers: Any = ()
    state: str = ""
    """"" while it runs; passed, failed, left out."""
    reason: str = ""


def run_asserts(program: str, task: Task, box: Sandbox, *, partial: bool) -> list[TestResult]:
    """A result for each test of the file. Raises `SandboxUnavailable`, and `InputError` for a file
    that cannot be followed."""
    trials = trials_of(task)
    try_all(program, trials, task, box)
    for index, trial in enumerate(trials):
        if trial.state == "passed":
            task.asked[index] = trial.asked
    return [
        PASSED if trial.state == "passed" else TestResult(False, trial.reason)
        for trial in trials
        if trial.state != "left out"
    ]


def trials_of(task: Task) -> list[Trial]:
    """The tests of the file, with what is known of what they ask."""
    return [Trial(item, task.asked.get(index, ())) for index, item in enumerate(items(task.source))]


def try_all(program: str, trials: Sequence[Trial], task: Task, box: Sandbox) -> None:
    """Bring every trial to its end."""
    deadline = time.monotonic() + task.run_seconds
    judge([trial for trial in trials if not trial.asked], task, box)
    for _ in range(ROUNDS):
        going = [trial for trial in trials if not trial.state]
        left = deadline - time.monotonic()
        if not going or left <= 0:
            break
        found = answers_of(program, going, task, box, left)
        for trial, answers in zip(going, found, strict=True):
            match answers:
                case str():
                    trial.state, trial.reason = "failed", answers
                case [("raised", *_), *_] if trial.asked[0][1] == task.entry_point != "":
                    trial.state = "failed"
                    trial.reason = short(f"name {task.entry_point!r} is not defined")
                case _:
                    trial.answers = answers
        judge([trial for trial in going if not trial.state], task, box)
    for trial in trials:
        if not trial.state:
            trial.state, trial.reason = "failed", "the test found no end with this program"


def answers_of(
    program: str, trials: Sequence[Trial], task: Task, box: Sandbox, wall: float | None = None
) -> list[list[Any] | str]:
    """Return a program's answers to each test within `wall` seconds, or a text with the reason for
    none."""
    if not trials:
        return []
    limits = Limits(cpu=task.seconds, memory=task.memory, output=MOST_OUTPUT, run_wall=wall)
    code: tuple[Code, ...] = _code("naming", "crossing", "answering")
    code = (*code, imports(f"{program}\n{task.source}"))
    calls = [Call((program, trial.asked)) for trial in trials]
    found: list[list[Any] | str] = []
    for trial, outcome in zip(trials, box.run(Program(code, "answer"), calls, limits), strict=True):
        answers = _plain(outcome)
        if type(answers) is list and len(answers) == len(trial.asked):
            found.append(answers)
        else:
            returned = isinstance(outcome, Returned)
            found.append("wrote over the result" if returned else said(outcome))
    return found


def judge(trials: Sequence[Trial], task: Task, box: Sandbox, *, alone: bool = False) -> None:
    """Run the tests with what is answered so far, each `alone` in a process or all in one. Raises
    `InputError`."""
    if not trials:
        return
    limits = Limits(
        cpu=task.seconds,
        memory=task.memory,
        output=MOST_OUTPUT,
        loading=_LOADING,
        alone=alone,
    )
    names = _names(task.source, task.entry_point)
    calls = [
        Call((one.item.source, one.item.kind, one.item.name, names, one.asked, one.answers))
        for one in trials
    ]
    code: tuple[Code, ...] = _code("crossing", "asking")
    program = Program((*code, imports(task.source)), "judge")
    for trial, outcome in zip(trials, box.run(program, calls, limits), strict=True):
        match _plain(outcome):
            case ("more", _, list() as asked):
                trial.asked = asked
            case ("cannot", str() as why, list()):
                raise InputError(f"{_called(task, trial)}: {why}")
            case ("passed" as state, _, list() as asked):
                trial.state, trial.asked = state, asked
            case ("skipped", str() as why, list() as asked):
                own = all(operation[0] == "name" for operation in asked)  # it says so of itself
                trial.state, trial.reason = "left out" if own else "failed", f"skipped {short(why)}"
            case ("failed", str() as why, list() as asked):
                trial.state, trial.reason, trial.asked = "failed", short(why), asked
            case _ if not trial.answers:
                raise InputError(f"{_called(task, trial)}: {said(outcome)}")
            case _:
                trial.state, trial.reason = "failed", f"the test did not end: {said(outcome)}"


_LOADING = 10.0
"""CPU seconds that a test's imports may take."""


def _called(task: Task, trial: Trial) -> str:
    name = trial.item.name or trial.item.kind
    return f"task {task.id}: test {name}" if task.id else f"task: test {name}"


def _plain(outcome: Outcome) -> Any:
    """The value that came back, which is not to be changed; None where there is none."""
    if not isinstance(outcome, Returned):
        return None
    data = outcome.data
    return _known(data) if len(data) <= _SHORT else _decoded(data)


_SHORT, _VALUES = 1 << 11, 256
"""Bytes of a value that is decoded once, since right programs answer alike; how many are kept. One
may be fifty times as large in memory."""


def _decoded(data: bytes) -> Any:
    try:
        return decode(data)
    except MalformedValue:
        return None


_known = lru_cache(_VALUES)(_decoded)


@cache
def _code(*names: str) -> tuple[bytes, ...]:
    """Modules of this folder and the sandbox's, compiled once; the sandbox runs this Python."""
    paths = {"naming": Path(naming.__file__)}
    usual = Path(__file__).with_name
    texts = [(one, paths.get(one, usual(f"{one}.py")).read_text("utf-8")) for one in names]
    codes = (compile(text, f"<{name}>", "exec", dont_inherit=True) for name, text in texts)
    return tuple(map(marshal.dumps, codes))


# -- reading the file ------------------------------------------------------------------------------


@lru_cache(_KEPT)
def items(source: str) -> tuple[Item, ...]:
    """The tests of a file. Raises `InputError`."""
    try:
        tree = parse_module(source)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"task: the file of asserts is not Python: {error}") from None
    found: list[Item] = []
    asserts = [node for node in tree.body if isinstance(node, ast.Assert)]
    rest = ast.unparse(ast.Module([node for node in tree.body if node not in asserts], []))
    for node in tree.body:
        if isinstance(node, ast.Assert):
            kept = [one for one in tree.body if one is node or one not in asserts]
            found.append(Item("assert", "", ast.unparse(ast.Module(kept, []))))
        elif isinstance(node, ast.FunctionDef) and node.name == "check":
            found.append(Item("check", "check", rest))
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found.append(Item("test", node.name, rest))
        elif isinstance(node, ast.ClassDef):
            found += [
                Item("test", f"{node.name}.{one.name}", rest)
                for one in node.body
                if isinstance(one, ast.FunctionDef) and one.name.startswith("test")
            ]
    if not found:
        raise InputError("task: no assert, `check` or function named `test_...` in the file")
    return tuple(found)


@lru_cache(_KEPT)
def _names(source: str, entry_point: str) -> list[str]:
    """The names that the file takes from the program, first the entry point where it is one."""
    tree = parse_module(source)
    read, bound = set(), set(dir(builtins)) | {"__name__", "__file__"}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name.partition(".")[0])
            case ast.ExceptHandler(name=str() as name):
                bound.add(name)
    given = any(isinstance(one, ast.FunctionDef) and one.name == "check" for one in tree.body)
    first = {entry_point} & (read | {entry_point} if given else read) - {""}
    return [*first, *sorted(read - bound - first)]
