"""Scenarios from a project's own tests, doctests and examples, read statically."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from refute.core.problems import Scenario
from refute.function.scenarios.carving.finding import text_of
from refute.function.scenarios.carving.matching import (
    GUESSED,
    Target,
    candidates,
    matched,
    target_of,
)
from refute.function.scenarios.carving.places import NO_PACKAGE, Package
from refute.function.scenarios.carving.sessions import sessions_of
from refute.function.scenarios.carving.slicing import CannotCarve, scenario_of
from refute.function.scenarios.carving.steps import Step
from refute.function.scenarios.carving.testfiles import TestFile, read_file

MOST_FOUND = 400
"""Scenarios of one target that the best are chosen from."""
MOST_GUESSED = 8
"""Scenarios of one target of whose receiver only the method's name is known."""


@dataclass(slots=True)
class Carving:
    """What was found."""

    scenarios: dict[str, list[Scenario]]
    """By target, best first."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Why calls of targets made no scenario."""


@dataclass(frozen=True, slots=True)
class _Found:
    scenario: Scenario
    rank: int
    shape: str


def carve(
    files: Sequence[Path | tuple[str, str]],
    targets: Sequence[str],
    *,
    names: Package = NO_PACKAGE,
    most: int = 40,
    seen_from: str | None = None,
    known: dict[str, TestFile] | None = None,
) -> Carving:
    """Find up to `most` scenarios for each target, ``pkg.mod:Cart.total``, in files.

    `files`: paths, or (name, text). `names`: what the package defines and exports
    (`read_package`). `seen_from`: the module in which the scenarios run, whose names need no import
    (default: each target's own). `known`: files that were read before with the same `names`, by
    path; it gets those that are read now.
    """
    skipped: Counter[str] = Counter()
    read: list[TestFile] = []
    kept = {} if known is None else known
    for file in files:
        name = str(file) if isinstance(file, Path) else file[0]
        with _bounded(skipped):
            if name not in kept:
                text = text_of(file) if isinstance(file, Path) else file[1]
                kept[name] = read_file(name, text, names, _module_of(file, names.name))
            read.append(kept[name])
    shared = [one for one in read if one.name.endswith("conftest.py")]
    wanted = [target_of(one, names, seen_from) for one in targets]
    words = {word for one in wanted for word in one.words}
    found: dict[str, dict[str, _Found]] = {one.key: {} for one in wanted}
    for file_read in read:
        with _bounded(skipped):
            for steps in sessions_of(file_read, shared, names, words):
                for target in wanted:
                    own = found[target.key]
                    if len(own) < MOST_FOUND:
                        for one in _in_session(steps, target, names, skipped):
                            own.setdefault(one.scenario.source, one)
    chosen = {key: _chosen(list(own.values()), most) for key, own in found.items()}
    return Carving(chosen, skipped)


def _module_of(file: Path | tuple[str, str], package: str) -> str:
    """The dotted name of a file that lies in the package's folder; "" for others."""
    path = file if isinstance(file, Path) else Path(file[0])
    top = package.partition(".")[0]
    parts = path.with_suffix("").parts
    for at in reversed(range(len(parts))):
        if path.suffix != ".py" or parts[at] != top:
            continue
        folder = Path(*parts[: at + 1])
        # a repository is often called as its package is
        if not isinstance(file, Path) or (folder / "__init__.py").is_file() or at == len(parts) - 1:
            inner = parts[at:-1] if parts[-1] == "__init__" else parts[at:]
            return ".".join(inner)
    return ""


@contextmanager
def _bounded(skipped: Counter[str]) -> Iterator[None]:
    """Whoever reads a file that is too deep, or has numbers too long to print, leaves the rest."""
    try:
        yield
    except (RecursionError, MemoryError, ValueError):
        skipped["a file that cannot be read"] += 1


def _chosen(found: list[_Found], most: int) -> list[Scenario]:
    """The surest first, and in turns one of each shape of arguments, shortest first."""
    guessed = [one for one in found if one.rank == GUESSED]
    groups: dict[tuple[int, str], list[_Found]] = {}
    order = [one for one in found if one.rank != GUESSED]
    order += sorted(guessed, key=_size)[:MOST_GUESSED]
    for one in sorted(order, key=_size):
        groups.setdefault((one.rank, one.shape), []).append(one)
    piles = [groups[key] for key in sorted(groups, key=lambda key: (key[0], _size(groups[key][0])))]
    chosen: list[Scenario] = []
    for turn in range(max(map(len, piles), default=0)):
        chosen += [pile[turn].scenario for pile in piles if turn < len(pile)]
    return chosen[:most]


def _size(one: _Found) -> tuple[int, int, str]:
    scenario = one.scenario
    return len(scenario.setup), len(scenario.source), scenario.source


# -- in one session --------------------------------------------------------------------------------


def _in_session(
    steps: Sequence[Step], target: Target, package: Package, skipped: Counter[str]
) -> Iterator[_Found]:
    for index, step in enumerate(steps):
        if not step.tested:
            continue
        for looked in step.looked:
            for node, before in candidates(looked, target, step):
                line = [*steps[:index], *before, step] if before else steps
                at = index + len(before)
                match = matched(node, target, line, at, package)
                if match is None:
                    continue
                rank, call = match
                try:
                    scenario = scenario_of(call, line, at, target.home, package, target.defined)
                except CannotCarve as reason:
                    skipped[str(reason)] += 1
                    continue
                yield _Found(scenario, rank, _shape(call))


def _shape(call: ast.expr) -> str:
    """The kinds of a call's arguments."""
    if not isinstance(call, ast.Call):
        return ""
    parts = [_kind(one) for one in call.args]
    parts += [f"{one.arg}={_kind(one.value)}" for one in call.keywords]
    return ", ".join(parts)


def _kind(node: ast.expr) -> str:
    match node:
        case ast.Constant(value):
            return type(value).__name__ + ("" if value else "0")
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            return f"{type(node).__name__}{min(len(elts), 2)}"
        case ast.Call(func=ast.Name(name) | ast.Attribute(attr=name)):
            return f"{name}()"
    return type(node).__name__
