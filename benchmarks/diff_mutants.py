"""Mutants of methods and of functions that take objects: does `refute diff` tell them apart?

    python benchmarks/diff_mutants.py --half dev --count 60 [--budget 5] [--long 60]

Draws public methods, properties, class- and static methods, and functions whose source asks for an
object, of the packages in `packages.py`, and puts one bug of `mutator.py` into each, three of four
on one line. The package's tree lies in a git repository of its own, the original is its commit, the
mutant the next one; both are compared as `refute diff HEAD~1..HEAD` does it. A mutant that is not
found may be equivalent: it counts as having a differing input where the module's own doctests fail
on it and not on the original, or where a search of `--long` seconds finds one; else it is unknown,
and the share is printed with and without those.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callables import Callable, callables
from mutator import bugs
from packages import Half, Inside, Row, draw, half_of, parser, share, spread, work

from refute.diffing.comparison import Settings, observed_source
from refute.diffing.revisions import open_revisions
from refute.diffing.service import Diffed, compare
from refute.errors import RefuteError
from refute.source.syntax import find_function, try_parse

AMPLE = 60.0  # seconds, where scenarios are counted
PATIENCE = 10  # times the scenarios, in the long search where scenarios are counted
_PLAIN = frozenset(
    """int float str bool bytes None object Any complex list List dict Dict tuple Tuple set Set
    frozenset FrozenSet Sequence Iterable Iterator Collection Mapping MutableMapping Callable Type
    type Optional Union Literal Sized Hashable Container""".split()  # noqa: SIM905
)
_BUILTIN = tuple(
    frozenset(dir(kind)) for kind in (str, list, dict, int, float, bytes, set, tuple, range)
)


@dataclass(frozen=True)
class Case:
    """A mutant of one callable."""

    source: Callable
    kind: str
    """Of the bug."""
    several: bool
    change: str
    text: bytes

    @property
    def key(self) -> str:
        """What a row is kept under."""
        return f"{self.source.key} {self.kind}"


def takes_objects(one: Callable) -> bool:
    """Whether a function's annotations, or what it reads of its parameters, ask for an object."""
    tree = try_parse(one.source.path.read_text("utf-8", errors="replace"))
    node = None if tree is None else find_function(tree, one.name)
    if node is None:
        return False
    given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    for parameter in given:
        if parameter.annotation is not None:
            names = re.findall(r"[A-Za-z_][\w.]*", ast.unparse(parameter.annotation))
            # a type variable is a letter or ends in T, as people write them
            kinds = {name.rpartition(".")[2] for name in names}
            if any(
                kind not in _PLAIN and not re.fullmatch(r"_?[A-Z]?\w?T?", kind) for kind in kinds
            ):
                return True
            continue
        read = {
            inner.attr
            for inner in ast.walk(node)
            if isinstance(inner, ast.Attribute)
            and isinstance(inner.value, ast.Name)
            and inner.value.id == parameter.arg
        }
        if read and not any(read <= known for known in _BUILTIN):
            return True
    return False


def cases(half: Half, count: int, seed: int) -> Iterator[Case]:
    """Mutants, each package as often as the others, at most one of a callable."""
    rng = random.Random(seed)
    every = [one for one in callables(half) if one.package != "library"]
    chosen = [one for one in every if one.kind != "function"]
    chosen += [one for one in every if one.kind == "function" and takes_objects(one)]
    made = 0
    for one in draw(chosen, len(chosen), seed):
        text = one.source.path.read_bytes()
        several = made % 4 == 3
        for bug in bugs(text, one.name, rng):
            if bug.several == several:
                yield Case(one, bug.kind, bug.several, bug.change, bug.into(text))
                made += 1
                break
        if made == count:
            return


class Repositories:
    """A git repository for each package, made on first use."""

    def __init__(self, half: Half) -> None:
        self.half = half
        self.top = Path(tempfile.mkdtemp(prefix="refute-mutants-"))
        self.python = self._environment()
        self.made: dict[str, Path] = {}
        self.locks: dict[str, threading.Lock] = defaultdict(threading.Lock)

    def _environment(self) -> Path:
        """An interpreter that sees the half's packages, for what they depend on; byte-compiled, as
        an installer leaves them."""
        folder = self.top / "venv"
        site = self.top / "site"
        shutil.copytree(self.half.site, site)
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(site)], check=False)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        (own,) = folder.glob("lib/python*/site-packages")
        (own / "half.pth").write_text(f"{site.resolve()}\n")
        return folder / "bin" / "python"

    def of(self, package: str) -> Path:
        """The package's repository, with the original as its commit."""
        if package not in self.made:
            repo = self.top / package
            repo.mkdir()
            source = self.half.site / package
            if source.is_dir():
                shutil.copytree(source, repo / package, ignore=shutil.ignore_patterns("*.pyc"))
            else:
                shutil.copy(source.with_suffix(".py"), repo)
            git(repo, "init", "-q")
            git(repo, "add", "-A", "-f")
            git(repo, "commit", "-q", "-m", "original")
            self.made[package] = repo
        return self.made[package]


def git(repo: Path, *words: str) -> None:
    """Run git in a repository, by nobody in particular."""
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
    subprocess.run(["git", "-C", str(repo), *who, *words], check=True)


def guarded(case: Case, repos: Repositories, settings: Settings, long: Settings | None) -> Row:
    """`measured`, one mutant of a repository after the other."""
    with repos.locks[case.source.package]:
        return measured(case, repos, settings, long)


def measured(case: Case, repos: Repositories, settings: Settings, long: Settings | None) -> Row:
    """Whether the mutant is told from the original, and after how many seconds."""
    one = case.source
    repo = repos.of(one.package)
    place = repo / one.source.path.relative_to(repos.half.site)
    place.write_bytes(case.text)
    git(repo, "commit", "-q", "-a", "-m", "change")
    row: Row = {
        "package": one.package, "what": one.kind, "bug": case.kind, "several": case.several,
        "change": case.change,
    }  # fmt: skip
    try:
        row |= compared(repo, repos.python, one.name, settings)
        if not row["found"]:
            row["doctest"] = doctests_differ(case, repos.half)
            if long is not None and not row["doctest"]:
                again = compared(repo, repos.python, one.name, long)
                row["long"], row["long shown"] = again["found"], again.get("shown")
                row["long seconds"], row["long reason"] = again["seconds"], again["reason"]
    except RefuteError as error:
        row |= {"found": False, "seconds": 0.0, "reason": str(error)}
    finally:
        git(repo, "reset", "-q", "--hard", "HEAD~1")
    return row


def compared(repo: Path, python: Path, name: str, settings: Settings) -> Row:
    """What comparing the last two commits gives."""
    start = time.monotonic()
    with open_revisions(repo, "HEAD~1..HEAD") as revisions:
        diffed: Diffed = compare(revisions, settings, python=python)
    seconds = time.monotonic() - start
    shown: list[str] = []
    found, reasons = False, []
    for one in diffed.functions:
        comparison = one.comparison
        own = one.function.qualname == name
        found = found or bool(comparison.differences)
        for difference in comparison.differences:
            before, after = (
                observed_source(seen, difference.kind)[:200]
                for seen in (difference.before, difference.after)
            )
            shown.append(f"{difference.kind}: {difference.scenario.source} | {before} | {after}")
        if own or not reasons:
            missed = bool(comparison.missed_before or comparison.missed_after)
            reasons = [
                comparison.reason
                or (f"ran {comparison.ran}, " + ("lines missed" if missed else "lines reached"))
            ]
    return {
        "found": found, "seconds": round(seconds, 2), "shown": shown[:3],
        "engine seconds": round(sum(o.comparison.seconds for o in diffed.functions), 2),
        "reason": "" if found else "; ".join(reasons) or "no changed function is seen",
    }  # fmt: skip


def doctests_differ(case: Case, half: Half) -> bool:
    """Whether doctests of the callable, or of its class, fail on the mutant alone."""
    one = case.source
    with tempfile.TemporaryDirectory(prefix="refute-doctest-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        top = half.site / one.package
        if top.is_dir():
            shutil.copytree(top, folder / one.package)
        place = folder / one.source.path.relative_to(half.site)
        place.write_bytes(case.text)
        place.chmod(0o644)
        counts = []
        for folders in ((half.site,), (folder, half.site)):
            with Inside(*folders) as inside:
                failed = 0
                for label in dict.fromkeys((one.name, one.name.partition(".")[0])):
                    tried: Any = inside.ask("doctest_of", one.source.module, label)
                    failed += 1 if tried is None else tried[1]
                counts.append(failed)
    return counts[0] == 0 and counts[1] > 0


def show(rows: list[Row], each: bool) -> None:
    """The shares and the reasons."""
    for row in rows if each else ():
        mark = "found" if row["found"] else "LONG " if row.get("long") else "-    "
        print(f"\n{mark} {row['key']} {row['seconds']} s {row['reason']}\n{row['change']}")
        print("\n".join(f"    {line}" for line in row.get("shown") or row.get("long shown") or ()))
    found = [row for row in rows if row["found"]]
    late = [r for r in rows if not r["found"] and (r.get("long") or r.get("doctest"))]
    unknown = [row for row in rows if not row["found"] and row not in late]
    print(f"\n{len(rows)} mutants of {len({row['package'] for row in rows})} packages")
    print(f"found, of those with a differing input: {share(len(found), len(found) + len(late))}")
    print(f"found, of all: {share(len(found), len(rows))}; unknown {len(unknown)}")
    for what in sorted({row["what"] for row in rows}):
        own = [row for row in rows if row["what"] == what]
        hits = [row for row in own if row["found"]]
        missed = [row for row in own if row in late]
        print(f"  {what}: {share(len(hits), len(hits) + len(missed))}, {len(own)} in all")
    print(f"seconds, whole command: {spread([row['seconds'] for row in rows])}")
    print(f"seconds, found: {spread([row['seconds'] for row in found])}")
    print("missed:", Counter(row["reason"] for row in late).most_common(8))
    print("unknown:", Counter(row["reason"] for row in unknown).most_common(8))


def settings_of(options: argparse.Namespace) -> Settings:
    """The budget, or so many scenarios whatever the time: figures that a busy machine spares."""
    if options.most is None:
        return Settings(seconds=options.budget)
    return Settings(seconds=AMPLE, most=options.most)


def patient(options: argparse.Namespace) -> Settings | None:
    """How a miss is looked at once more: with another seed, and without an end for quiet's sake."""
    if not options.long:
        return None
    if options.most is None:
        return Settings(seconds=options.long, most=8000, seed=1, quiet=8000)
    most = PATIENCE * options.most
    return Settings(seconds=10 * options.long, most=most, seed=1, quiet=most)


def main() -> None:
    made = parser(__doc__, count=60)
    made.add_argument("--most", type=int, help="scenarios, instead of the budget")
    made.add_argument("--long", type=float, default=60.0, help="seconds for a miss; 0: none")
    options = made.parse_args()
    settings, long = settings_of(options), patient(options)
    half = half_of(options.half)
    drawn = list(cases(half, options.count, options.seed))
    repos = Repositories(half)
    try:
        rows = work(
            drawn,
            key=lambda case: case.key,
            do=lambda case: guarded(case, repos, settings, long),
            options=options,
        )
    finally:
        shutil.rmtree(repos.top)
    show(rows, each=options.half == "dev")


if __name__ == "__main__":
    main()
