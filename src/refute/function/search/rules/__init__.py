"""Repair rules: `RULES`, one for each kind of edit, with its prior and examples that are its tests.

A new rule is one call of `rule` in one of these files, with rows of `rewrites` or a generator. A
kind stays where a person makes that slip and sees it at once, or where it is a right first fix on
code it was not written for: without the 64 kinds that were neither, 54 instead of 53 first fixes of
79 on he-fix, 30 instead of 31 of 85 on mbpp-fix-hard, 24 instead of 23 of 39 planted in packages.
"""

from __future__ import annotations

# The order in which the files are read is the order in which a site's variants are made.
from refute.function.search.rules import operators  # noqa: F401  isort: skip
from refute.function.search.rules import calls  # noqa: F401  isort: skip
from refute.function.search.rules.borrowing import borrowed_statements
from refute.function.search.rules.rule import (
    ALTERNATIVES,
    RULES,
    Draft,
    Rule,
    Variant,
    few_variants,
    log_weight,
    of_a_family,
    variants,
)
from refute.function.search.rules.statements import statements, swapped_returns

__all__ = [
    "ALTERNATIVES", "RULES", "Draft", "Rule", "Variant", "bindings", "borrowed_statements",
    "few_variants", "log_weight", "of_a_family", "statements", "swapped_returns", "uses",
    "variants",
]  # fmt: skip
