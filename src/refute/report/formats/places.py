"""How a report names files, and on which line a function begins."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from refute.syntax import functions_in, parse_module

__all__ = ["file_name", "line_of"]


def file_name(path: Path) -> str:
    """A file as reports name it: from the root of its repository, else from the working directory,
    else in full. Always with `/`."""
    path = path.resolve()
    for root in (_root(path.parent), Path.cwd()):
        if root is not None and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()


@lru_cache(maxsize=1024)
def _root(folder: Path) -> Path | None:
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


@lru_cache(maxsize=16)
def _lines(source: str) -> dict[str, int]:
    return {name: node.lineno for name, node in functions_in(parse_module(source)).items()}


def line_of(source: str, function: str) -> int:
    """The line (1-based) of a function's `def` in its module's source; 1 where it has none."""
    return _lines(source).get(function, 1)
