"""Behaviour changes planted in released packages with tests: is the first difference shown wanted?

    python benchmarks/diff_mutants.py FOLDER --half dev --count 40 [--seed 1] [--each]

`FOLDER` holds source archives of the registry (`pip download --no-deps --no-binary :all: NAME`).
Each is a repository of its own; a bug of `mutator.py` that the package's own tests notice is put
into a function or method, and `refute diff` runs as a user runs it. Wanted is a difference of the
planted function in what it returns, raises, changes or prints, on arguments that the function took
before; neither that of a type alone nor of a message. Packages are split in two halves by name;
of the half `report` only totals are printed.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mutator import bugs

MISUSED = ("raises TypeError", "raises AttributeError")
WEAK = ("type", "message")
SECONDS = 60.0
MOST_TRIED = 12
"""Bugs of one function, of which the tests notice none."""


def git(repo: Path, *words: str) -> None:
    """Run git in a repository, by nobody in particular."""
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
    subprocess.run(["git", "-C", str(repo), *who, *words], check=True)


def unpacked(archive: Path, folder: Path) -> Path:
    """A repository with the archive's files as its commit."""
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    [repo] = folder.iterdir()
    git(repo, "init", "-q", "-b", "main")
    git(repo, "add", "-A", "-f")
    git(repo, "commit", "-q", "-m", "released")
    return repo


def tests_pass(repo: Path) -> bool | None:
    """Whether the package's tests pass; None: they cannot be told."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    src = [f"-opythonpath={'src' if (repo / 'src').is_dir() else '.'}"]
    try:
        done = subprocess.run([*words, *src], cwd=repo, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return {0: True, 1: False}.get(done.returncode)


def places(repo: Path, chance: random.Random) -> list[tuple[Path, str]]:
    """Functions and methods of more than one statement, in random order."""
    found = []
    for path in sorted(repo.rglob("*.py")):
        parts = path.relative_to(repo).parts
        if any("test" in part or part in ("docs", "setup.py", "bench") for part in parts):
            continue
        for node in ast.parse(path.read_bytes()).body:
            owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            for one in node.body if isinstance(node, ast.ClassDef) else [node]:
                if isinstance(one, ast.FunctionDef) and len(list(ast.walk(one))) > 20:
                    found.append((path, owner + one.name))
    chance.shuffle(found)
    return found


def planted(repo: Path, count: int, chance: random.Random) -> Iterator[tuple[Path, str, str]]:
    """Put bugs that the tests notice into the checkout, one after the other."""
    made = 0
    for path, name in places(repo, chance):
        text = path.read_bytes()
        for _, bug in zip(range(MOST_TRIED), bugs(text, name, chance), strict=False):
            path.write_bytes(bug.into(text))
            if tests_pass(repo) is False:
                yield path, name, bug.change
                made += 1
                break
        path.write_bytes(text)
        if made == count:
            return


def verdict(repo: Path, name: str) -> tuple[str, Any]:
    """What the first difference that `refute diff` shows is."""
    words = [sys.executable, "-m", "refute", "diff", "-C", str(repo), "--json", "--jobs", "1"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode > 1:
        return f"status {done.returncode}", done.stderr[-300:]
    functions = json.loads(done.stdout)["functions"]
    shown = [one for one in functions if one["verdict"] == "differs"]
    if not shown:
        return functions[0]["verdict"] if functions else "not seen", functions
    if shown[0]["function"] != name:
        return "another function", shown[0]
    if shown[0]["in_tests"]:
        return "wanted (in tests)", shown[0]["in_tests"][0]
    if not shown[0]["differences"]:
        return "wanted (does not load)", shown[0]["broken"]
    first = shown[0]["differences"][0]
    weak = first["kind"] in WEAK or first["before"].startswith(MISUSED)
    return "weak" if weak else "wanted", first


def main() -> None:
    """Print the counts."""
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    made.add_argument("folder", type=Path)
    made.add_argument("--half", choices=("dev", "report"), required=True)
    made.add_argument("--count", type=int, default=40)
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--each", action="store_true", help="print each of the half `dev`")
    options = made.parse_args()
    chance = random.Random(options.seed)
    archives = [
        one
        for one in sorted(options.folder.glob("*.tar.gz"))
        if ("dev", "report")[zlib.crc32(one.name.partition("-")[0].encode()) % 2] == options.half
    ]
    counts, packages = Counter[str](), 0
    each = -(-options.count // max(1, len(archives)))
    for archive in archives:
        folder = Path(tempfile.mkdtemp(prefix="refute-planted-"))
        try:
            repo = unpacked(archive, folder)
            if not tests_pass(repo):
                print(f"{archive.name}: its tests do not pass here", file=sys.stderr)
                continue
            packages += 1
            for path, name, change in planted(repo, each, chance):
                word, shown = verdict(repo, name)
                counts[word] += 1
                if options.each and options.half == "dev":
                    print(f"\n{word}: {path.relative_to(repo)} {name}\n{change}\n{shown}")
        finally:
            shutil.rmtree(folder)
    total, wanted = counts.total(), sum(n for w, n in counts.items() if w.startswith("wanted"))
    print(f"{total} changes of {packages} packages: first shown is wanted {wanted}; {dict(counts)}")


if __name__ == "__main__":
    main()
