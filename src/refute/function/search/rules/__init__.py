"""Repair rules: `RULES`, one for each kind of edit, with its prior and examples that are its tests.

A new rule is one call of `rule` in one of these files, with rows of `rewrites` or a generator.
"""

from __future__ import annotations

# The order in which the files are read is the order in which a site's variants are made.
from refute.function.search.rules import values  # noqa: F401  isort: skip
from refute.function.search.rules import operators  # noqa: F401  isort: skip
from refute.function.search.rules import calls  # noqa: F401  isort: skip
from refute.function.search.rules import wrapping  # noqa: F401  isort: skip
from refute.function.search.rules.borrowing import borrowed_statements
from refute.function.search.rules.insertions import early_returns
from refute.function.search.rules.rule import (
    ALTERNATIVES,
    RULES,
    Draft,
    Rule,
    Variant,
    few_variants,
    log_weight,
    variants,
)
from refute.function.search.rules.statements import statements, swapped_returns
from refute.function.search.rules.unbound import bindings
from refute.function.search.rules.unread import uses

__all__ = [
    "ALTERNATIVES", "RULES", "Draft", "Rule", "Variant", "bindings", "borrowed_statements",
    "early_returns", "few_variants", "log_weight", "statements", "swapped_returns", "uses",
    "variants",
]  # fmt: skip
