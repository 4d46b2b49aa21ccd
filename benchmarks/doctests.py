"""Refute's verdict beside doctest's, on the doctests of real functions and of mutants of them.

    python benchmarks/doctests.py FOLDER... [--most 40] [--mutants 1] [--seed 0] [--show]
    python benchmarks/doctests.py stdlib

Each FOLDER holds installed packages (a flat site folder); `stdlib` is this interpreter's standard
library. Tried is every public function whose docstring holds a doctest that calls it, at most
`--most` of one package, drawn at random; and for each `--mutants` versions with a bug of one line
(`mutator.py`), loaded in the module's place. doctest runs in a plain process of its
own; refute replays the examples in its sandbox (`refute.function.examples.understood`) and is red
where a trusted test fails. "half" is red by doctest, and refute understood only a part of it.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from loading import modules
from mutator import bugs

from refute.errors import InputError, SandboxUnavailable
from refute.function.examples import understood
from refute.function.examples.scripts import scripts
from refute.function.project import Surroundings
from refute.function.project_sandbox import ProjectSandbox
from refute.function.target import open_target, problem_of
from refute.problems import FunctionProblem, Trust
from refute.sandbox import Limits, Program, Sandbox
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.local import LocalSandbox

PLAIN = """
import doctest, importlib, importlib.abc, importlib.util, io, json, os, sys, tempfile
root, name, file, names = sys.argv[1:5]
text = sys.stdin.read()
if root: sys.path.insert(0, root)
class Served(importlib.abc.SourceLoader):
    def get_filename(self, fullname): return file
    def get_data(self, path): return text.encode()
    def path_stats(self, path): raise OSError
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname != name: return None
        package = [os.path.dirname(file)] if file.endswith("__init__.py") else None
        return importlib.util.spec_from_file_location(
            fullname, file, loader=Served(), submodule_search_locations=package)
sys.modules.pop(name, None)
sys.meta_path.insert(0, Finder())
sys.dont_write_bytecode = True
module = importlib.import_module(name)
os.chdir(tempfile.mkdtemp())
found = {}
for wanted in names.split(","):
    value = getattr(module, wanted)
    failed = tried = 0
    for test in doctest.DocTestFinder(recurse=False).find(value, wanted, module=module):
        runner = doctest.DocTestRunner(verbose=False)
        runner.run(test, out=lambda _: None)
        failed, tried = failed + runner.failures, tried + runner.tries
    found[wanted] = [failed, tried]
print("\\n" + json.dumps(found))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--mutants", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="one package")
    parser.add_argument("--skip", default="site-packages,test,tests,testing,idlelib,lib2to3")
    parser.add_argument("--show", action="store_true", help="a line for each disagreement")
    options = parser.parse_args()
    print(vars(options), flush=True)
    totals: dict[str, Counter[str]] = {"released": Counter(), "mutants": Counter()}
    reasons: Counter[str] = Counter()
    start = time.monotonic()
    for root, package, problems, around in targets(options):
        box = LocalSandbox(readable=around.readable, import_path=around.import_path)
        for file, name, problem in problems:
            rng = random.Random(f"{options.seed} {problem.id}")
            versions = [("released", problem.code)]
            versions += [("mutants", text) for text in mutants(problem, rng, options.mutants)]
            for kind, text in versions:
                theirs = plain(root, name, file, problem.entry_point, text)
                if theirs is None:
                    totals[kind]["doctest cannot say"] += 1
                    continue
                module = open_target(f"{file}::{problem.entry_point}")
                housed = ProjectSandbox(box, module)
                try:
                    ours, notes, failing = verdict(replace(problem, code=text), housed)
                except SandboxUnavailable as error:
                    ours, notes, failing = f"internal: {error}", (), []
                totals[kind][f"doctest {theirs}, refute {ours}"] += 1
                reasons.update(notes)
                if options.show and (theirs != ours or (kind, ours) == ("released", "red")):
                    print(
                        f"  {kind} {package} {problem.entry_point}: doctest {theirs}, "
                        f"refute {ours} {' '.join(notes)} {failing[:1]}",
                        flush=True,
                    )
        box.close()
    for kind, counts in totals.items():
        print(f"{kind}: {sum(counts.values())}")
        for label, count in sorted(counts.items()):
            print(f"  {label}: {count}")
    print(f"{time.monotonic() - start:.0f} s")


def targets(
    options: argparse.Namespace,
) -> Iterator[tuple[str, str, list[tuple[Path, str, FunctionProblem]], Surroundings]]:
    """(root, package, its functions that are tried, where they live)."""
    for folder in options.folders:
        library = folder == "stdlib"
        root = Path(ast.__file__).parent if library else Path(folder).resolve()
        skip = set(options.skip.split(","))
        for package, files in sorted(modules(root, skip).items()):
            if options.only and package != options.only:
                continue
            found = []
            for file in files:
                try:
                    module = open_target(str(file))
                except InputError:
                    continue
                for name in module.functions:
                    problem = problem_of(module, name)
                    if any(one.own for one in scripts(problem.code, name)):
                        found.append((file, module.surroundings.name, problem))
                        around = module.surroundings
            if found:
                random.Random(f"{options.seed} {package}").shuffle(found)
                yield "" if library else str(root), package, found[: options.most], around


def plain(root: str, name: str, file: Path, function: str, text: str) -> str | None:
    """What doctest says about one function of a module with this text, in a process of its own."""
    command = [sys.executable, "-c", PLAIN, root, name, str(file), function]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "red"
    try:
        failed, tried = json.loads(done.stdout.splitlines()[-1])[function]
    except (ValueError, IndexError, KeyError):
        return None  # the module cannot be imported, or doctest cannot parse its docstrings
    return "red" if failed else "green" if tried else None


def verdict(problem: FunctionProblem, box: Sandbox) -> tuple[str, tuple[str, ...], list[str]]:
    """Red, green or unclear by the examples alone; the notes; the tests that fail."""
    problem, notes = understood(problem, box=box)
    tests = [test for test in problem.examples or () if test.trust < Trust.HINT]
    calls = [test.call for test in tests]
    outcomes = (
        box.run(Program(problem.code, problem.entry_point), calls, Limits(cpu=3.0)) if calls else []
    )
    pairs = zip(tests, outcomes, strict=True)
    failing = [
        f"{t.source}: {t.call} wants {t.expected} got {o}"
        for t, o in pairs
        if not matches(o, expect_test(t))
    ]
    if failing:
        return "red", notes, failing
    return ("not understood" if notes else "green"), notes, []


def mutants(problem: FunctionProblem, rng: random.Random, count: int) -> list[str]:
    """Versions of the module with one line of the function changed."""
    text = problem.code.encode()
    found = (bug.into(text) for bug in bugs(text, problem.entry_point, rng) if not bug.several)
    return [one.decode() for one in islice(found, count)]


if __name__ == "__main__":
    main()
