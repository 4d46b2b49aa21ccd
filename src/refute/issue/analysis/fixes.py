"""Which instances a set of fixes resolves, as evaluations of SWE-bench report it."""

from __future__ import annotations

from pathlib import Path

from refute.errors import InputError
from refute.files import read_file
from refute.jsontext import parse_json

__all__ = ["read_resolved"]

_NAMES = ("resolved", "resolved_ids")


def read_resolved(path: Path) -> frozenset[str]:
    """Ids of resolved instances in a file of results: `{"resolved": [id, ...]}`.

    `resolved_ids`, as newer harnesses write it, and a plain list of ids are taken as well. Raises
    `InputError`.
    """
    try:
        document = parse_json(read_file(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON: {error}") from None
    ids = document
    if isinstance(document, dict):
        ids = next((document[name] for name in _NAMES if name in document), None)
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise InputError(f'{path}: expected {{"resolved": [instance id, ...]}}')
    return frozenset(ids)
