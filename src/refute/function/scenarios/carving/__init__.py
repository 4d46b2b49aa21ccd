"""Scenarios carved from what a project has: its tests, doctests and examples, never executed."""

from refute.function.scenarios.carving.carve import Carving, carve
from refute.function.scenarios.carving.finding import TestIndex, find_tests
from refute.function.scenarios.carving.instances import (
    called_on_instances,
    classes_around,
    instances_of,
)
from refute.function.scenarios.carving.places import Package, read_package
from refute.function.scenarios.carving.testfiles import TestFile

__all__ = [
    "Carving",
    "Package",
    "TestFile",
    "TestIndex",
    "called_on_instances",
    "carve",
    "classes_around",
    "find_tests",
    "instances_of",
    "read_package",
]
