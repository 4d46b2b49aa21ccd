"""How a project's own tests, documents and recorded calls use its callables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from refute.core.problems import Scenario
from refute.diffing.modules import Module
from refute.diffing.revisions import Tree
from refute.function.project import surroundings
from refute.function.scenarios.carving import (
    Package,
    TestFile,
    TestIndex,
    called_on_instances,
    carve,
    classes_around,
    from_recorded,
    instances_of,
    read_package,
)
from refute.function.scenarios.described import Described
from refute.function.scenarios.pieces import Piece

__all__ = ["Usage", "Used"]

FEW = 4
"""Calls of a method in tests, below which instances that tests make otherwise are called too."""

Used = tuple[list[Scenario], dict[str, tuple[Piece, ...]]]
"""Scenarios of a callable, and expressions for instances of the classes that it wants."""


@dataclass(slots=True)
class Usage:
    """Reads what it is asked for, and keeps it; nothing is executed."""

    tree: Tree
    recorded: Iterable[Any] = ()
    """Rows of `refute.recording.reading.read_recorded`."""
    _packages: dict[tuple[Path, str], Package] = field(default_factory=dict)
    _tests: dict[str, TestIndex] = field(default_factory=dict)
    _read: dict[int, dict[str, TestFile]] = field(default_factory=dict)
    """Files as they were read with a package's names."""
    _rows: dict[str, list[Any]] | None = None

    def of(self, module: Module, name: str, described: Described) -> Used:
        """How ``module:name`` is used in the tree's tests and documents, and in what was recorded;
        the two in turns, so that neither crowds the other out."""
        classes = classes_around(module.name, name, described)
        names = [name, *(place.partition(":")[2] for place in classes)]
        top = module.name.partition(".")[0]
        if top not in self._tests:
            self._tests[top] = TestIndex(self.tree.root, top)
        files = self._tests[top].find(module.name, names)
        target = f"{module.name}:{name}"
        package = self._package(module)
        read = self._read.setdefault(id(package), {})
        how: dict[str, Any] = {"names": package, "seen_from": module.name, "known": read}
        found = carve(files, [target, *classes], **how).scenarios
        pairs = zip_longest(found[target], from_recorded(self._recorded_of(target), target))
        scenarios = [one for pair in pairs for one in pair if one is not None]
        if len(scenarios) < FEW:
            scenarios += called_on_instances(target, described, self._made(classes, found))
        return scenarios, instances_of(classes, found)

    def _made(
        self, classes: Sequence[str], carved: dict[str, list[Scenario]]
    ) -> dict[str, list[Scenario]]:
        """How tests make instances of the classes, by their source and as recorded."""
        return {
            place: [
                *from_recorded(self._recorded_of(f"{place}.__init__"), f"{place}.__init__")[:3],
                *carved[place],
            ]
            for place in classes
        }

    def written(
        self, module: Module, name: str, files: Sequence[tuple[str, str]]
    ) -> list[Scenario]:
        """Calls of ``module:name`` in test files that are no part of the project: (name, text)."""
        target = f"{module.name}:{name}"
        package = self._package(module)
        return carve(files, [target], names=package, seen_from=module.name).scenarios[target]

    def _package(self, module: Module) -> Package:
        top = module.name.partition(".")[0]
        root = surroundings(self.tree.root / module.path).import_path
        key = (root[0] if root else self.tree.root, top)
        if key not in self._packages:
            self._packages[key] = read_package(*key, first=(module.name,))
        return self._packages[key]

    def _recorded_of(self, target: str) -> list[Any]:
        if self._rows is None:
            self._rows = defaultdict(list)
            for row in self.recorded:
                self._rows[row.target].append(row)
        return self._rows.get(target, [])
