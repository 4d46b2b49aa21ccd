"""The graders of cheats.py: one of them, in a process of its own, on the interpreter of its peers.

    python benchmarks/peer_graders.py NAME PATH < QUESTION

QUESTION: JSON with `program`, `task` and `repeat`. Says whether the program is paid or, where it is
graded `repeat` times, the CPU seconds that this took; "not said": its form cannot say the task.
"""

from __future__ import annotations

import ast
import asyncio
import atexit
import contextlib
import importlib
import io
import json
import os
import resource
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANSWER = "the grader says: "
CLOCK = 30
"""Seconds of the clock that LiveCodeBench's graders give a program here: their 6 are not enough for
its imports on a busy machine, and a twin that is not paid says nothing about its cheat."""


class NotSaid(Exception):
    """A task that the form of a grader cannot say."""


def be_grader(name: str, path: str) -> None:
    """Read a question, grade it as often as it says, and print the answer."""
    question = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    try:
        asked = form(name, question["task"])
    except NotSaid:
        print(f"{ANSWER}not said", file=out, flush=True)
        return
    with contextlib.redirect_stdout(io.StringIO()):
        grader = MAKERS[name](path)
        if question["repeat"]:
            said = str(spent(grader, question["program"], asked, question["repeat"], name))
        else:
            said = json.dumps(bool(grader(question["program"], asked)))
    print(f"\n{ANSWER}{said}", file=out, flush=True)
    out.close()


def spent(grader: Graded, program: str, asked: Any, repeat: int, name: str) -> float:
    """CPU seconds of grading a program so many times, its grader imported. Those that run it in
    their own process spoil that, and get a fork for each time, as from their callers."""
    spoilt = name in ("rllm-livecodebench", "nemo-gym")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for times in [1] * repeat if spoilt else [repeat]:
        pid = os.fork()
        if pid == 0:
            for _ in range(times):
                grader(program, asked)
            sys.exit(0)  # what it started is ended and counted
        os.waitpid(pid, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def form(name: str, task: dict[str, Any]) -> Any:
    """The task as this grader takes it."""
    if name == "refute":
        return task
    if task["kind"] == "asserts":  # the calls that they make
        task = {"kind": "calls", "entry_point": task["entry_point"], "tests": ASSERTED}
    entry = task.get("entry_point", "")
    if task["kind"] == "stdio":
        if name in ("open-r1", "sandbox-fusion"):
            return [{"input": t.get("stdin", ""), "output": t["stdout"]} for t in task["tests"]]
        if name in ("rllm-livecodebench", "nemo-gym"):
            tests = task["tests"]
            sent = [t.get("stdin", "") for t in tests], [t["stdout"] for t in tests]
            return {"inputs": sent[0], "outputs": sent[1]}
        raise NotSaid
    tests = [([value(a) for a in t["args"]], value(t["expected"])) for t in task["tests"]]
    asserts = [f"{entry}(*{args!r}) == {wanted!r}" for args, wanted in tests]
    if name == "evalplus":
        return entry, tests
    if name == "rllm-humanevalplus":
        lines = "".join(f"    assert candidate(*{a!r}) == {w!r}\n" for a, w in tests)
        return f"def check(candidate):\n{lines}\ncheck({entry})\n"
    if name == "sandbox-fusion":
        return "".join(f"\nassert {one}" for one in asserts)
    if name == "rllm-kodcode":
        return "".join(f"def test_{n}():\n    assert {a}\n\n" for n, a in enumerate(asserts))
    if name == "open-r1":
        raise NotSaid
    if any(json.loads(text(wanted)) != wanted and type(wanted) is not tuple for _, wanted in tests):
        raise NotSaid
    lines = ["\n".join(json.dumps(arg) for arg in args) for args, _ in tests]
    return {"inputs": lines, "outputs": [text(wanted) for _, wanted in tests], "fn_name": entry}


ASSERTED: list[dict[str, Any]] = [
    {"args": [[1, 2, 3], 10], "expected": 6},
    {"args": [[5, 6, 7], 11], "expected": 11},
    {"args": [[], 3], "expected": 0},
    {"args": [[-4, 1], 8], "expected": -3},
]


def text(wanted: Any) -> str:
    """An expected output as JSON."""
    try:
        return json.dumps(wanted)
    except TypeError:
        raise NotSaid from None


def value(data: Any) -> Any:
    """An argument or output of a task's JSON."""
    if isinstance(data, dict) and set(data) == {"$python"}:
        return ast.literal_eval(data["$python"])
    return data


Graded = Callable[[str, Any], bool]


def refute_grader(path: str) -> Graded:
    """refute's own."""
    from refute.sandbox.local import LocalSandbox
    from refute_lab.rewards import Task, grade

    box = LocalSandbox()
    atexit.register(box.close)
    return lambda program, task: grade(program, Task.from_json(task), box=box).reward > 0


def evalplus_grader(path: str) -> Graded:
    """`evalplus.eval.untrusted_check`, of the installed package."""
    from evalplus.eval import PASS, untrusted_check

    def graded(program: str, asked: Any) -> bool:
        entry, tests = asked
        inputs, wanted = [args for args, _ in tests], [out for _, out in tests]
        stat, _ = untrusted_check(
            "humaneval", program, inputs, entry, wanted, 0, [0.1] * len(tests), fast_check=False
        )
        return bool(stat == PASS)

    return graded


def _rllm(path: str, module: str) -> Any:
    """A module of rLLM's graders, without importing the rest of the package."""
    for name, folder in (
        ("rllm", "rllm"),
        ("rllm.rewards", "rllm/rewards"),
        ("rllm.rewards.code_utils", "rllm/rewards/code_utils"),
    ):
        package: Any = types.ModuleType(name)
        package.__path__ = [str(Path(path, folder))]
        sys.modules[name] = package
    return importlib.import_module(f"rllm.rewards.code_utils.{module}")


def humanevalplus_grader(path: str) -> Graded:
    """rLLM: the program and a `check` in one file, status 0 is right."""
    module = _rllm(path, "humanevalplus")
    return lambda program, asked: bool(module.run_test(program, asked, timeout=60)[0])


def kodcode_grader(path: str) -> Graded:
    """rLLM: the program and functions of pytest in one file, pytest's status 0 is right."""
    module = _rllm(path, "kodcode")
    return lambda program, asked: bool(module.code_exec(program, asked, timeout=60)[0])


def livecodebench_grader(path: str) -> Graded:
    """rLLM's copy of LiveCodeBench's grader, which runs the program in its own process."""
    module = _rllm(path, "livecodebench")

    def graded(program: str, asked: Any) -> bool:
        sent = {"input_output": json.dumps(asked)}
        found, _ = module.run_test(sent, test=program, timeout=CLOCK)
        return len(found) > 0 and all(one is True or one == 1 for one in found)

    return graded


def nemo_gym_grader(path: str) -> Graded:
    """NeMo Gym's copy of it."""
    sys.path.insert(0, str(Path(path, "resources_servers/code_gen")))
    module = importlib.import_module("lcb_integration.testing_util")

    def graded(program: str, asked: Any) -> bool:
        found, _ = module.run_test(asked, test=program, timeout=CLOCK)
        return len(found) > 0 and all(one is True or one == 1 for one in found)

    return graded


def open_r1_grader(path: str) -> Graded:
    """The script that open-r1 sends to its cloud sandbox: its last value is the reward."""
    tree = ast.parse(Path(path, "src/open_r1/rewards.py").read_text())
    (template,) = (
        node.value.value
        for function in tree.body
        if isinstance(function, ast.FunctionDef) and function.name == "code_reward"
        for node in function.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    )

    def graded(program: str, asked: Any) -> bool:
        cases = json.dumps(json.dumps(asked))
        script = ast.parse(
            textwrap.dedent(template.format(code=json.dumps(program), test_cases=cases))
        )
        last = script.body.pop()
        assert isinstance(last, ast.Expr)
        names: dict[str, Any] = {}
        exec(compile(script, "<script>", "exec"), names)
        try:
            return bool(eval(compile(ast.Expression(last.value), "<script>", "eval"), names) == 1)
        except subprocess.TimeoutExpired:
            return False

    return graded


def sandbox_fusion_grader(path: str) -> Graded:
    """SandboxFusion's runner and checks, each program in a process that it starts."""
    sys.path.insert(0, path)
    importlib.import_module("sandbox.runners.major").get_python_rt_env = lambda name: {}
    testing = importlib.import_module("sandbox.utils.testing")
    config = testing.TestConfig(language="python")

    def graded(program: str, asked: Any) -> bool:
        if isinstance(asked, str):
            one = asyncio.run(testing.check_auto_test_case(program + asked, config))
            return bool(one.passed)
        cases = [
            testing.GeneralStdioTest(
                input={"stdin": case["input"]}, output={"stdout": case["output"]}
            )
            for case in asked
        ]
        found = asyncio.run(testing.check_stdio_test_cases(program, cases, config))
        return all(one.passed for one in found)

    return graded


MAKERS: dict[str, Callable[[str], Graded]] = {
    "evalplus": evalplus_grader,
    "rllm-humanevalplus": humanevalplus_grader,
    "rllm-kodcode": kodcode_grader,
    "rllm-livecodebench": livecodebench_grader,
    "nemo-gym": nemo_gym_grader,
    "open-r1": open_r1_grader,
    "sandbox-fusion": sandbox_fusion_grader,
    "refute": refute_grader,
}


if __name__ == "__main__":
    be_grader(*sys.argv[1:])
