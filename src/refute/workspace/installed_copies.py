"""Copies of a repository's own packages elsewhere on this machine, which workspaces do not show.

Blindness: a later release of the project holds the fix, and often its tests. Distributions and
development kits bundle such copies, and so does every environment: pip alone brings `requests`.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from refute.core.storage import cache_folder, write_atomically
from refute.workspace.cache import key_of

MACHINE = ("/usr/lib", "/usr/local", "/usr/share")
"""Where a machine keeps packages that do not belong to an environment."""

_LISTED_FOR = 24 * 3600.0
"""Seconds for which a listing of packages is believed."""
_BUNDLES = ("_vendor", "vendor", "vendored", "third_party", "extern", "externals", "packages")
"""Folders in which a package keeps copies of others."""
_NO_CODE = ("tests", "test", "testing", "doc", "docs")


def own_packages(tree: Path) -> list[Path]:
    """The top-level packages of a repository that its tests import; its tests are none."""
    roots = [tree, tree / "src", tree / "lib"]
    found = {path.parent for root in roots if root.is_dir() for path in root.glob("*/__init__.py")}
    return sorted(path for path in found if path.name not in _NO_CODE)


def installed_copies(tree: Path, roots: Iterable[str]) -> tuple[str, ...]:
    """Folders below `roots` that hold a package with the name of one of the tree's own.

    The standard library counts for none, nor does a package inside of another one, unless that
    keeps bundled copies there. Archives (wheels, zip files) are not looked into.
    """
    names = {path.name for path in own_packages(tree)}
    inside = f"{tree}/"
    found = {
        path
        for root in roots
        if names and os.path.isdir(root)
        for name, path in _listed(os.path.realpath(root), str(cache_folder()))
        if name in names and not f"{path}/".startswith(inside)
    }
    return tuple(sorted(found))


@lru_cache(maxsize=64)
def _listed(root: str, cache: str) -> tuple[tuple[str, str], ...]:
    """Name and folder of every package below `root`, listed at most once a day."""
    kept = Path(cache) / "packages" / f"{key_of(1, root)}.json"
    try:
        if time.time() - kept.stat().st_mtime < _LISTED_FOR:
            return tuple((name, path) for name, path in json.loads(kept.read_text()))
    except (OSError, ValueError):
        pass
    found = tuple(sorted(set(_packages(root))))
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept, json.dumps(found), durable=False)
    return found


def _packages(root: str) -> Iterator[tuple[str, str]]:
    for folder, folders, files in os.walk(root):
        inside = "__init__.py" in files and os.path.basename(folder) not in _BUNDLES
        if not inside and "os.py" not in files:  # else: the standard library
            for name in folders:
                if os.path.isfile(os.path.join(folder, name, "__init__.py")):
                    yield name, _whole(folder, name)


def _whole(folder: str, name: str) -> str:
    """The package's folder, or that of the source release which it lies in, with its tests."""
    around = os.path.dirname(folder) if os.path.basename(folder) == "src" else folder
    return around if os.path.basename(around) == name else os.path.join(folder, name)
