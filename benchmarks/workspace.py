"""What a workspace costs: opening, resetting, patching, diffing; overlay against the other ways.

    python benchmarks/workspace.py [--files 2000] [--rounds 9]

Makes a repository of that many files in a temporary folder, then times each operation side by side
in the same run, rounds interleaved: the jail with an overlay, the jail with a copy, the bare
fallback, and what people do by hand (`git worktree add`, `cp -a`). Medians, in milliseconds of wall
clock; on a busy machine only the ratios mean something.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from refute.workspace.base import Base
from refute.workspace.factory import prepare
from refute.workspace.local import ALL_MEASURES, LocalBackend
from refute.workspace.recipe import Recipe
from refute.workspace.working_copy import WorkingCopy

LEVELS = {
    "overlay": ALL_MEASURES,
    "copy in the jail": frozenset({"namespaces"}),
    "bare copy": frozenset({"landlock"}),
}
PATCH = """\
--- a/package0/module0.py
+++ b/package0/module0.py
@@ -1,3 +1,3 @@
-x = 0
+x = 1
 y = 0
 value_0 = 0
"""
Times = dict[tuple[str, str], list[float]]


def make_repository(folder: Path, files: int) -> str:
    """A repository of `files` modules in packages of 50; returns its commit."""
    for number in range(files):
        path = folder / f"package{number // 50}" / f"module{number % 50}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 0\ny = 0\n" + f"value_{number} = {number}\n" * 60)
    who = ("-c", "user.name=b", "-c", "user.email=b@b")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "base")):
        subprocess.run(["git", *words], cwd=folder, check=True)
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


@contextmanager
def timed(times: Times, way: str, what: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    times[way, what].append(1000 * (time.perf_counter() - begun))


def once(times: Times, base: Base, way: str) -> None:
    """One round of a level of isolation; a level that the machine lacks is left out."""
    begun = time.perf_counter()
    room = LocalBackend(base, measures=LEVELS[way])
    if way != "bare copy" and not room.protections()["namespaces"]:
        room.close()
        return
    workspace = WorkingCopy(room, base.recipe)
    times[way, "open"].append(1000 * (time.perf_counter() - begun))
    steps: dict[str, Callable[[], object]] = {
        "run true": lambda: workspace.run("true"),
        "apply": lambda: workspace.apply(PATCH),
        "diff": workspace.diff,
        "files": workspace.files,
        "reset": workspace.reset,
        "close": workspace.close,
    }
    for what, step in steps.items():
        with timed(times, way, what):
            step()


def by_hand(times: Times, repository: Path, scratch: Path) -> None:
    """The usual ways to a private copy, and to be rid of it."""
    target = scratch / "tree"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with timed(times, "git worktree", "open"):
        command = ["git", "worktree", "add", "--detach", str(target)]
        subprocess.run(command, cwd=repository, check=True, **quiet)  # type: ignore[call-overload]
    with timed(times, "git worktree", "close"):
        command = ["git", "worktree", "remove", "--force", str(target)]
        subprocess.run(command, cwd=repository, check=True, **quiet)  # type: ignore[call-overload]
    with timed(times, "cp -a", "open"):
        subprocess.run(["cp", "-a", str(repository), str(target)], check=True)
    with timed(times, "cp -a", "close"):
        shutil.rmtree(target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    times: Times = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="refute-benchmark-") as folder:
        os.environ["REFUTE_CACHE"] = f"{folder}/cache"
        repository = Path(folder) / "repository"
        commit = make_repository(repository, options.files)
        recipe = Recipe(interpreter=sys.executable, editable=False)
        begun = time.perf_counter()
        base = prepare(str(repository), commit, recipe)
        built = time.perf_counter() - begun
        print(f"{options.files} files, {options.rounds} rounds; base built once in {built:.1f} s")
        for _ in range(options.rounds):
            for way in LEVELS:
                once(times, base, way)
            by_hand(times, repository, Path(folder))
    columns = ["open", "run true", "apply", "diff", "files", "reset", "close"]
    print(f"{'median ms':<18}" + "".join(f"{name:>10}" for name in columns))
    for way in [*LEVELS, "git worktree", "cp -a"]:
        cells = [times.get((way, name)) for name in columns]
        print(f"{way:<18}" + "".join(
            f"{statistics.median(cell):>10.1f}" if cell else f"{'-':>10}" for cell in cells
        ))  # fmt: skip


if __name__ == "__main__":
    main()
