"""What grading costs over the test runs themselves, on real instances, side by side in one run.

    python benchmarks/swt_speed.py --data ../shared/data/swebench-lite.dev.jsonl.gz
        [--ids A,B,…] [--rounds 3]

For each instance the golden test files run on the fixed code in these ways, which take turns:

- `bare`: the repository's runner as its recipe starts it, nothing of ours in it;
- `results`: with the probe's structured results, no line counted;
- `counted`: with the executions of the golden patch's lines counted as well;
- `traced`: the reference's way: a trace function on every Python call of the run that counts lines
  of the patched files (its `--include-pattern`).

Printed is CPU time of everything in the workspace (children included), the workspace itself taken
off: bare seconds, then ratios to it, and `counted` to `results`: what counting alone costs. Then
`warm`: wall time of grading one prediction with base and golden states known, over the wall time
of its two runs, counted, side by side in two workspaces. Last, instances per minute of warm
gradings. The clones are looked for in REFUTE_REPOS. Meaningful on an idle machine only.
"""

from __future__ import annotations

import argparse
import resource
import shlex
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from refute.core.problems import IssuePrediction
from refute.workspace.base import Base
from refute.workspace.contract import TestSelection, Workspace
from refute.workspace.factory import open_workspace, prepare
from refute.workspace.states import StateStore, test_files
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.swt.grading.coverage import counted_lines
from refute_lab.swt.grading.grade import grade_prediction

IDS = (
    "django__django-13401,django__django-14580,django__django-15790,pallets__flask-5063,"
    "pytest-dev__pytest-5227,sphinx-doc__sphinx-8627,sympy__sympy-21847"
)
TRACING = """
import os, re, runpy, sys, threading
pattern, kind, target = sys.argv[1:4]
include, counts = re.compile(pattern), {}
def local(frame, event, argument):
    if event == "line":
        key = frame.f_code.co_filename, frame.f_lineno
        counts[key] = counts.get(key, 0) + 1
    return local
def follow(frame, event, argument):
    return local if include.search(frame.f_code.co_filename) else None
sys.argv = [target, *sys.argv[4:]]
sys.path.insert(0, os.path.dirname(os.path.abspath(target)) if kind == "path" else os.getcwd())
threading.settrace(follow)
sys.settrace(follow)
run = runpy.run_path if kind == "path" else runpy.run_module
run(target, run_name="__main__")
"""


def command(item: IssueItem, files: tuple[str, ...]) -> tuple[str, str, list[str]]:
    """How the runner is started: ("path" or "module", its name, arguments)."""
    recipe = item.problem.recipe
    assert recipe is not None
    if recipe.runner == "django":
        names = [f.removeprefix("tests/").removesuffix(".py").replace("/", ".") for f in files]
        options = ["--settings=test_sqlite", "--parallel", "1", *names]
        return "path", "tests/runtests.py", options
    if recipe.runner == "sympy":
        return "path", "bin/test", ["-C", *files]
    return "module", "pytest", [*recipe.options, "-p", "no:cacheprovider", *files]


def spent(base: Base, item: IssueItem, work: Callable[[Workspace], object]) -> float:
    """CPU seconds of a workspace on the fixed code with the golden tests, while `work` runs."""

    def once(do: Callable[[Workspace], object]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open_workspace(base) as workspace:
            workspace.apply(item.key.patch)
            workspace.apply(item.key.test_patch)
            do(workspace)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return once(work) - once(lambda _: None)


def ways(item: IssueItem) -> dict[str, Callable[[Workspace], object]]:
    files = test_files(item.key.test_patch)
    kind, target, arguments = command(item, files)
    start = f"-m {target}" if kind == "module" else target
    bare = f"python {start} {shlex.join(arguments)}"
    lines = counted_lines(item.key.patch)
    pattern = "|".join(lines)
    traced = shlex.join(["python", "-c", TRACING, pattern, kind, target, *arguments])
    return {
        "bare": lambda w: w.run(bare, timeout=1800),
        "results": lambda w: w.run_tests(TestSelection(files), timeout=1800),
        "counted": lambda w: w.run_tests(TestSelection(files), count_lines=lines, timeout=1800),
        "traced": lambda w: w.run(traced, timeout=1800),
    }


def warm(base: Base, item: IssueItem, store: StateStore, rounds: int) -> tuple[float, float]:
    """Wall seconds: grading a prediction that is new, and its two runs side by side."""
    files, key = test_files(item.key.test_patch), item.key
    lanes = tuple((fix, counted_lines(key.patch)) for fix in ("", key.patch))

    def graded(number: int) -> float:
        patch = f"{key.test_patch}{new_file(number)}"
        start = time.monotonic()
        prediction = IssuePrediction(key.id, patch)
        grade_prediction(prediction, key, lambda: open_workspace(base), store=store)
        return time.monotonic() - start

    def plain(_: int) -> float:
        def lane(one: tuple[str, dict[str, tuple[int, ...]]]) -> None:
            with open_workspace(base) as workspace:
                for patch in filter(None, (one[0], key.test_patch)):
                    workspace.apply(patch)
                workspace.run_tests(TestSelection(files), count_lines=one[1], timeout=1800)

        start = time.monotonic()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lane, lanes))
        return time.monotonic() - start

    graded(0)  # fills the store
    pairs = [(graded(n), plain(n)) for n in range(1, rounds + 1)]
    first, last = zip(*pairs, strict=True)
    return statistics.median(first), statistics.median(last)


def new_file(number: int) -> str:
    """A patch of a file that holds nothing to run: it makes a prediction a new one."""
    name = "refute_benchmark.txt"
    return (
        f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n"
        f"@@ -0,0 +1 @@\n+{number}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="../shared/data/swebench-lite.dev.jsonl.gz")
    parser.add_argument("--ids", default=IDS)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(" ".join(f"{name}={value}" for name, value in vars(options).items()))
    names = ("results", "counted", "traced")
    heads = (*names, "counting", "warm")
    print(f"{'instance':32} {'bare s':>7} " + " ".join(f"{name:>8}" for name in heads))
    totals: dict[str, list[float]] = {name: [] for name in heads}
    seconds = []
    for item in load_issues(options.data, ids=options.ids.split(",")):
        problem = item.problem
        assert problem.recipe is not None
        base = prepare(problem.repo, problem.base_commit, problem.recipe, problem.id)
        found: dict[str, list[float]] = {name: [] for name in ("bare", *names)}
        for round_ in range(options.rounds + 1):
            for name, way in ways(item).items():
                cpu = spent(base, item, way)
                if round_:  # the first round warms caches
                    found[name].append(cpu)
        bare = statistics.median(found["bare"])
        row = {name: statistics.median(found[name]) / bare for name in names}
        row["counting"] = row["counted"] / row["results"]
        with tempfile.TemporaryDirectory() as folder:
            store = StateStore(Path(folder), problem, "local")
            graded, plain = warm(base, item, store, options.rounds)
        row["warm"] = graded / plain
        seconds.append(graded)
        for name, value in row.items():
            totals[name].append(value)
        figures = " ".join(f"{row[name]:8.2f}" for name in heads)
        print(f"{problem.id:32} {bare:7.2f} {figures}", flush=True)
    medians = " ".join(f"{statistics.median(totals[name]):8.2f}" for name in heads)
    print(f"{'median':32} {'':7} {medians}")
    print(
        f"warm gradings, one at a time (two lanes): {60 * len(seconds) / sum(seconds):.1f} a minute"
    )


if __name__ == "__main__":
    main()
