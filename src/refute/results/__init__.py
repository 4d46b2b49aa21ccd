"""Results as other programs read them: a struct for each document that refute prints or keeps.

In: nothing but types of this package. Out: the JSON of a document (`as_dict`) and its JSON Schema
(`schema`), both made of the struct. A document's `schema` says which it is of, `hunt/1`. The number
rises where a program that reads the document must be changed; a field that is only added does not
raise it. How a value is found out is the verb's business, how it looks to people is `text`'s.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

from msgspec import Meta, Struct, to_builtins
from msgspec.json import schema_components

from refute.errors import InputError

_REF = re.compile(r'"#/\$defs/(\w+)"')


def as_json(document: Struct, indent: int | None = None) -> str:
    """The document as JSON in ASCII, which also holds texts that are not UTF-8."""
    return json.dumps(to_builtins(document), indent=indent)


def as_dict(document: Struct) -> dict[str, Any]:
    """The document as JSON says it: objects, lists, numbers, texts."""
    found = json.loads(as_json(document))
    assert isinstance(found, dict)
    return found


def names() -> tuple[str, ...]:
    """All schemas, as documents name them."""
    return tuple(sorted(_documents()))


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) that a document names. Raises `InputError`."""
    if name not in names():
        raise InputError(f"{name}: unknown schema; there are {', '.join(names())}")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:refute:schema:{name}",
    }
    return head | described(*_documents()[name])


def described(*kinds: type[Struct]) -> dict[str, Any]:
    """The JSON Schema of a value of one of these types: of one type an object at its root."""
    how: dict[str, Any] = {"ref_template": "#/$defs/{name}"}
    refs, parts = schema_components(kinds, **how)
    beside = set(_REF.findall(json.dumps(parts))) - parts.keys()
    if beside:
        _, parts = schema_components([*kinds, *(_structs()[name] for name in beside)], **how)
    root = {"oneOf": [*refs]} if len(kinds) > 1 else parts.pop(kinds[0].__name__)
    return {**root, "$defs": parts} if parts else root


@cache
def _structs() -> dict[str, type[Struct]]:
    """All types of this package by their names."""
    rooms = (import_module(room.name) for room in iter_modules(__path__, f"{__name__}."))
    kinds = (kind for room in rooms for kind in vars(room).values() if isinstance(kind, type))
    return {kind.__name__: kind for kind in kinds if issubclass(kind, Struct)}


@cache
def _documents() -> dict[str, list[type[Struct]]]:
    """The types of each document: those whose tag is its `schema`."""
    found: dict[str, list[type[Struct]]] = {}
    for kind in _structs().values():
        config = kind.__struct_config__
        if config.tag_field == "schema":
            found.setdefault(str(config.tag), []).append(kind)
    return found


Count = Annotated[int, Meta(ge=0)]
Line = Annotated[int, Meta(ge=1)]
Confidence = Annotated[float, Meta(ge=0, le=1, description="Estimated probability.")]
Known = Annotated[
    Count,
    Meta(description="Functions with known problems alone (--baseline), which are left out."),
]


def rounded(confidence: float | None) -> float | None:
    """To four places."""
    return None if confidence is None else round(confidence, 4)
