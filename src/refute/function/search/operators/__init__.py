"""Edit operators: `variants` of an expression and `statements` of a block, each with its kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.facts import Facts
from refute.function.search.operators.algebra import operators
from refute.function.search.operators.borrowing import (
    added_arguments,
    borrowed_calls,
    borrowed_conditions,
    borrowed_statements,
)
from refute.function.search.operators.build import Variant
from refute.function.search.operators.calls import arguments, callees
from refute.function.search.operators.extending import extensions
from refute.function.search.operators.hoisting import hoists
from refute.function.search.operators.idioms import (
    final_returns,
    idioms,
    normalised_arguments,
    patterns,
)
from refute.function.search.operators.insertions import Draft, early_returns
from refute.function.search.operators.statements import statements, swapped_returns
from refute.function.search.operators.values import constants, names, replacements
from refute.function.search.operators.wrapping import slices, wraps
from refute.function.search.sites import Site

__all__ = [
    "Draft", "Variant", "borrowed_statements", "early_returns", "final_returns",
    "normalised_arguments", "statements", "swapped_returns", "variants",
]  # fmt: skip

_FAMILIES = (
    constants, names, operators, hoists, callees, arguments, extensions, wraps, slices,
    replacements, idioms, patterns, borrowed_calls, added_arguments, borrowed_conditions,
)  # fmt: skip


def variants(site: Site, facts: Facts) -> Iterator[Variant]:
    """Every operator's variants of the expression at a site."""
    stored = isinstance(getattr(site.node, "ctx", None), ast.Store | ast.Del)
    for family in _FAMILIES:
        if stored and family not in (names, operators):
            continue
        yield from family(site, facts)
