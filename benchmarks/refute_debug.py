"""Bugs planted in real packages: what `pytest --refute-debug` finds for the tests that fail.

    python benchmarks/refute_debug.py CLONES --python ENV/bin/python [--count 12] [--seed 0]

`CLONES` and `ENV` as for `harden_history.py`; in ENV refute is installed as well. Single mutants of
`refute.hardening` (the operators of mutation testing) are put into functions of the newest commit
of boltons and humanize, drawn until `--count` of each make the module's own test file fail. The
file is then run with `--refute-debug`. Counted: bugs whose function is among the suspects, bugs
with a fix that is shown, fixes that are the original code again (as trees), other fixes by their
state, and seconds that the option adds. That a fix breaks no test near was checked by the option.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from harden_history import git

from refute.hardening.operators import edits_of

PACKAGES = {"boltons": "boltons", "humanize": "src/humanize"}


def mutants(folder: Path, package: str) -> list[tuple[Path, Path, str, str]]:
    """(file, its test file, name of the function, text with the bug), of a whole package."""
    found = []
    for name in git(folder, "ls-files", f"{package}/*.py").split():
        file = folder / name
        tests = folder / "tests" / f"test_{file.name}"
        if not tests.exists():
            continue
        data = file.read_bytes()
        for node in ast.walk(ast.parse(data)):
            if isinstance(node, ast.FunctionDef):
                for edit in edits_of(data, node):
                    found.append((file, tests, node.name, edit.into(data).decode()))
    return found


def _tree(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return ""


def tested(folder: Path, python: Path, tests: Path, *options: str) -> tuple[int, str, float]:
    """Status, output and seconds of the tests."""
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "PYTHONPATH": "src:."}
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "--color=no",
        "-p",
        "no:cacheprovider",
        tests,
        *options,
    ]
    start = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout, time.monotonic() - start


def judged(folder: Path, python: Path, bug: tuple[Path, Path, str, str]) -> list[str] | None:
    """What is counted of one bug; None: the tests do not fail (or do not run) because of it."""
    file, tests, name, text = bug
    right = file.read_text()
    if _tree(text) in ("", _tree(right)):
        return None
    file.write_text(text)
    status, _, plain = tested(folder, python, tests)
    if status != 1 or plain > 30:
        return None
    _, said, seconds = tested(folder, python, tests, "--refute-debug")
    shown = said.partition("refute: what may be to blame")[2].partition("short test summary")[0]
    said = ["bugs", f"seconds {seconds - plain:.0f}"]
    said += ["suspected"] * (f"{file.relative_to(folder)}::" in shown and name in shown)
    start = shown.find("\n--- a/")
    if start >= 0:
        patch = shown[start + 1 : shown.rindex("\n") + 1].rstrip("=\n ") + "\n"
        (folder.parent / "fix.diff").write_text(patch)
        subprocess.run(["patch", "-s", "-p1", "-i", "../fix.diff"], cwd=folder, check=False)
        same = _tree(file.read_text()) == _tree(right)
        sure = "fixed" if "fixed" in shown else "proposed"
        said += ["fix", f"{sure}, the original again" if same else f"{sure}, another"]
    else:
        said.append("no fix")
    print(f"{file.name}::{name}: {said[1:]}", flush=True)
    if "the original again" not in said[-1]:
        print("    " + "\n    ".join(shown.splitlines()[:30]), flush=True)
    return said


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("clones", type=Path)
    options.add_argument("--python", type=Path, required=True)
    options.add_argument("--count", type=int, default=12)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    for name, package in PACKAGES.items():
        with tempfile.TemporaryDirectory(prefix="refute-planted-") as scratch:
            folder = Path(scratch) / name
            git(Path(scratch), "clone", "-q", str((given.clones / name).resolve()), name)
            if name == "humanize":  # which its build makes
                (folder / package / "_version.py").write_text('__version__ = "1"\n')
            bugs = mutants(folder, package)
            random.Random(given.seed).shuffle(bugs)
            counts: Counter[str] = Counter()
            seconds = []
            for bug in bugs:
                if counts["bugs"] == given.count:
                    break
                said = judged(folder, given.python, bug) or []
                git(folder, "checkout", "-q", "--force", ".")
                counts.update(one for one in said if not one.startswith("seconds"))
                seconds += [int(one.split()[1]) for one in said if one.startswith("seconds")]
            print(f"{name}: {dict(counts)}, median {sorted(seconds)[len(seconds) // 2]} s more")


if __name__ == "__main__":
    sys.exit(main())
