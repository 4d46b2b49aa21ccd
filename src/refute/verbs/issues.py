"""What the verbs about issues share: the checkout, who works on it, and what that may cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from refute.core.methods import Bounds
from refute.core.parameters import checked, parameter, parameters_of
from refute.models.asking import Asked

Chosen = TypeVar("Chosen", bound="IssueOptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueOptions(Asked):
    """A checkout, how its tests run, and who works on it; `set`: the fields of `Bounds`, too."""

    repo: Path = parameter(
        Path(), "The checkout (here).", flag="-C", metavar="REPO", for_agents=True
    )
    python: Path | None = parameter(
        None, "Interpreter of its tests (active, or .venv's).", for_agents=True
    )
    runner: Literal["pytest", "unittest", "django", "sympy"] | None = parameter(
        None, "pytest, unittest, django, sympy (read from it).", metavar="NAME", in_files=True
    )


def with_bounds(options: Chosen) -> tuple[Chosen, Bounds]:
    """The options, with what `set` says of the method alone, and the bounds that it says.

    Raises `InputError`.
    """
    names = {one.name for one in parameters_of(Bounds)}
    bounds = {name: value for name, value in options.set.items() if name in names}
    checked(Bounds, bounds)
    of_method = {name: value for name, value in options.set.items() if name not in names}
    return replace(options, set=of_method), Bounds(**bounds)
