"""Git histories replayed: what `refute diff` says of functions that people changed.

    python benchmarks/diff_history.py --half dev --count 75 --clones FOLDER [--budget 5]

`FOLDER` holds clones of six repositories, by name: half `dev` boltons, humanize, python-slugify,
half `report` more-itertools, packaging, toolz; in humanize's lies the `_version.py` that its build
makes. Commits since 2018 with one parent that change Python files beside tests are drawn, each
repository as often as the others; of one commit at most four changed functions are compared, until
`--count` were. What third-party modules they import comes from the half `dev` of `packages.py`.

A difference is called false by a rule that is executed: in one of ten further processes on each
side, with ever other hashes and two runs in each, a side does not show again what it showed, or the
sides do not differ; or what differs is only an iterator's type, a message, or the private state of
an object (its public attributes and its type are equal). A commit is a refactoring where its title
says so, and not that something is fixed or added; a difference in one, not mentioned by it, is an
alarm, to be read: annotations do change what is returned now and then.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from packages import Row, half_of, parser, share, spread, work

from refute.diffing.comparison import (
    Difference,
    Entry,
    Settings,
    is_stable,
    kind_of_difference,
    observed_source,
)
from refute.diffing.modules import Module, Modules
from refute.diffing.revisions import Revisions, open_revisions
from refute.diffing.service import Compared, compare
from refute.diffing.sides import Side, Sides
from refute.errors import RefuteError
from refute.function.scenarios.observation import LIMITS, Observation, same_value
from refute.function.target import interpreter_of
from refute.sandbox import Limits
from refute.sandbox.values import Iterated, Opaque

REPOSITORIES = {
    "dev": ("boltons", "humanize", "python-slugify"),
    "report": ("more-itertools", "packaging", "toolz"),
}
AGAIN = 10
PER_COMMIT = 4
_REFACTORING = re.compile(
    r"(?i)\b(pyupgrade|black|isort|ruff|flake8|lint|linting|format|formatting|reformat|refactor\w*|"
    r"type hints?|typing|annotations?|annotate|mypy|style|pep ?8|cleanup|clean up|simplify|"
    r"moderni[sz]e|f-strings?|drop (support for )?python|pre-commit)\b"
)
_CHANGING = re.compile(
    r"(?i)\b(fix\w*|bug\w*|add(?! (type|typing|annot))\w*|new|support|feature)\b"
)


@dataclass(frozen=True)
class Commit:
    """One commit of a clone."""

    repo: Path
    sha: str
    title: str

    @property
    def key(self) -> str:
        """What a row is kept under."""
        return f"{self.repo.name} {self.sha[:10]}"

    @property
    def refactoring(self) -> bool:
        """Whether its title says that it changes no behaviour."""
        return bool(_REFACTORING.search(self.title)) and not _CHANGING.search(self.title)


AMPLE = 60.0  # seconds, where scenarios are counted


def settings_of(options: argparse.Namespace) -> Settings:
    """The budget, or so many scenarios whatever the time: figures that a busy machine spares."""
    if options.most is None:
        return Settings(seconds=options.budget)
    return Settings(seconds=AMPLE, most=options.most)


def commits(clones: Path, names: Sequence[str], seed: int) -> Iterator[Commit]:
    """Commits in random order, the repositories in turn."""
    rng = random.Random(seed)
    piles = []
    for name in names:
        words = ("log", "--since=2018-01-01", "--no-merges", "--format=%H %s", "--", "*.py")
        told = subprocess.run(
            ["git", "-C", str(clones / name), *words], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        lines = (line.split(" ", 1) for line in told if " " in line)
        pile = [Commit(clones / name, sha, title) for sha, title in lines]
        rng.shuffle(pile)
        piles.append(pile)
    while any(piles):
        for pile in piles:
            if pile:
                yield pile.pop()


def replayed(commit: Commit, python: Path, settings: Settings) -> Row:
    """What is said of a commit's changed functions."""
    row: Row = {
        "title": commit.title, "refactoring": commit.refactoring, "repo": commit.repo.name,
        "functions": [],
    }  # fmt: skip
    start = time.monotonic()
    try:
        with open_revisions(commit.repo, f"{commit.sha}~1..{commit.sha}") as revisions:
            done: list[Compared] = []

            def show(one: Compared, number: int, total: int) -> None:
                if not one.function.after.file.endswith(("test.py", "tests.py")):
                    done.append(one)
                if len(done) == PER_COMMIT:
                    raise KeyboardInterrupt  # as somebody would who has seen enough

            compare(revisions, settings, python=python, show=show)
            row["functions"] = [_function(one, revisions, python) for one in done]
    except RefuteError as error:
        row["reason"] = str(error)
    row["seconds"] = round(time.monotonic() - start, 2)
    return row


def _function(one: Compared, revisions: Revisions, python: Path) -> Row:
    comparison = one.comparison
    return {
        "name": one.function.qualname,
        "aspects": list(one.function.aspects),
        "verdict": comparison.verdict,
        "ran": comparison.ran,
        "seconds": round(comparison.seconds, 2),
        "reason": comparison.reason,
        "missed": [list(comparison.missed_before), list(comparison.missed_after)],
        "stated": bool(one.stated),
        "differences": [
            {
                "kind": each.kind,
                "source": each.scenario.source,
                "before": observed_source(each.before, each.kind)[:300],
                "after": observed_source(each.after, each.kind)[:300],
                "false": false_alarm(each, one, revisions, python),
            }
            for each in comparison.differences
        ],
    }


def false_alarm(one: Difference, compared: Compared, revisions: Revisions, python: Path) -> str:
    """Why a difference is called false; "" where it holds."""
    if one.kind == "message":
        return "a message alone"
    before, after = _public(one.before.value), _public(one.after.value)
    if one.kind == "value" and one.before.kind == "returned" and same_value(before, after):
        return "private state or an iterator's type alone"
    old, new = Modules(revisions.before), Modules(revisions.after)
    called = compared.comparison.called or compared.function.after.target
    found = _entry(called, compared, old, new)
    if found is None:
        return ""
    interpreter = interpreter_of(revisions.repo, python)
    with Sides(revisions.before, revisions.after, interpreter) as sides:
        for seed in range(1, AGAIN + 1):
            limits = replace(LIMITS, seed=seed)

            runs = sides.both(
                partial(_twice, one, sides.before, found.before, found.name_before, limits),
                partial(_twice, one, sides.after, found.after, found.name_after, limits),
            )
            for before, after in zip(*runs, strict=True):
                steady = is_stable(one.before, before) and is_stable(one.after, after)
                if not steady and one.kind != "end":
                    return f"seed {seed} shows something else"
                if kind_of_difference(before, after) is None:
                    return f"seed {seed} shows no difference"
    return ""


def _twice(
    one: Difference, side: Side, module: Module, name: str, limits: Limits
) -> list[Observation]:
    return side.observe(module, name, [one.scenario] * 2, (), module.path, limits)


def _entry(called: str, compared: Compared, old: Modules, new: Modules) -> Entry | None:
    """What was called, in both revisions."""
    function = compared.function
    if called == function.after.target:
        sides = old.read(function.before.file), new.read(function.after.file)
        names = function.before.qualname, function.after.qualname
    else:
        parts = called.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            sides = old.named(".".join(parts[:cut])), new.named(".".join(parts[:cut]))
            if sides[1] is not None:
                names = (".".join(parts[cut:]),) * 2
                break
    if any(not hasattr(side, "text") for side in sides):
        return None
    return Entry(sides[0], sides[1], *names)  # type: ignore[arg-type]


def _public(value: Any) -> Any:
    """A value without what only the class itself should know of it."""
    if isinstance(value, Opaque):
        shown = [(k, _public(v)) for k, v in value.attributes if not k.startswith("_")]
        return (value.type, shown) if shown or value.attributes else value
    if isinstance(value, Iterated):
        return [_public(one) for one in value.items]
    if isinstance(value, (list, tuple)):
        return [_public(one) for one in value]
    if isinstance(value, dict):
        return {key: _public(one) for key, one in value.items()}
    return value


def show(rows: list[Row], count: int) -> None:
    """Every difference, and the shares."""
    for row in rows:
        for function in row["functions"]:
            for one in function["differences"]:
                mark = f"FALSE ({one['false']})" if one["false"] else "real?"
                said = "mentioned" if function["stated"] else "not mentioned"
                note = "REFACTORING " if row["refactoring"] else ""
                print(f"\n{mark} {row['key']} {note}{row['title']!r}: {function['name']} ({said})")
                print(f"    {one['kind']}: {one['source']} | {one['before']} | {one['after']}")
    functions = [one for row in rows for one in row["functions"]][:count]
    ran = [one for one in functions if one["ran"]]
    differ = [one for one in functions if one["differences"]]
    shown = [each for one in functions for each in one["differences"]]
    print(f"\n{len(functions)} changed functions of {len(rows)} commits")
    print(f"executed on both sides: {share(len(ran), len(functions))}; differ: {len(differ)}")
    false = Counter(one["false"] for one in shown if one["false"])
    print(f"differences shown: {len(shown)}; false by rule: {sum(false.values())} {dict(false)}")
    print("kinds:", Counter(one["kind"] for one in shown).most_common())
    pure = [row for row in rows if row["refactoring"] and row["functions"]]
    alarms = [
        row
        for row in pure
        if any(one["differences"] and not one["stated"] for one in row["functions"])
    ]
    print(f"refactoring commits with a difference, to be read: {share(len(alarms), len(pure))}")
    print(
        "cannot tell:", Counter(o["reason"][:60] for o in functions if not o["ran"]).most_common(9)
    )
    print(f"seconds a function: {spread([one['seconds'] for one in functions])}")


def environment(folder: Path) -> Path:
    """An interpreter that sees what the repositories depend on."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "half.pth").write_text(f"{half_of('dev').site.resolve()}\n")
    return folder / "bin" / "python"


def main() -> None:
    made = parser(__doc__, count=75)
    made.add_argument("--clones", type=Path, required=True, help="folder of the clones")
    made.add_argument("--most", type=int, help="scenarios, instead of the budget")
    options = made.parse_args()
    top = Path(tempfile.mkdtemp(prefix="refute-history-"))
    settings = settings_of(options)
    python = environment(top / "venv")
    rows: list[Row] = []
    stream = commits(options.clones, REPOSITORIES[options.half], options.seed)
    options.out = options.out or top / "history.jsonl"
    drawn: list[Commit] = []
    try:
        while sum(len(row["functions"]) for row in rows) < options.count:
            few = [one for one, _ in zip(stream, range(4 * options.jobs), strict=False)]
            if not few:
                break
            drawn += few
            rows = work(
                drawn,
                key=lambda commit: commit.key,
                do=lambda c: replayed(c, python, settings),
                options=options,
            )
    finally:
        shutil.rmtree(top / "venv")
    show(rows, options.count)


if __name__ == "__main__":
    main()
