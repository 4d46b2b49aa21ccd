"""Candidates per CPU second in a large module of a package, beside a small file.

    python benchmarks/candidate_rate.py FILE.py::FUNCTION... [--most 300]

Each FUNCTION is copied, with the functions and the constants of its module that it needs, into a
file of its own where that is possible; both are given the same tests (calls of the inputs that
`propose_inputs` draws, what they return now, and one of these falsified, so that the search
for a fix is the whole one) and the same number of candidates. Prints candidates, CPU seconds of the
trusted side and of the sandbox, candidates per CPU second, and the ratio.
"""

from __future__ import annotations

import argparse
import ast
import resource
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path

from refute.core.problems import FunctionProblem, UnitTest
from refute.function.project_sandbox import ProjectSandbox, check_loads
from refute.function.search.inputs import propose_inputs
from refute.function.search.repair import repair
from refute.function.target import open_target, problem_of
from refute.sandbox import Program, Returned
from refute.sandbox.local import LocalSandbox


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--most", type=int, default=300)
    options = parser.parse_args()
    print(vars(options), flush=True)
    for target in options.targets:
        module = open_target(target)
        name = module.functions[0]
        large = measure(target, options.most)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            path = Path(folder) / "small.py"
            path.write_text(excerpt(module.source.text, name))
            small = measure(f"{path}::{name}", options.most)
        print(f"{name}: in {lines(target)} lines", flush=True)
        print(f"  large {show(large)}\n  small {show(small)}")
        if large[0] and small[0]:
            rates = [one[0] / (one[1] + one[2]) for one in (large, small)]
            print(f"  small / large: {rates[1] / rates[0]:.2f}", flush=True)


def lines(target: str) -> int:
    return len(Path(target.partition("::")[0]).read_text().splitlines())


def show(found: tuple[int, float, float]) -> str:
    count, trusted, boxed = found
    rate = count / max(0.001, trusted + boxed)
    return f"{count} candidates, trusted {trusted:.2f} s, sandbox {boxed:.2f} s: {rate:.0f}/s"


def excerpt(text: str, name: str) -> str:
    """The function and what it needs of its module's top level, by name."""
    tree = ast.parse(text)
    needed, waiting = set[int](), [name]
    seen: set[str] = set()
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        for place, node in enumerate(tree.body):
            bound = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and is_store(n)}
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                bound = {node.name}
            elif isinstance(node, ast.Import | ast.ImportFrom):
                bound = {(a.asname or a.name).partition(".")[0] for a in node.names}
            if wanted in bound:
                needed.add(place)
                waiting += [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    body = [node for place, node in enumerate(tree.body) if place in needed]
    return "\n".join(ast.unparse(node) for node in body) + "\n"


def is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def measure(target: str, most: int) -> tuple[int, float, float]:
    """Candidates tried, CPU seconds of this process and of the sandbox."""
    module = open_target(target)
    around = module.surroundings
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    local = LocalSandbox(readable=around.readable, import_path=around.import_path)
    with ProjectSandbox(local, module) as box:
        check_loads(module, box)
        problem = given(problem_of(module, module.functions[0]), box)
        start = time.process_time()
        found = repair(problem, problem.tests, box=box, max_candidates=most)
        trusted = time.process_time() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    boxed = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (found.trial.tried if found.trial else 0), trusted, boxed


def given(problem: FunctionProblem, box: ProjectSandbox) -> FunctionProblem:
    """The problem with four tests that it passes and one that it fails."""
    proposed = propose_inputs(problem, [], seed=0)
    calls = [p.call for p in islice(proposed, 40)]
    outcomes = box.run(Program(problem.code, problem.entry_point), calls)
    pairs = zip(calls, outcomes, strict=True)
    good = [UnitTest(c, o.value, source="now") for c, o in pairs if isinstance(o, Returned)][:5]
    wrong = [replace(good[0], expected="no such value")] if good else []
    return replace(problem, description="", tests=(*wrong, *good[1:]))


if __name__ == "__main__":
    main()
