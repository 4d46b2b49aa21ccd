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
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from peer_graders import ANSWER

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
MEMORY, CPU, PROCESSES = 4 << 30, 20, 4096


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
    options.add_argument("--shown", action="store_true", help="print what became of every cheat")
    chosen = options.parse_args()
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
    from refute_lab.verbs.cheats import CHEATS

    programs = [one for one in CHEATS if not one.is_test]
    cheats: Counter[str] = Counter()
    twins: Counter[str] = Counter()
    paid = []
    for one in programs:
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
    here = Path(__file__).resolve().with_name("peer_graders.py")
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
    return [*words, python, str(here), name, str(path.resolve() if path else "")]


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


if __name__ == "__main__":
    main()
