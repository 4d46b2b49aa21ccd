"""Import a module as Python imports it, but with the text that is under test.

Loaded by path inside the sandbox: standard library only. A finder at the front of `sys.meta_path`
serves the text under the module's full name to whoever asks for it first: usually the module's own
package, whose `__init__` imports it on the way, or the plain import of the name below.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import sys
from types import CodeType, ModuleType
from typing import Any


class TextLoader(importlib.machinery.SourceFileLoader):
    """Finder and loader of one module; everything but its code is as Python's own loader has it."""

    def __init__(self, name: str, filename: str, code: CodeType, source: str | None) -> None:
        super().__init__(name, filename)
        self.code = code
        self.source = source
        self.module: ModuleType | None = None
        """The module as it was executed, which may have put another in its place."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's own specification; None for every other name."""
        if name != self.name:
            return None
        package = self.is_package(name)
        spec = importlib.machinery.ModuleSpec(name, self, origin=self.path, is_package=package)
        spec.has_location = True
        if package and spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(os.path.dirname(self.path))
        return spec

    def get_code(self, fullname: str) -> CodeType:
        """The code under test."""
        return self.code

    def get_source(self, fullname: str) -> str | None:
        """The text under test, where there is one; else the file's."""
        return super().get_source(fullname) if self.source is None else self.source

    def exec_module(self, module: ModuleType) -> None:
        """Execute the code under test in the module."""
        self.module = module
        exec(self.code, module.__dict__)


def import_text(name: str, filename: str, code: CodeType, source: str | None) -> list[ModuleType]:
    """Import module `name` with `code` in the place of what its file holds.

    Returns what the import leaves under the name, and the module that was executed where that is
    another. The module's packages are imported first unless they are there; another module of the
    same name (one that the server needs for itself, or an earlier variant) is forgotten, but lives
    on for those who hold it.
    """
    loader = TextLoader(name, filename, code, source)
    _forget_strangers(name, filename)
    _forget(name)
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, TextLoader)]
    sys.meta_path.insert(0, loader)
    found = importlib.import_module(name)
    if loader.module is None or loader.module is found:
        return [found]
    return [found, loader.module]


def _forget_strangers(name: str, filename: str) -> None:
    """Forget a package of the same name that lies elsewhere: a project's `json`, not Python's."""
    folder = os.path.dirname(filename)
    if os.path.basename(filename) == "__init__.py":
        folder = os.path.dirname(folder)
    package = name.rpartition(".")[0]
    while package:
        known = sys.modules.get(package)
        if known is not None and folder not in list(getattr(known, "__path__", ())):
            _forget(package)
        package, folder = package.rpartition(".")[0], os.path.dirname(folder)


def _forget(name: str) -> None:
    """Take a module and what lies below it out of `sys.modules`."""
    for known in [known for known in sys.modules if known.startswith(f"{name}.")]:
        del sys.modules[known]
    sys.modules.pop(name, None)
