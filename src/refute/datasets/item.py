"""What a loader gives: a problem and its answer key, and the options that it is given."""

from __future__ import annotations

from dataclasses import dataclass, replace

from refute.problems import FunctionKey, FunctionProblem

__all__ = ["Item", "LoaderOptions", "with_code"]


@dataclass(frozen=True, slots=True)
class Item:
    """A row of a benchmark. Hand a method the `problem` only; the `key` is for graders."""

    problem: FunctionProblem
    key: FunctionKey


@dataclass(frozen=True, slots=True)
class LoaderOptions:
    """What a caller may ask of a loader."""

    visible_tests: int = 0
    """How many of the visible asserts (MBPP) to show, in the description and as `problem.tests`."""


def with_code(item: Item, code: str) -> Item:
    """The same problem with another program under test: a sample of a model, say."""
    return replace(item, problem=replace(item.problem, code=code))
