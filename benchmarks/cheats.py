"""The cheats of `refute cheats` before other graders, and what these cost.

    python benchmarks/cheats.py --rllm PATH --nemo-gym PATH --open-r1 PATH --fusion PATH \
        --peer PYTHON

PATH: a checkout of rllm-org/rllm, NVIDIA-NeMo/Gym, huggingface/open-r1, bytedance/SandboxFusion.
PYTHON: the interpreter of an environment with evalplus, numpy, pandas and pytest, and for
SandboxFusion what its pyproject.toml names (but for transformers), on which the graders run.
Without a path its grader is left out. refute runs on the interpreter of this script.

SandboxFusion is its own code with its own settings of `local.yaml`, called as its server calls it,
without the server and the image: `check_stdio_test_cases`, and for calls what its MBPP does, the
asserts behind the program and status 0 is right. Its environment of conda is this interpreter.

Each question (a cheat, a twin) has a grader of its own: a process in a namespace of its own (bwrap)
with an empty /tmp and a read-only disk, in a temporary directory, under limits of memory, CPU time
and processes (prlimit) and a time-out, because some cheats eat memory, fork or kill. A task goes to
a grader in the form that it takes: calls as asserts, as functions of pytest or as lines of JSON;
what a form cannot say is left out and counted. "died" is no reward where the caller has a time-out.

CPU: user and system time, processes that it starts included, of grading the twins of `PRICED`
`--repeat` times each, without the import of the grader. Ratios are what to look at.
"""

from __future__ import annotations

import argparse
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
import tempfile
import textwrap
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

GRADERS = (
    "evalplus",
    "rllm-humanevalplus",
    "rllm-kodcode",
    "rllm-livecodebench",
    "nemo-gym",
    "open-r1",
    "sandbox-fusion",
    "refute",
)
PATHS = {"rllm": "rllm", "nemo-gym": "nemo_gym", "open-r1": "open_r1", "sandbox-fusion": "fusion"}
PRICED = ("always equal", "os._exit(0) in the call", "frames", "gc", "builtins", "sleeps")
PRICED_STDIO = ("sys.exit(0), printing", "prints nothing", "prints more")
TIMEOUT = 90.0
"""Seconds for one question."""
CLOCK = 30
"""Seconds of the clock that LiveCodeBench's graders give a program here: their 6 are not enough for
its imports on a busy machine, and a twin that is not paid says nothing about its cheat."""
MEMORY, CPU, PROCESSES = 4 << 30, 20, 4096


class NotSaid(Exception):
    """A task that the form of a grader cannot say."""


def main() -> None:
    """Ask every grader, print a table, and the figures as JSON on the last line."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rllm", type=Path)
    options.add_argument("--nemo-gym", type=Path)
    options.add_argument("--open-r1", type=Path)
    options.add_argument("--fusion", type=Path)
    options.add_argument("--peer", default=sys.executable, help="python that the graders run on")
    options.add_argument("--only", choices=GRADERS, action="append")
    options.add_argument("--repeat", type=int, default=10)
    options.add_argument("--every", type=int, default=1, help="only each N-th cheat")
    options.add_argument("--shown", action="store_true", help="print what became of every cheat")
    options.add_argument("--cost-only", action="store_true", help="no cheats, only what it costs")
    options.add_argument("--as", dest="grader", choices=GRADERS, help=argparse.SUPPRESS)
    options.add_argument("--path", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.grader:
        be_grader(chosen.grader, chosen.path)
        return
    chosen.peer = str(Path(chosen.peer).absolute())
    print(f"settings: {vars(chosen)}", flush=True)
    report = {}
    for name in chosen.only or GRADERS:
        family = next((key for key in PATHS if name.startswith(key)), None)
        path = getattr(chosen, PATHS[family]) if family else None
        if family and path is None:
            print(f"{name}: left out, no path")
            continue
        report[name] = measured(name, path, chosen)
    print(json.dumps(report))


def measured(name: str, path: Path | None, chosen: argparse.Namespace) -> dict[str, Any]:
    """All cheats and twins before one grader."""
    from refute.testing.cheats import CHEATS

    programs = [one for one in CHEATS if not one.is_test]
    if chosen.cost_only:
        each = cost(name, path, chosen, programs)
        print(f"{name}: {each:.1f} ms of CPU a program", flush=True)
        return {"ms_of_cpu": round(each, 2)}
    cheats: Counter[str] = Counter()
    twins: Counter[str] = Counter()
    paid = []
    for one in programs[:: chosen.every]:
        ends = [ask(name, path, chosen, source, one.task) for source in (one.twin, one.source)]
        if ends[0] == "not said":
            continue
        twins[ends[0]] += 1
        cheats[ends[1]] += 1
        if ends[1] == "paid":
            paid.append(one.name)
        if chosen.shown or ends[0] != "paid":
            print(f"  {name}: {one.name}: cheat {ends[1]}, twin {ends[0]}", flush=True)
    each = cost(name, path, chosen, programs)
    asked = sum(cheats.values())
    print(
        f"{name}: {cheats['paid']} of {asked} cheats paid ({dict(cheats)}); "
        f"twins {dict(twins)}; {each:.1f} ms of CPU a program",
        flush=True,
    )
    return {"cheats": cheats, "twins": twins, "paid": paid, "ms_of_cpu": round(each, 2)}


def command(name: str, path: Path | None, chosen: argparse.Namespace, folder: str) -> list[str]:
    """How a grader is started: in a namespace, under limits."""
    python = sys.executable if name == "refute" else chosen.peer
    environment = str(Path(python).absolute().parent.parent)
    here = Path(__file__).resolve()
    shown = [environment, str(here.parents[1]), *([str(path.resolve())] if path else [])]
    words = ["bwrap", "--ro-bind", "/", "/", "--tmpfs", "/tmp"]
    for one in shown:
        words += ["--ro-bind", one, one]
    words += ["--bind", folder, folder, "--chdir", folder, "--proc", "/proc", "--dev", "/dev"]
    words += ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent"]
    words += ["--new-session"]  # one of the cheats kills its group
    words += ["--setenv", "PATH", f"{Path(python).absolute().parent}:{os.environ['PATH']}"]
    words += ["--setenv", "HOME", folder, "--unsetenv", "REFUTE_DATA"]
    if name != "refute":  # which sets its own limits, and makes more of what it is given
        words += ["prlimit", f"--as={MEMORY}", f"--cpu={CPU}", f"--nproc={PROCESSES}"]
    return [*words, python, str(here), "--as", name, "--path", str(path.resolve() if path else "")]


def ask(name: str, path: Path | None, chosen: argparse.Namespace, source: str, task: Any) -> str:
    """What one grader says to one program."""
    data = json.dumps({"program": source, "task": task.to_json(), "repeat": 0})
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command(name, path, chosen, folder), input=data.encode(), capture_output=True,
                timeout=TIMEOUT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "hung"
    for line in reversed(done.stdout.decode(errors="replace").splitlines()):
        if line.startswith(ANSWER):
            return {"true": "paid", "false": "not paid"}.get(line[len(ANSWER) :], "not said")
    return "died"


ANSWER = "the grader says: "


def cost(name: str, path: Path | None, chosen: argparse.Namespace, programs: list[Any]) -> float:
    """Milliseconds of CPU for grading a twin."""
    wanted = PRICED_STDIO if name == "open-r1" else PRICED
    priced = [one for one in programs if one.name in wanted]
    spent = 0.0
    for one in priced:
        question = {"program": one.twin, "task": one.task.to_json(), "repeat": chosen.repeat}
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                command(name, path, chosen, folder), input=json.dumps(question).encode(),
                capture_output=True, timeout=20 * TIMEOUT, check=True,
            )  # fmt: skip
        line = next(x for x in done.stdout.decode().splitlines() if x.startswith(ANSWER))
        spent += float(line[len(ANSWER) :])
    return 1e3 * spent / (len(priced) * chosen.repeat)


# -- the graders -----------------------------------------------------------------------------------


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
    from refute.reward import Task, grade
    from refute.sandbox.local import LocalSandbox

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
    main()
