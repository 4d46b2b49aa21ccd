"""What a loader gives: a problem and its answer key, and the options that it is given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from refute.core.problems import FunctionKey, FunctionProblem
from refute.source.missing_imports import with_imports

Evaluation = Literal["evalplus", "paper"]
"""Whose rules: EvalPlus's, or those of UTGen's released code. By the latter, imports that a program
lacks stand in front of it, outputs are compared as sets where the row's test code says " set("
anywhere, a call has 2 seconds, and an input need not meet EvalPlus's contract; an edit replaces the
whole program; the description of HE-Fix is the whole prompt, as there."""
Subset = Literal["all", "extractable"]
"""All rows, or only those whose results EvalPlus's file holds as literals: the 158 of HumanEval+
and 375 of MBPP+ that UTGen keeps."""


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
    editor_tests: int = 0
    """How many of them to show where code is edited, and nowhere else."""
    evaluation: Evaluation = "evalplus"
    subset: Subset = "all"


def with_code(item: Item, code: str) -> Item:
    """The same problem with another program under test: a sample of a model, say."""
    return replace(item, problem=replace(item.problem, code=code))


SECONDS = 2.0
"""For a call, in UTGen's released code (of the clock there, of the CPU here)."""


def evaluated(item: Item, evaluation: Evaluation) -> Item:
    """The item as it is under these rules, as far as they are the same for all datasets."""
    if evaluation == "evalplus":
        return item
    key = replace(item.key, contract=None, seconds=SECONDS)
    problem = replace(item.problem, code=with_imports(item.problem.code), whole=True)
    return Item(problem, key)
