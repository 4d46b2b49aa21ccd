"""By what names source calls a function, a method or a property: all that can be seen statically.

Whether it is this one that is called, and not another of that name, is seen when the source runs
(`refute.sandbox.replay.observe`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CalledAs:
    """The ways in which one function is called."""

    names: frozenset[str]
    """Bare names: `total(...)`; of `Cart.__init__` the class's."""
    attribute: str
    """`cart.total(...)`, `shop.total(...)`."""
    held: str
    """What its module holds: the function itself, or the class."""
    method: bool
    operator: bool
    """A special method but the constructor: operators, loops and built-in functions call it."""


def called_as(entry_point: str) -> CalledAs:
    """Return the ways in which a function of this qualified name is called."""
    owner, _, name = entry_point.rpartition(".")
    held = owner.partition(".")[0]
    if not owner:
        return CalledAs(frozenset({name}), name, name, method=False, operator=False)
    if name in ("__init__", "__new__"):
        cls = owner.rpartition(".")[2]
        return CalledAs(frozenset({cls}), cls, held, method=True, operator=False)
    special = name.startswith("__") and name.endswith("__")
    return CalledAs(frozenset(), name, held, method=True, operator=special)
