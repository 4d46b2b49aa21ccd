"""How a project's own tests and documents use its callables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from refute.core.problems import Scenario
from refute.diffing.modules import Module
from refute.diffing.revisions import Tree
from refute.function.scenarios.carving import (
    TestIndex,
    called_on_instances,
    carve,
    classes_around,
    instances_of,
)
from refute.function.scenarios.described import Described
from refute.function.scenarios.pieces import Piece
from refute.function.scenarios.sessions import TestFile

__all__ = ["Usage", "Used"]

FEW = 4
"""Calls of a method in tests, below which instances that tests make otherwise are called too."""

Used = tuple[list[Scenario], dict[str, tuple[Piece, ...]]]
"""Scenarios of a callable, and expressions for instances of the classes that it wants."""


@dataclass(slots=True)
class Usage:
    """Reads what it is asked for, and keeps it; nothing is executed."""

    tree: Tree
    _tests: dict[str, TestIndex] = field(default_factory=dict)
    _read: dict[str, TestFile] = field(default_factory=dict)

    def of(self, module: Module, name: str, described: Described) -> Used:
        """How ``module:name`` is used in the tree's tests and documents."""
        classes = classes_around(module.name, name, described)
        names = [name, *(place.partition(":")[2] for place in classes)]
        top = module.name.partition(".")[0]
        if top not in self._tests:
            self._tests[top] = TestIndex(self.tree.root, top)
        files = self._tests[top].find(module.name, names)
        target = f"{module.name}:{name}"
        wanted = [target, *classes]
        found = carve(files, wanted, module=module.name, text=module.text, known=self._read)
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
        return carve(files, [target], module=module.name, text=module.text)[target]
