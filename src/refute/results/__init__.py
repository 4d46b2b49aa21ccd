"""Results as other programs read them: a struct for each document that refute prints or keeps.

In: nothing but types of this package. Out: the JSON of a document (`as_dict`) and its JSON Schema
(`schema`), both made of the struct. A document's `schema` says which it is of, `hunt/1`. The number
rises where a program that reads the document must be changed; a field that is only added does not
raise it. How a value is found out is the verb's business, how it looks to people is `report`'s.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import msgspec

from refute.errors import InputError

__all__ = ["as_dict", "described", "names", "schema"]


def as_dict(document: msgspec.Struct) -> dict[str, Any]:
    """The document as JSON says it: objects, lists, numbers, texts."""
    found = json.loads(json.dumps(msgspec.to_builtins(document)))
    assert isinstance(found, dict)
    return found


def names() -> tuple[str, ...]:
    """All schemas, as documents name them."""
    return tuple(sorted(_documents()))


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) that a document names. Raises `InputError`."""
    if name not in names():
        raise InputError(f"{name}: no such schema; there are {', '.join(names())}")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:refute:schema:{name}",
    }
    return head | described(*_documents()[name])


def described(*kinds: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a value of one of these types: of one type an object at its root."""
    how: dict[str, Any] = {"ref_template": "#/$defs/{name}"}
    refs, parts = msgspec.json.schema_components(kinds, **how)
    root = {"oneOf": [*refs]} if len(kinds) > 1 else parts.pop(kinds[0].__name__)
    return {**root, "$defs": parts} if parts else root


@cache
def _documents() -> dict[str, list[type[msgspec.Struct]]]:
    """The types of each document: those whose tag is its `schema`."""
    found: dict[str, list[type[msgspec.Struct]]] = {}
    for module in iter_modules(__path__, f"{__name__}."):
        for kind in vars(import_module(module.name)).values():
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                config = kind.__struct_config__
                if config.tag_field == "schema" and kind.__module__ == module.name:
                    found.setdefault(str(config.tag), []).append(kind)
    return found
