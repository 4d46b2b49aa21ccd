"""`[tool.refute]`: where it is, and what stands in it, before anybody asks what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core.files import parse_toml, read_file
from refute.errors import InputError

FILE = "pyproject.toml"
_LARGEST = 4 << 20


@dataclass(frozen=True, slots=True)
class Table:
    """What a file sets."""

    file: Path
    values: Mapping[str, Any]

    @property
    def tables(self) -> frozenset[str]:
        """The keys that are tables."""
        return frozenset(key for key, value in self.values.items() if isinstance(value, dict))

    def of(self, verb: str) -> Mapping[str, Any]:
        """What is set for one verb alone. Raises `InputError` where that is no table."""
        found = self.values.get(verb, {})
        if not isinstance(found, dict):
            raise InputError(f"{self.file}: tool.refute.{verb}: must be a table of settings")
        return found


def find_table(start: Path) -> Table | None:
    """The nearest pyproject.toml with a `[tool.refute]`, from a folder upwards to the root of its
    repository (or of the disk). Raises `InputError` for a file that is no TOML."""
    start = start.resolve()
    for folder in (start, *start.parents):
        file = folder / FILE
        if file.is_file() and (found := _read(file)) is not None:
            return found
        if (folder / ".git").exists():
            return None
    return None


def _read(file: Path) -> Table | None:
    try:
        whole = parse_toml(read_file(file, limit=_LARGEST))
    except OSError as error:
        raise InputError(f"{file}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{file}: not TOML: {error}") from None
    tool = whole.get("tool")
    found = tool.get("refute") if isinstance(tool, dict) else None
    if found is None:
        return None
    if not isinstance(found, dict):
        raise InputError(f"{file}: tool.refute: must be a table of settings")
    return Table(file, found)
