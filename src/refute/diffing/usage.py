"""How a project's own tests and documents use its callables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    _packages: dict[tuple[Path, str], Package] = field(default_factory=dict)
    _tests: dict[str, TestIndex] = field(default_factory=dict)
    _read: dict[int, dict[str, TestFile]] = field(default_factory=dict)
    """Files as they were read with a package's names."""

    def of(self, module: Module, name: str, described: Described) -> Used:
        """How ``module:name`` is used in the tree's tests and documents."""
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
        scenarios = list(found[target])
        if len(scenarios) < FEW:
            made = {place: found[place] for place in classes}
            scenarios += called_on_instances(target, described, made)
        return scenarios, instances_of(classes, found)

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
