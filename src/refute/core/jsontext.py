"""JSON texts of others: parsed to a bounded depth, so that whatever walks the value comes back."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 100
"""Objects and lists within each other. Python's recursion ends near 1,000 calls, and what looks at
a value takes several for each level."""

_CONTAINERS = frozenset({dict, list})


def parse_json(text: str | bytes, *, deepest: int = DEEPEST) -> Any:
    """The value of a JSON text. Raises `ValueError`, its text says what is wrong."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(deepest + 1):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) in _CONTAINERS
        ]
        if not level:
            return value
    raise ValueError("nested too deeply")
