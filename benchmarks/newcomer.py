"""A newcomer's path through each door of README, in an environment as empty as a new machine's.

    python benchmarks/newcomer.py                  # the commit that is checked out; prints a table
    python benchmarks/newcomer.py --show           # with what each command prints

A clone is made of this repository, `HOME` is an empty folder, and of the environment nothing is
left but `PATH` (the system's, with the Python that runs this) and pip's own settings. README's
first command is run as it stands there: it makes an environment, builds and installs the wheel, and
fixes a bug. Then each door is gone through on the newcomer's own package: the sdist of a small
package that refute was never tried on while it was made, in a repository and with an environment
of its own. The verbs and options must stand in README. Printed are seconds and CPU seconds of each
step. What ends with another status than documented, or does not print what a newcomer looks for,
ends the script with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN = "ordered-set==4.1.0"
CODE = "ordered_set/__init__.py"
WRONG = ("if item not in other)", "if item in other)")
"""A bug that its doctests show, in `difference`."""
QUIET = ("if len(self) > len(other):", "if len(self) >= len(other):")
"""One that they do not, in `issubset`."""
ISSUE = """\
issubset is wrong for equal sets

    >>> from ordered_set import OrderedSet
    >>> OrderedSet([1]).issubset(OrderedSet([1]))
    False

It should be True.
"""
TEST = "\n\ndef test_a_set_is_its_subset():\n    assert OrderedSet([1]).issubset(OrderedSet([1]))\n"


@dataclass(frozen=True)
class Step:
    """A command that README documents."""

    does: str
    command: str
    status: int
    says: str
    """What a newcomer looks for in what it prints."""


BUG = (
    Step("every function of the package", "refute hunt ordered_set", 1, "difference is wrong"),
    Step(
        "failing tests as a file",
        f"refute hunt {CODE}::OrderedSet.difference -o test_bugs.py",
        1,
        "difference is wrong",
    ),
    Step("a fix", f"refute debug {CODE}::OrderedSet.difference", 0, "fixed"),
)
PATCH = (
    Step("what the change does", "refute diff HEAD", 1, "OrderedSet.issubset: behaves otherwise"),
    Step("a test out of an issue", "refute reproduce ISSUE.md -C .", 1, ""),
    Step("is the fix one", "refute vet FIX.diff --issue ISSUE.md -C .", 0, "fixed"),
)
COMPARE = (
    Step("a method on own problems", "refute bench own.jsonl --method search", 0, "1 right"),
    Step("a page", "refute report runs/{run} -o page.html", 0, ""),
)
AGENTS = (
    Step("what a change lacks", "refute harden --since HEAD~1", 1, "assert"),
    Step("is it done", "refute gate", 0, "proven"),
    Step("settings, workflow, hook", "refute init", 0, "+++"),
)


class Newcomer:
    """A new machine, and what was done on it."""

    def __init__(self, folder: Path, show: bool) -> None:
        self.folder, self.show = folder, show
        self.home, self.clone, self.own = folder / "home", folder / "refute", folder / "own"
        self.home.mkdir()
        self.rows: list[str] = []
        self.troubles: list[str] = []

    def run(self, command: str, where: Path) -> tuple[int, str, float, float]:
        """Status, what it printed, seconds and CPU seconds."""
        python = Path(sys.executable).resolve().parent
        path = [str(self.clone / ".venv/bin"), str(python), "/usr/local/bin", "/usr/bin", "/bin"]
        kept = {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
        env = {"HOME": str(self.home), "PATH": ":".join(path), "LANG": "C.UTF-8", **kept}
        before, start = _cpu(), time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=where,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout, time.monotonic() - start, _cpu() - before

    def take(self, door: str, step: Step, where: Path) -> None:
        """Take a step; a row of the table."""
        status, said, seconds, spent = self.run(step.command, where)
        self.rows.append(
            f"| {door} | {step.does} | `{step.command}` | {seconds:.1f} ({spent:.1f}) |"
        )
        print(self.rows[-1], flush=True)
        right = status == step.status and step.says in said
        if self.show or not right:
            print(f"{said}(status {status})")
        if not right:
            self.troubles.append(f"{step.command}: status {status}, not {step.status}")

    def must(self, command: str, where: Path) -> None:
        """What is the newcomer's own, and takes no part in the figures."""
        status, said, _, _ = self.run(command, where)
        if status:
            sys.exit(f"{command}: status {status}\n{said}")

    def edit(self, old: str, new: str) -> None:
        path = self.own / CODE
        text = path.read_text()
        assert text.count(old) == 1, old
        path.write_text(text.replace(old, new))

    def commit(self, words: str) -> None:
        who = "-c user.name=me -c user.email=me@example.org"
        self.must(f"git add -A && git {who} commit -qm {shlex.quote(words)}", self.own)


def _cpu() -> float:
    spent = os.times()
    return spent.children_user + spent.children_system


def documented(readme: str) -> list[str]:
    """Steps whose verb and options README does not show."""
    missing = []
    for step in (*BUG, *PATCH, *COMPARE, *AGENTS):
        words = step.command.split()
        shown = [word for word in words[1:] if word.startswith("-")]
        lines = [line for line in readme.splitlines() if line.startswith(" ".join(words[:2]))]
        if not lines or any(all(word not in line for line in lines) for word in shown):
            missing.append(step.command)
    return missing


def own_package(new: Newcomer) -> None:
    """The package's sdist as a repository, with the environment that its tests want."""
    new.must(
        f"python3 -m pip download -q --no-deps --no-binary :all: {OWN} -d sdist "
        "&& mkdir own && tar xzf sdist/*.tar.gz -C own --strip-components 1",
        new.folder,
    )
    new.must("python3 -m venv .venv && .venv/bin/pip install -q pytest && git init -q .", new.own)
    (new.own / ".gitignore").write_text(".venv/\nruns/\n.refute/\n__pycache__/\n.pytest_cache/\n")
    new.commit("as published")


def problems(text: str) -> str:
    """A function over the package's module as a problem; `docs/benchmarks.md` names the fields."""
    row = {
        "id": "subset",
        "entry_point": "subset",
        "description": "All in b?\n\n>>> subset([1], [1])\nTrue\n>>> subset([1], [2])\nFalse",
        "code": f"{text}\n\ndef subset(a: list, b: list) -> bool:\n"
        "    return len(OrderedSet(a).difference(b)) <= 1\n",
        "reference": "def subset(a, b):\n    return set(a) <= set(b)\n",
        "inputs": [[[1], [1]], [[], []], [[1, 2], [2]], [[1, 2, 3], [1]], [[1], [1, 2]]],
    }
    return json.dumps(row) + "\n"


def walk(new: Newcomer) -> None:
    """All of it."""
    first = "python3 -m venv .venv && .venv/bin/pip install -q . && "
    readme = (new.clone / "README.md").read_text()
    (line,) = [line for line in readme.splitlines() if line.startswith(first)]
    print("| door | step | command | seconds (CPU) |\n|---|---|---|---|")
    new.take("first", Step("README's first command", line, 0, "fixed"), new.clone)
    own_package(new)
    new.edit(*WRONG)
    for step in BUG:
        new.take("a bug and no test", step, new.own)
    new.must("rm test_bugs.py && git checkout -q .", new.own)
    new.edit(*QUIET)
    new.take("a patch", PATCH[0], new.own)
    new.commit("a faster check")
    new.edit(QUIET[1], QUIET[0])
    new.must("git diff > FIX.diff && git checkout -q .", new.own)
    (new.own / "ISSUE.md").write_text(ISSUE)
    for step in PATCH[1:]:
        new.take("a patch", step, new.own)
    new.take("agents", AGENTS[0], new.own)
    new.must("git apply FIX.diff && rm -f FIX.diff ISSUE.md", new.own)
    with (new.own / "test/test_ordered_set.py").open("a") as tests:
        tests.write(TEST)
    for step in AGENTS[1:]:
        new.take("agents", step, new.own)
    (new.own / "own.jsonl").write_text(problems((new.own / CODE).read_text()))
    new.take("compare", COMPARE[0], new.own)
    (run,) = (path.name for path in (new.own / "runs").iterdir() if path.is_dir())
    page = COMPARE[1]
    new.take("compare", Step(page.does, page.command.format(run=run), 0, ""), new.own)


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--show", action="store_true", help="print what each command prints")
    given = options.parse_args()
    if missing := documented((ROOT / "README.md").read_text()):
        sys.exit("README does not show:\n" + "\n".join(missing))
    folder = Path(tempfile.mkdtemp(prefix="refute-newcomer-"))
    try:
        new = Newcomer(folder, given.show)
        new.must(f"git clone -q {shlex.quote(str(ROOT))} refute", folder)
        walk(new)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(new.troubles))
    return int(bool(new.troubles))


if __name__ == "__main__":
    sys.exit(main())
