"""How likely each kind of edit is to be the inverse of a human bug.

The weights are relative frequencies per bug, set by hand from general knowledge of bug-fix corpora
(Karampatsis and Sutton, "How Often Do Single-Statement Bugs Occur? The ManySStuBs4J Dataset", MSR
2020: wrong operators, numbers, names, callees and arguments lead) and checked on both folds of the
development data; no row has a weight of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = [
    "ALTERNATIVES",
    "FEW",
    "PAIR_PENALTY",
    "REACH_BONUS",
    "WEIGHTS",
    "few_variants",
    "log_weight",
]

WEIGHTS: dict[str, float] = {
    # operators
    "compare": 0.8,
    "arithmetic": 0.5,
    "boolean": 0.9,
    "augmented": 0.5,
    "swap operands": 0.35,
    "negate": 0.2,
    "negate return": 0.5,
    "drop not": 0.6,
    "drop minus": 0.4,
    "parentheses": 0.3,
    "compare set": 0.05,
    # constants
    "constant step": 0.7,
    "constant told": 0.5,
    "constant drawn": 0.2,
    "constant far": 0.1,
    "constant type": 0.1,
    "constant type all": 0.1,
    "initial infinite": 0.15,
    "initial first": 0.15,
    "flip bool": 0.7,
    "to none": 0.1,
    "none to value": 0.2,
    "string space": 0.6,
    "string pair": 0.4,
    "string told near": 0.6,
    "string told": 0.3,
    "string drawn": 0.2,
    "string case": 0.15,
    "string drop char": 0.2,
    "string edit": 0.1,
    "string common": 0.08,
    "string to name": 1.0,
    "all equal": 0.8,
    # names
    "variable": 0.8,
    "variable to length": 0.1,
    "assign other": 0.3,
    "function other": 0.3,
    "variable to constant": 0.04,
    "constant to variable": 0.15,
    "constant to length": 0.1,
    "expression to variable": 0.1,
    "expression to constant": 0.03,
    "condition to constant": 0.04,
    # shape
    "drop operand": 0.4,
    "drop condition": 0.5,
    "drop call": 0.3,
    "drop method": 0.3,
    "drop argument": 0.2,
    "hoist argument": 0.1,
    "drop subscript": 0.2,
    "hoist index": 0.05,
    "subscript to call": 0.1,
    "drop branch": 0.1,
    "drop comprehension": 0.1,
    "drop element": 0.3,
    "swap elements": 0.4,
    "swap branches": 0.5,
    "plus one": 0.3,
    "minus one": 0.3,
    "minus": 0.15,
    "extend constant": 0.05,
    "extend told": 0.08,
    "extend name": 0.1,
    "and atom": 0.15,
    "or atom": 0.15,
    "and near atom": 0.1,
    "or near atom": 0.15,
    "and name": 0.05,
    "or name": 0.04,
    "and pair": 0.05,
    "and sign": 0.05,
    "wrap": 0.25,
    "wrap method": 0.15,
    "wrap own": 0.1,
    "wrap both": 0.1,
    "apply twice": 0.1,
    "slice": 0.15,
    "slice name": 0.1,
    "slice bound": 0.25,
    "subscript name": 0.06,
    "subscript constant": 0.08,
    # calls
    "function": 0.4,
    "method": 0.5,
    "swap arguments": 0.35,
    "call argument": 0.15,
    "reverse": 0.3,
    "sort key": 0.12,
    "default": 0.03,
    "start": 0.1,
    "separator": 0.1,
    "base": 0.05,
    "digits": 0.05,
    "range start": 0.25,
    "range step": 0.15,
    "range shift": 0.15,
    # statements
    "delete": 0.3,
    "delete two": 0.1,
    "reorder": 0.12,
    "dedent": 0.3,
    "indent": 0.15,
    "into loop": 0.15,
    "out of loop": 0.1,
    "unguard": 0.15,
    "drop else": 0.05,
    "elif to if": 0.12,
    "if to while": 0.15,
    "while to if": 0.05,
    "break": 0.2,
    "break to return": 0.05,
    "augmented to plain": 0.15,
    "plain to augmented": 0.15,
    "prepend": 0.1,
    "keep best": 0.08,
    "return other": 0.12,
    "swap returns": 0.5,
    "missing return": 0.3,
    "keep result": 0.1,
    "guard": 0.12,
    "insert update": 0.1,
    "insert break": 0.06,
    "early return": 0.15,
    "clamp": 0.06,
    "count all": 0.06,
    "strip to replace": 0.2,
    "drop check": 0.8,
    # taken from the code around
    "wrap borrowed": 0.25,
    "add argument": 0.25,
    "borrow condition": 0.1,
    "borrow statement": 0.2,
    # idioms
    "copy first": 0.8,
    "signed digits": 0.3,
    "exact division": 0.4,
    "exact numbers": 0.4,
    "sum digits": 0.2,
    "shortest": 0.3,
    "pattern": 0.4,
    "normalise": 0.4,
    "final return": 0.3,
}

_ORDERED = frozenset({"compare", "arithmetic", "augmented", "function", "method", "drop operand"})
"""Kinds whose operators already say which of the variants is likeliest."""

FEW = frozenset(
    {
        *("compare", "arithmetic", "boolean", "augmented", "swap operands", "negate"),
        *("negate return", "drop not", "drop minus", "parentheses", "constant step", "flip bool"),
        *("plus one", "minus one", "minus", "swap elements", "swap branches", "swap arguments"),
        *("swap returns", "reorder", "dedent", "indent", "into loop", "out of loop", "unguard"),
        *("elif to if", "if to while", "while to if", "augmented to plain", "plain to augmented"),
    }
)
"""Kinds that exchange, turn round or move what is there: the few variants at a place are the same
whatever the code around holds."""

ALTERNATIVES = 0.5
"""A kind with n variants at one site gives each n ** -ALTERNATIVES of its weight."""

PAIR_PENALTY = -2.5
"""Log weight of a second edit's existence."""

REACH_BONUS = 1.0
"""Log weight of a statement that failing tests reach and no passing test does."""


def log_weight(kind: str, alternatives: int) -> float:
    """Log prior of one of `alternatives` variants of `kind` at a site."""
    if kind in _ORDERED:
        return math.log(WEIGHTS[kind])
    return math.log(WEIGHTS[kind]) - ALTERNATIVES * math.log(max(1, alternatives))


def few_variants(kinds: Iterable[str]) -> bool:
    """Whether all of the kinds have few variants at a place (`FEW`)."""
    return all(kind in FEW for kind in kinds)
