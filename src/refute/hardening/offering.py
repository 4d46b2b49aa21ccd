"""Which tests are offered: few that tell many mutants, each seen green on the code and red on the
mutant in a workspace, where they stand among the project's own."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.diffing.pinning import PinnedTest, pinned_test, put_into_project
from refute.function.scenarios.placing import place_test
from refute.hardening.killing import Input
from refute.hardening.mutants import Mutant
from refute.hardening.testing import asked_by
from refute.source.syntax import readable_module
from refute.workspace.contract import TestSelection, Workspace
from refute.workspace.running import FAILING

COMMENT = "what the code does today; nobody has said that it is right"
MOST_AGAIN = 60
"""Of the project's tests that reach a mutant, so many are run on it once more, from its file."""
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A test that pins what the code does today, and the mutants that it kills."""

    test: PinnedTest
    input: Input
    kills: tuple[Mutant, ...]
    """The one that it was found for first."""
    covers: bool
    """Whether it executes a statement that none of the project's tests near does."""


def as_offer(one: Input, kills: Sequence[Mutant], covers: bool, root: Path) -> Offer | None:
    """The test of an input; None where what the code does has no source."""
    place = place_test(root, one.entry.after.name, one.entry.name_after)
    test = pinned_test(one.entry, one.difference, "before", place, COMMENT)
    return None if test is None else Offer(test, one, tuple(kills), covers)


def chosen(offers: Sequence[Offer], most: int) -> list[Offer]:
    """At most so many tests, each of which kills a mutant that those before it do not: those that
    execute what no test does first, then those that kill most, then the shortest."""
    left = list(offers)
    dead: set[Mutant] = set()
    found: list[Offer] = []
    while left and len(found) < most:
        best = min(left, key=lambda one: _order(one, dead))
        if dead.issuperset(best.kills):
            break
        found.append(best)
        dead.update(best.kills)
        left.remove(best)
    return found


def _order(one: Offer, dead: set[Mutant]) -> tuple[bool, bool, int, int]:
    news = sum(mutant not in dead for mutant in one.kills)
    return not news, not one.covers, -news, len(one.input.difference.scenario.source)


def confirmed(
    offers: Sequence[Offer],
    most: int,
    reaching: Mapping[Mutant, tuple[str, ...]],
    workspace: Workspace,
    root: Path,
    dropped: Counter[str],
) -> list[Offer]:
    """The first `most` offers that hold in a workspace, put there among the project's tests.

    They pass on the code, ask no clock, and each fails on its mutant, on which the project's own
    tests that reach it (`reaching`) pass. `dropped` counts the others, by the reason. The workspace
    is as the checkout, and is left with the tests in it. Raises `WorkspaceUnavailable`.
    """
    if not offers:
        return []
    names = _put(offers, workspace, root)
    ids = [id for one in names for id in one]
    asked = asked_by(workspace, ids) if ids else {}
    kept: list[Offer] = []
    for offer, own in zip(offers, names, strict=True):
        if len(kept) == most:
            break
        if not own or not asked.keys() >= set(own):
            dropped["does not pass in the project's own runner"] += 1
        elif any(asked[id] for id in own):
            dropped["depends on the clock, the process or the machine"] += 1
        else:
            why = _is_red(offer, own, reaching.get(offer.input.mutant, ()), workspace)
            if why:
                dropped[why] += 1
            else:
                kept.append(offer)
    return kept


def _is_red(offer: Offer, own: Sequence[str], reaching: Sequence[str], workspace: Workspace) -> str:
    """Why a test does not tell its mutant from the code as the project's tests do not; "" where it
    does. The tests stand in the workspace already."""
    mutant = offer.input.mutant
    before = workspace.read(mutant.file)
    try:
        workspace.write(mutant.file, mutant.text.encode())
        tests = (*own, *reaching[:MOST_AGAIN])
        report = workspace.run_tests(TestSelection(tests=tests), timeout=_SECONDS)
    finally:
        workspace.write(mutant.file, before)
    if report.status != "finished" or not report.trusted:
        return "its run on the mutant did not end"
    failed = {one.id: one.phase for one in report.results if one.outcome in FAILING}
    if failed.keys() - set(own):
        return "the project's tests kill its mutant after all"
    return "" if any(failed.get(id) == "call" for id in own) else "does not fail on its mutant"


def _put(offers: Sequence[Offer], workspace: Workspace, root: Path) -> list[list[str]]:
    """Put the tests among the project's, in the workspace; of each its ids for pytest."""
    names: list[list[str]] = []
    for count in range(1, len(offers) + 1):
        known = {path: _tests_in(path, root, text) for path, text in _files(offers[: count - 1])}
        new: list[str] = []
        for path, text in _files(offers[:count]):
            had = known[path] if path in known else _tests_in(path, root, _read(path))
            new += [id for id in _tests_in(path, root, text) if id not in had]
        names.append(new)
    for path, text in _files(offers):
        workspace.write(path.relative_to(root).as_posix(), text.encode())
    return names


def _files(offers: Sequence[Offer]) -> list[tuple[Path, str]]:
    return list(put_into_project(offer.test for offer in offers).items())


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _tests_in(path: Path, root: Path, text: str) -> list[str]:
    """Ids of the tests of a file, as pytest gives them."""
    file = path.relative_to(root).as_posix()
    found = []
    for node in readable_module(text).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            found.append(f"{file}::{node.name}")
        elif isinstance(node, ast.ClassDef):
            found += [
                f"{file}::{node.name}::{one.name}"
                for one in node.body
                if isinstance(one, ast.FunctionDef) and one.name.startswith("test")
            ]
    return found
