"""Examples that a docstring or a description states as doctests, understood by replaying them."""

from __future__ import annotations

from dataclasses import replace

from refute.core.problems import FunctionProblem
from refute.function.examples.replayed import first_looks, replayed, witnesses
from refute.sandbox import Sandbox

__all__ = ["first_looks", "replayed", "understood", "witnesses"]


def understood(
    problem: FunctionProblem, *, box: Sandbox, described: bool = False
) -> tuple[FunctionProblem, tuple[str, ...]]:
    """Return the problem with the doctests of its code's docstrings replayed, or those of its
    description (`described`), and remarks for people. Raises `SandboxUnavailable`."""
    found = replayed(problem, box=box, described=described)
    return replace(problem, examples=found.tests, unending=found.unending), found.notes
