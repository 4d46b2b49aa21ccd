"""How the environment of a repository is built and its tests are started.

A recipe names no test: a method may see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Runner = Literal["pytest", "unittest", "django", "sympy"]
"""How tests are started: `pytest`, `python -m unittest`, Django's `tests/runtests.py`, sympy's
`bin/test`."""

WORK_TREE = "<work tree>"
"""Stands for the path of the work tree in the values of `Recipe.env`."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """An environment and a way to run tests."""

    runner: Runner = "pytest"
    options: tuple[str, ...] = ()
    """More arguments of the runner, e.g. `("-p", "no:randomly")`."""
    python: str = ""
    """Version of the interpreter, such as "3.9". Empty where `interpreter` or `image` is given."""
    pins: tuple[tuple[str, ...], ...] = ()
    """Groups of requirements, installed in this order."""
    editable: bool = True
    """Install the repository itself in editable mode, without dependencies or build isolation."""
    before: str | None = None
    """ISO date: packages released later are not installed (`--exclude-newer`)."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of build and tests; `WORK_TREE` stands for the checkout."""
    interpreter: str | None = None
    """Path of an interpreter that has everything already (a user's own); nothing is built."""
    image: str | None = None
    """Container image that holds repository and environment (container backends)."""
