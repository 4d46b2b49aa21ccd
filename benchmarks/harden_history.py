"""Commits of real packages: are the tests that `refute harden` offers right, steady, and in style?

    python benchmarks/harden_history.py CLONES --python ENV/bin/python [--count 8] [--seed 0]

`CLONES` holds clones (bare or not) of boltons, more-itertools and humanize, by name; `ENV` has
pytest, what their tests import, and humanize for its metadata. Commits since 2023 with one parent
that change Python files of the package are drawn until, of each, `--count` changed code that can
be mutated. Each is checked out, and hardened as `refute harden --since HEAD~1 --write` does;
before them `--files` files of the newest commit, each whole. What is counted is executed outside of
refute, by plain pytest in the clone: tests that pass, those that do so in twenty runs with ever
other hashes, those that fail with their mutant in place of the code, and those that still pass with
the package of the newest commit (a test that does not has pinned what was changed later, or what
is gone). Style: the test stands in a file that there was, in a form that this has (methods of a
class, or functions), and `ruff format`, with the project's settings, changes no line more than
before.
"""

from __future__ import annotations

import argparse
import ast
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import refute
from refute.errors import RefuteError

PACKAGES = {"boltons": "boltons", "more-itertools": "more_itertools", "humanize": "src/humanize"}
RUNS = 20


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"git {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def drawn(clone: Path, package: str, seed: int) -> list[str]:
    """Commits that change Python files, in the order that they are taken."""
    listed = git(clone, "log", "--no-merges", "--since=2023-01-01", "--format=%H", "--", package)
    commits = []
    for commit in random.Random(seed).sample(listed.split(), len(listed.split())):
        files = git(clone, "show", "--format=", "--name-only", commit, "--", package).split()
        if any(file.endswith(".py") and not file.endswith("_version.py") for file in files):
            commits.append(commit)
    return commits


def work(
    clone: Path, package: str, count: int, files: int, seed: int
) -> Iterator[tuple[str, str | None]]:
    """Files of the newest commit to be hardened whole, then commits."""
    names = git(clone, "ls-files", f"{package}/*.py").split()
    whole = [name for name in names if not Path(name).name.startswith("_")]
    for name in random.Random(seed).sample(whole, len(whole)) if files else ():
        yield git(clone, "rev-parse", "HEAD").strip(), name
    for commit in drawn(clone, package, seed) if count else ():
        yield commit, None


def tests_of(path: Path) -> dict[str, bool]:
    """The tests of a file, as pytest names them, and whether each is a method of a TestCase."""
    if not path.is_file():
        return {}
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found[node.name] = False
        for inner in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test"):
                found[f"{node.name}::{inner.name}"] = True  # type: ignore[attr-defined]
    return found


def passes(folder: Path, python: Path, test: str, hashes: int = 0) -> bool:
    """Whether plain pytest says so."""
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", test]
    env = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": str(hashes), "PYTHONPATH": "src:."}
    done = subprocess.run(
        command, cwd=folder, env=env | {"PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True
    )
    return done.returncode == 0


def unformatted(path: Path) -> int:
    """Lines that `ruff format` would change."""
    done = subprocess.run(["ruff", "format", "--diff", path], capture_output=True, text=True)
    return sum(line.startswith(("+", "-")) for line in done.stdout.splitlines())


def hardened(
    folder: Path, newest: str, python: Path, *targets: str, **options: Any
) -> Iterator[str]:
    """What is counted, one word each."""
    start = time.monotonic()
    result = refute.harden(*targets, repo=folder, python=python, **options)
    seconds = time.monotonic() - start
    if result.score is None:
        return
    print(f"    {seconds:.0f} s, {len(result.offers)} tests, score {result.score}")
    yield "subjects"
    yield from ["subjects with tests"] * bool(result.offers)
    yield from ["over 60 s"] * (seconds > 60)
    yield from ["over five"] * (len(result.offers) > 5)
    before = {path: (tests_of(path), unformatted(path)) for path in result.hardened.files()}
    there = {path for path in before if path.exists()}
    result.write()
    new = [
        (path, name, method)
        for path, (old, _) in before.items()
        for name, method in tests_of(path).items()
        if name not in old
    ]
    for path, name, method in new:
        test = f"{path.relative_to(folder)}::{name}"
        yield "tests"
        first = passes(folder, python, test)
        yield from ["pass"] * first
        steady = first and all(passes(folder, python, test, n) for n in range(1, RUNS))
        yield from ["steady in 20 runs"] * steady
        kinds = set(before[path][0].values())
        alike = path in there and (not kinds or method in kinds)
        yield from ["in a file there was, as its tests are"] * alike
        if not (first and steady and alike):
            print(f"    look at {test}: passes {first}, steady {steady}, alike {alike}")
    for path in before:
        grown = path in there and unformatted(path) > before[path][1]
        yield from ["files formatted as before"] * (not grown)
        yield "files"
    yield from killed(folder, python, result, new)
    yield from ["pass on the newest"] * later(folder, python, newest, new)


def killed(folder: Path, python: Path, result: refute.HardenResult, new: list) -> Iterator[str]:
    """For each offer: does one of the new tests fail on its first mutant, by plain pytest?"""
    for offer in result.offers:
        mutant = offer.kills[0]
        path = folder / mutant.file
        text = path.read_bytes()
        path.write_bytes(mutant.text.encode())
        tests = [f"{file.relative_to(folder)}::{name}" for file, name, _ in new]
        dead = not all(passes(folder, python, test) for test in tests)
        path.write_bytes(text)
        yield from ["mutants that are killed"] * dead
        yield "mutants"
        print(f"    {mutant.file}:{mutant.line} {mutant.qualname}: {mutant.shown} dead: {dead}")


def later(folder: Path, python: Path, newest: str, new: list) -> int:
    """How many of the tests pass with the package of the newest commit."""
    package = PACKAGES[folder.name]
    git(folder, "checkout", "-q", newest, "--", package)
    right = 0
    for path, name, _ in new:
        test = f"{path.relative_to(folder)}::{name}"
        now = passes(folder, python, test)
        right += now
        if not now:
            print(f"    not on the newest: {test}")
    return right


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("clones", type=Path)
    options.add_argument("--python", type=Path, required=True)
    options.add_argument("--count", type=int, default=8)
    options.add_argument("--files", type=int, default=0)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--package", action="append", choices=list(PACKAGES), help="only these")
    options.add_argument("--budget", type=float, default=60)
    given = options.parse_args()
    whole: Counter[str] = Counter()
    for name in given.package or PACKAGES:
        package = PACKAGES[name]
        with tempfile.TemporaryDirectory(prefix="refute-harden-") as scratch:
            folder = Path(scratch) / name
            git(Path(scratch), "clone", "-q", str((given.clones / name).resolve()), name)
            newest = git(folder, "rev-parse", "HEAD").strip()
            counts: Counter[str] = Counter()
            for commit, target in work(folder, package, given.count, given.files, given.seed):
                if counts["subjects"] >= given.files + given.count * (target is None):
                    continue
                git(folder, "reset", "-q", "--hard")
                git(folder, "clean", "-qfd")
                git(folder, "checkout", "-q", "--force", commit)
                shutil.rmtree(folder / ".refute", ignore_errors=True)
                if name == "humanize":  # which its build makes
                    (folder / package / "_version.py").write_text('__version__ = "1"\n')
                subject = git(folder, "log", "-1", "--format=%h %s").strip()
                print(f"{name} {target or ''} {subject}", flush=True)
                try:
                    how = {"budget": given.budget, "seed": given.seed}
                    how |= {"since": "HEAD~1"} if target is None else {}
                    targets = [] if target is None else [str(folder / target)]
                    counts.update(hardened(folder, newest, given.python, *targets, **how))
                except RefuteError as error:
                    print(f"    {error}")
                    counts["refused"] += 1
            print(f"{name}: {dict(counts)}", flush=True)
            whole += counts
    print(f"all: {dict(whole)}")


if __name__ == "__main__":
    main()
