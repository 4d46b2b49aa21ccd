"""Modules of the project are loaded with guards; no others."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Iterator
from importlib.machinery import PathFinder, SourceFileLoader
from typing import Any, Callable

from refute.recording.guarding import Signature, guarded_code, swap_code

MakeGuard = Callable[[str, Signature], Any]
"""Of a module's name and a function's signature."""

_SKIPPED = frozenset(
    {"tests", "test", "testing", "conftest", "setup", "docs", "doc", "node_modules", "build"}
)
_FOLDERS = ("", "src", "lib")
"""Where projects keep their packages."""


def _is_test(name: str) -> bool:
    return name in {"tests", "test", "conftest"} or name.startswith("test_") or name[-5:] == "_test"


def packages_under(root: str) -> frozenset[str]:
    """Names of the packages and modules of a project's folder that are not tests."""
    found = set()
    for folder in _FOLDERS:
        home = os.path.join(root, folder)
        for entry in _listed(home):
            name, ending = os.path.splitext(entry)
            path = os.path.join(home, entry)
            if name in _SKIPPED or _is_test(name) or not name.isidentifier():
                continue
            if ending == ".py" or os.path.isfile(os.path.join(path, "__init__.py")):
                found.add(name)
    return frozenset(found)


def _listed(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


class Finder:
    """Stands before Python's own finders of files, and gives what they find a guarded loading.

    It asks the finders behind it, so editable installs and other hooks keep working. The loader
    stays what it is: its `get_code` is replaced on the object.
    """

    def __init__(self, packages: frozenset[str], make_guard: MakeGuard) -> None:
        self._packages = packages
        self._make_guard = make_guard

    def install(self) -> None:
        """Guard what is loaded from now on, and what is loaded already."""
        kinds = [finder is PathFinder for finder in sys.meta_path]
        place = kinds.index(True) if True in kinds else len(kinds)
        sys.meta_path.insert(place, self)
        for module in self._loaded():
            spec = getattr(module, "__spec__", None)
            loader = getattr(spec, "loader", None)
            try:
                if isinstance(loader, SourceFileLoader):
                    code = self._code(loader, module.__name__)
                    swap_code(module, code)
            except Exception:  # such as a source that is not there any more
                continue

    def remove(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """See `importlib.abc.MetaPathFinder`."""
        if not self._concerns(name):
            return None
        behind = sys.meta_path[sys.meta_path.index(self) + 1 :]
        for finder in behind:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                if type(spec.loader) is SourceFileLoader:
                    self._guard(spec.loader)
                return spec
        return None

    def _concerns(self, name: str) -> bool:
        first, *rest = name.split(".")
        ours = name.startswith("refute.recording")
        return first in self._packages and not ours and not any(map(_is_test, rest))

    def _loaded(self) -> Iterator[types.ModuleType]:
        for name, module in list(sys.modules.items()):
            if type(module) is types.ModuleType and self._concerns(name):
                yield module

    def _guard(self, loader: SourceFileLoader) -> None:
        plain = loader.get_code

        def get_code(name: str) -> types.CodeType | None:
            try:
                return self._code(loader, name)
            except Exception:  # the module is to be told of its faults by Python itself
                return plain(name)

        loader.get_code = get_code  # type: ignore[method-assign, assignment]

    def _code(self, loader: SourceFileLoader, name: str) -> types.CodeType:
        file = loader.get_filename(name)
        make_guard = functools.partial(self._make_guard, name)
        return guarded_code(loader.get_data(file), file, make_guard)
