"""JSON Schemas (2020-12) of the documents that refute prints and keeps.

A document's `schema` says which it is of, `hunt/1`: the file here is `hunt-1.json`. The number
rises where a program that reads the document must be changed; what is only added does not raise it.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from refute import results
from refute.errors import InputError

__all__ = ["names", "schema"]


def names() -> tuple[str, ...]:
    """All schemas, as documents name them."""
    here = (file.name for file in files(__name__).iterdir() if file.name.endswith(".json"))
    stored = (name.removesuffix(".json").replace("-", "/") for name in here)
    return tuple(sorted({*stored, *results.names()}))


def schema(name: str) -> dict[str, Any]:
    """The schema that a document names. Raises `InputError`."""
    if name in results.names():
        return results.schema(name)
    if name not in names():
        raise InputError(f"{name}: no such schema; there are {', '.join(names())}")
    found = json.loads((files(__name__) / f"{name.replace('/', '-')}.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found
