"""A project's name for those who ask `importlib.metadata` for it, where it is not installed.

Many packages read their own version so while they are imported. A checkout that nobody installed
has no such metadata; a folder with the least of it, behind everything else on the path, stands in.
"""

from __future__ import annotations

import ast
import configparser
from collections.abc import Iterator
from pathlib import Path

from refute.files import parse_toml
from refute.syntax import readable_module

__all__ = ["write_metadata"]

VERSION = "0+unknown"
_MOST = 1 << 20  # bytes of a file with settings


def write_metadata(root: Path, folder: Path) -> None:
    """Write metadata for the names that the project at `root` gives itself into `folder`."""
    for name in dict.fromkeys(_names(root)):
        safe = "".join(c if c.isalnum() or c in "._" else "_" for c in name)[:100]
        if not safe.strip("._"):
            continue
        place = folder / f"{safe}-{VERSION}.dist-info"
        place.mkdir(parents=True, exist_ok=True)
        text = f"Metadata-Version: 2.1\nName: {' '.join(name.split())}\nVersion: {VERSION}\n"
        (place / "METADATA").write_text(text, "utf-8")


def _names(root: Path) -> Iterator[str]:
    try:
        settings = parse_toml(_text(root / "pyproject.toml"))
        tools = settings.get("tool", {})
        for table in (settings.get("project", {}), tools.get("poetry", {}), tools.get("flit", {})):
            if isinstance(table.get("name"), str):
                yield table["name"]
    except (OSError, ValueError, AttributeError, TypeError):
        pass
    try:
        parser = configparser.ConfigParser(interpolation=None)
        parser.read_string(_text(root / "setup.cfg"))
        yield parser["metadata"]["name"]
    except (OSError, ValueError, KeyError, configparser.Error):
        pass
    try:
        for node in ast.walk(readable_module(_text(root / "setup.py"))):
            match node:
                case ast.keyword(arg="name", value=ast.Constant(value=str(name))):
                    yield name
    except (OSError, ValueError):
        pass


def _text(path: Path) -> str:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST:
        raise OSError
    return path.read_text("utf-8")
