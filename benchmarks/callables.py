"""Which share of the public callables of real packages can be executed, with something to compare.

    python benchmarks/callables.py --half report --count 240 [--seed 12] [--proposals 128]
    python benchmarks/callables.py --tests FOLDER    # FOLDER/PACKAGE: the project with its tests

Draws public functions, methods, properties, class- and static methods (no dunders, nothing nested
or abstract) of the packages in `packages.py`, the same number from each, and runs scenarios that
are proposed for each in the sandbox. A callable counts where at least one ended, in two processes
with other hashes alike, with a value other than None and than an object of unknown state, a changed
argument or receiver, or output. Prints the share by kind, and reasons.

With `--tests` only the packages are drawn from whose projects lie in the folder (unpacked source
distributions), and scenarios are carved from the projects' tests, documents and docstrings, read
statically. Of a carved scenario it is also asked that it executes a line of the callable's body.
"""

from __future__ import annotations

import ast
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from packages import Half, Source, draw, half_of, modules, parser, share, work

from refute.core.problems import Scenario
from refute.function.project import surroundings
from refute.function.scenarios.carving import TestIndex, carve, classes_around, instances_of
from refute.function.scenarios.described import Described, describe_module
from refute.function.scenarios.observation import LIMITS, observe, same_value
from refute.function.scenarios.pieces import Piece
from refute.function.scenarios.proposing import Proposer, Target, explore, runner
from refute.sandbox import Program, Sandbox
from refute.sandbox.local import LocalSandbox
from refute.source.syntax import Function, find_function, readable_module


@dataclass(frozen=True)
class Callable:
    """A public callable, found without executing anything."""

    source: Source
    name: str
    kind: str

    @property
    def package(self) -> str:
        """The top-level package."""
        return self.source.package

    @property
    def key(self) -> str:
        """What a row is kept under."""
        return f"{self.source.module}:{self.name}"


def callables(half: Half) -> Iterator[Callable]:
    """The public callables of the packages."""
    for source in modules(half):
        tree = readable_module(source.path.read_text("utf-8", errors="replace"))
        yield from _public(tree.body, source, "")


def _public(body: list[ast.stmt], source: Source, prefix: str) -> Iterator[Callable]:
    for node in {n.name: n for n in body if isinstance(n, (Function, ast.ClassDef))}.values():
        if node.name.startswith("_"):
            continue
        if isinstance(node, ast.ClassDef):
            if not prefix:
                yield from _public(node.body, source, f"{node.name}.")
            continue
        calls = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
        marks = {ast.unparse(one).rpartition(".")[2] for one in calls}
        if marks & {"abstractmethod", "overload", "setter", "deleter", "fixture"}:
            continue
        kind = "method" if prefix else "function"
        if marks & {"property", "cached_property", "cachedproperty"}:
            kind = "property"
        elif marks & {"classmethod", "staticmethod"}:
            kind = "class"
        yield Callable(source, prefix + node.name, kind)


def _carved(
    one: Callable, module: str, tests: Path, described: Described
) -> tuple[list[Scenario], dict[str, tuple[Piece, ...]]]:
    """Scenarios from the project's tests, and how they make objects."""
    target = f"{module}:{one.name}"
    classes = classes_around(module, one.name, described)
    names = [one.name, *(place.partition(":")[2] for place in classes)]
    files = TestIndex(tests / one.package, module.partition(".")[0]).find(module, names)
    text = one.source.path.read_text("utf-8", errors="replace")
    found = carve(files, [target, *classes], module=module, text=text)
    return found[target], instances_of(classes, found)


def _lines_of(text: str, name: str) -> tuple[int, ...]:
    """The lines of the body of a function."""
    node = find_function(readable_module(text), name)
    if node is None:
        return ()
    return tuple(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))


def _comparable(
    box: Sandbox, program: Program, scenarios: list[Scenario], lines: tuple[int, ...]
) -> tuple[Scenario | None, Counter[str]]:
    """The first that says something twice the same, of the lines, and why others do not."""
    reasons: Counter[str] = Counter()
    traced = [replace(one, lines=lines) for one in scenarios]
    for scenario, seen in zip(traced, observe(box, program, traced), strict=True):
        if seen.answered and lines and not seen.lines:
            reasons["something else is called"] += 1
        elif not seen.says:
            reasons[f"{seen.kind} {seen.error}: {seen.message[:60]}"] += 1
        else:
            again = observe(box, program, [scenario], replace(LIMITS, seed=1))[0]
            if again.says and same_value(again.value, seen.value) and again.printed == seen.printed:
                return scenario, reasons
            reasons["unstable"] += 1
    return None, reasons


def measure(one: Callable, proposals: int, tests: Path | None) -> dict[str, Any]:
    """Whether one callable can be executed, and how soon."""
    start = time.monotonic()
    path = one.source.path.resolve()
    around = surroundings(path)
    text = path.read_text("utf-8", errors="replace")
    row: dict[str, Any] = {"kind": one.kind, "package": one.source.package, "ok": False}
    with LocalSandbox(readable=around.readable, import_path=around.import_path) as box:
        described = describe_module(box, around.name, [one.name])
        if isinstance(described, str):
            return {**row, "reason": "cannot be imported", "detail": described}
        if one.name not in described.names:
            return {**row, "reason": "not there", "detail": described.problems.get(one.name, "")}
        target = Target(around.name, one.name, described.names[one.name], text)
        program = Program(text, one.name, filename=str(path), module=around.name)
        known: list[Scenario] = []
        instances: dict[str, tuple[Piece, ...]] = {}
        if tests is not None:
            known, instances = _carved(one, around.name, tests, described)
            row |= {"carved": len(known), "carved_in": time.monotonic() - start}
            shown, why = _comparable(box, program, known, _lines_of(text, one.name))
            row |= {"carved_ok": shown is not None, "carved_reasons": why.most_common(3)}
            if shown is not None:
                found = {"ok": True, "tried": 0, "scenario": shown.source}
                return {**row, **found, "seconds": time.monotonic() - start}
        texts = reader_of(*around.import_path)
        proposer = Proposer(target, described, texts, known, instances=instances)
        errors: Counter[str] = Counter()
        count = 0
        for shown in explore(proposer, runner(box, program), most=proposals, seconds=20):
            count += 1
            if not shown.seen.says:
                kind = shown.seen.error or "nothing to compare"
                errors[f"{shown.seen.kind} {kind}"] += 1
                continue
            scenario = shown.proposal.scenario
            again = observe(box, program, [scenario], replace(LIMITS, seed=1))[0]
            alike = same_value(again.value, shown.seen.value)
            if again.says and alike and again.printed == shown.seen.printed:
                found = {"ok": True, "tried": count, "scenario": scenario.source}
                return {**row, **found, "seconds": time.monotonic() - start}
            errors["unstable"] += 1
    most = errors.most_common(1)[0][0] if errors else "no proposal"
    return {**row, "tried": count, "reason": most, "seconds": time.monotonic() - start}


def main() -> None:
    options = parser(__doc__, count=240)
    options.add_argument("--proposals", type=int, default=128)
    options.add_argument("--tests", type=Path)
    given = options.parse_args()
    print(vars(given), flush=True)
    half = half_of(given.half)
    found = [
        one
        for one in callables(half)
        if given.tests is None or (given.tests / one.package).is_dir()
    ]
    drawn = draw(found, given.count, given.seed)
    rows = work(
        drawn,
        key=lambda c: c.key,
        do=lambda c: measure(c, given.proposals, given.tests),
        options=given,
    )
    for kind in ("function", "method", "property", "class"):
        own = [row for row in rows if row["kind"] == kind]
        print(f"{kind}: {share(sum(row['ok'] for row in own), len(own))}")
        if given.tests is not None:
            carved = sum(row.get("carved", 0) > 0 for row in own)
            served = sum(row.get("carved_ok", False) for row in own)
            print(f"    carved: {share(carved, len(own))}, comparable: {share(served, len(own))}")
    good = [row for row in rows if row["ok"]]
    print(f"all: {share(len(good), len(rows))}; seconds {median(r['seconds'] for r in good):.2f}")
    print(Counter(row["reason"] for row in rows if not row["ok"]).most_common(12))


def reader_of(*folders: Path) -> Any:
    """Reads files that lie in the folders, by the path that the sandbox names; None for others."""
    roots = [folder.resolve() for folder in folders]

    @lru_cache(maxsize=256)
    def read(name: str) -> str | None:
        path = Path(name)
        try:
            if not any(path.resolve().is_relative_to(root) for root in roots):
                return None
            return path.read_text("utf-8")
        except (OSError, ValueError):
            return None

    return read


if __name__ == "__main__":
    main()
