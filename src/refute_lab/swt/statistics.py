"""Figures about a benchmark: Table 1 of SWT-Bench (arXiv 2406.12952)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from refute.errors import WorkspaceUnavailable
from refute.workspace.patches import FilePatch, file_patches
from refute.workspace.repositories import Clone, GitFailed
from refute_lab.report.grids import Grid, count_cell, row_of
from refute_lab.swt.build import REASONS, BuiltBenchmark

_WORD = re.compile(r"\w+(?:['’]\w+)?|[^\w\s]")

Finder = Callable[[str], Clone]
"""Repository -> its clone. Raises `WorkspaceUnavailable`."""


@dataclass(frozen=True, slots=True)
class BenchmarkFigure:
    """Mean and maximum of one property over the instances for which it is known."""

    group: str
    name: str
    mean: float
    max: float
    instances: int


def statistics(
    rows: Iterable[Mapping[str, Any]], finder: Finder | None = None
) -> tuple[BenchmarkFigure, ...]:
    """Table 1's figures, those of which nothing is known left out.

    `rows`: SWE-bench's fields; the counts of existing and of added tests come from `measured`,
    which `refute data build-swt` writes and a golden run tells. Without it the lists of the row are
    counted: its PASS_TO_PASS are the tests that pass in both states, most of them existing ones.
    `finder`: where to count the files and lines of the
    repositories; None: they are not counted. Words are counted with punctuation, as the paper's
    tokenizer does, within about a per cent.
    """
    found: dict[tuple[str, str], list[float]] = {}

    def note(group: str, name: str, value: float) -> None:
        found.setdefault((group, name), []).append(value)

    sizes: dict[tuple[str, str], tuple[int, int] | None] = {}
    for row in rows:
        note("issue", "words", len(_WORD.findall(row["problem_statement"])))
        if finder is not None:
            place = (row["repo"], row["base_commit"])
            if place not in sizes:
                sizes[place] = _size(finder, *place)
            size = sizes[place]
            if size is not None:
                note("codebase", "files", size[0])
                note("codebase", "lines", size[1])
        _note_tests(row, note)
        for group, field in (("golden patch", "patch"), ("golden tests", "test_patch")):
            parts = file_patches(row[field])
            note(group, "files edited", len(parts))
            note(group, "lines edited", sum(map(_lines, parts)))
    return tuple(
        BenchmarkFigure(group, name, sum(values) / len(values), max(values), len(values))
        for (group, name), values in sorted(found.items(), key=lambda item: _order(*item[0]))
    )


_ORDER = ("issue", "codebase", "listed tests", "existing tests", "golden tests", "golden patch")
_NAMES = {"f2p": "F→P", "f2f": "F→F", "p2p": "P→P", "p2f": "P→F"}
_INNER = (
    *_NAMES.values(),
    *("total", "added", "removed", "coverage %", "coverage % besides"),
    *("files", "lines", "files edited"),
)


def _order(group: str, name: str) -> tuple[int, int]:
    return _ORDER.index(group), _INNER.index(name) if name in _INNER else len(_INNER)


def _note_tests(row: Mapping[str, Any], note: Callable[[str, str, float], None]) -> None:
    measured = row.get("measured")
    if not isinstance(measured, Mapping) or "existing" not in measured:
        for field, name in (("FAIL_TO_PASS", "F→P"), ("PASS_TO_PASS", "P→P")):
            if row.get(field) is not None:
                note("listed tests", name, len(row[field]))
        return
    for group, field in (("existing tests", "existing"), ("golden tests", "golden")):
        for kind, name in _NAMES.items():
            note(group, name, measured[field].get(kind, 0))
    note("existing tests", "total", sum(measured["existing"].values()))
    note("golden tests", "added", measured["added"])
    note("golden tests", "removed", measured["removed"])
    if measured.get("coverage") is not None:  # of X*, so that the two are 100
        note("existing tests", "coverage %", 100 * measured["coverage"])
        note("golden tests", "coverage % besides", 100 - 100 * measured["coverage"])


def _lines(part: FilePatch) -> int:
    return len(part.added) + len(part.removed)


def _size(finder: Finder, repo: str, commit: str) -> tuple[int, int] | None:
    try:
        return codebase(finder(repo), commit)
    except (WorkspaceUnavailable, GitFailed):
        return None


def codebase(clone: Clone, commit: str) -> tuple[int, int]:
    """Python files at a commit and the lines in them, tests included. Raises `GitFailed`."""
    listed = clone.git("ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
    blobs = [
        entry.split(b"\t")[0].split()[2]
        for entry in listed
        if entry.endswith(b".py") and entry.split()[1] == b"blob"
    ]
    if not blobs:
        return 0, 0
    data = clone.git("cat-file", "--batch", given=b"\n".join(blobs) + b"\n")
    lines = at = 0
    while at < len(data):
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        lines += data.count(b"\n", end + 1, end + 1 + size)
        at = end + 1 + size + 1
    return len(blobs), lines


# -- benchmarks ------------------------------------------------------------------------------------


def print_built(title: str, built: BuiltBenchmark, console: Console) -> None:
    """How many pull requests each stage dropped, and how many are kept."""
    table = Table("stage", "", "pull requests", title=title)
    for reason, stage in REASONS.items():
        if built.dropped.get(reason):
            table.add_row(str(stage), reason, str(built.dropped[reason]))
    if built.unavailable:
        table.add_row("3", "tests cannot be run (fix it, call again)", str(len(built.unavailable)))
    table.add_row("", "kept", str(len(built.rows)))
    console.print(table)


def statistics_grids(
    title: str,
    figures: Sequence[BenchmarkFigure],
    repositories: Mapping[str, int],
    changes: Mapping[str, int],
) -> list[Grid]:
    """Table 1, Figure 2, and what golden tests do to tests."""
    rows = [
        row_of(one.group, one.name, *(count_cell(value, ",.1f") for value in (one.mean, one.max)),
               count_cell(one.instances))
        for one in figures
    ]  # fmt: skip
    return [
        Grid("swt-1", title, ("", "figure", "mean", "max", "instances"), tuple(rows)),
        _shares("repositories", "instances by repository", repositories),
        _shares("changes", "golden tests that", changes),
    ]


def _shares(name: str, title: str, counts: Mapping[str, int]) -> Grid:
    """How many instances are of each kind."""
    total = sum(counts.values())
    rows = [
        row_of(kind, count_cell(count), count_cell(100 * count / total, ".1f"))
        for kind, count in counts.items()
    ]
    return Grid(name, title, ("", "instances", "%"), tuple(rows))
