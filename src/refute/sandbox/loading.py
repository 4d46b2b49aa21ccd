"""Import a module as Python imports it, but with the text that is under test, or its variants.

Loaded by path inside the sandbox: standard library only. A finder at the front of `sys.meta_path`
serves the text under the module's full name to whoever asks for it first: usually the module's own
package, whose `__init__` imports it on the way, or the plain import of the name below. A variant is
the loaded module with other code objects in some of its function objects, so that tables,
re-exports and decorators that hold a function see the change, and nothing is executed again.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

_IS_FUNCTION = 0x1  # CO_OPTIMIZED: neither a module's nor a class's body
_CACHED = type(functools.lru_cache(bool))


class TextLoader(importlib.machinery.SourceFileLoader):
    """Finder and loader of one module; everything but its code is as Python's own loader has it."""

    def __init__(
        self, name: str, filename: str, code: Sequence[CodeType], source: str | None
    ) -> None:
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

    def get_source(self, fullname: str) -> str | None:
        """The text under test, where there is one; else the file's."""
        return super().get_source(fullname) if self.source is None else self.source

    def exec_module(self, module: ModuleType) -> None:
        """Execute the code under test in the module."""
        self.module = module
        for part in self.code:
            exec(part, module.__dict__)


class LateFinder:
    """Runs the code of path files once an import finds nothing without it, in a child: it belongs
    to the program, where that code may do no harm, and most programs never need it."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.server = os.getpid()

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Ask the other finders; the first time, those that the code installs too."""
        if os.getpid() == self.server:
            return None
        lines, self.lines = self.lines, []
        for line in lines:
            try:
                exec(line, {})
            except Exception:  # as `site` does, but without a word
                continue
        for finder in [*sys.meta_path] if lines else []:
            found = None if finder is self else finder.find_spec(name, path, target)
            if found is not None:
                return found
        return None


def find_late(lines: list[str]) -> None:
    """Have the code of path files run when a child of this process needs it."""
    if lines:
        sys.meta_path.append(LateFinder(list(lines)))


def import_text(
    name: str, filename: str, code: Sequence[CodeType], source: str | None
) -> list[ModuleType]:
    """Import module `name` with `code`, one part after the other, in the place of its file's.

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
    try:
        found = importlib.import_module(name)
    except BaseException:
        _forget_orphans(name)
        raise
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


def _forget_orphans(name: str) -> None:
    """Forget what lies below a package of the module that could not be imported with it.

    Else the next import makes a new package, without the attributes for what is there already.
    """
    package = name.rpartition(".")[0]
    while package:
        if package not in sys.modules:
            _forget(package)
        package = package.rpartition(".")[0]


def _forget(name: str) -> None:
    """Take a module and what lies below it out of `sys.modules`."""
    for known in [known for known in sys.modules if known.startswith(f"{name}.")]:
        del sys.modules[known]
    sys.modules.pop(name, None)


class SwappableProgram:
    """A loaded program whose functions can be given other bodies, and their own again."""

    def __init__(self, found: list[ModuleType], code: Sequence[CodeType]) -> None:
        self.found = found
        self._own = {(c.co_qualname, c.co_firstlineno): c for part in code for c in outermost(part)}
        self._functions: dict[tuple[str, int], list[FunctionType]] = {}
        self._changed: list[tuple[FunctionType, CodeType]] = []
        self._clear = list(_caches(found[-1].__dict__))

    def become(self, bodies: Sequence[CodeType], setup: CodeType) -> None:
        """Make it the variant with these bodies, whatever it was before."""
        for function, own in self._changed:
            function.__code__ = own
        self._changed.clear()
        for body in bodies:
            for function in self._holding((body.co_qualname, body.co_firstlineno)):
                self._changed.append((function, function.__code__))
                function.__code__ = body
        for clear in self._clear:
            clear()
        exec(setup, self.found[-1].__dict__)

    def _holding(self, key: tuple[str, int]) -> list[FunctionType]:
        """The function objects with this code: none where its `def` was never reached."""
        if key not in self._functions:
            code = self._own[key]
            referrers = gc.get_referrers(code)
            self._functions[key] = [
                f for f in referrers if type(f) is FunctionType and f.__code__ is code
            ]
        return self._functions[key]


def outermost(code: CodeType) -> Iterator[CodeType]:
    """The code objects of the functions that are not inside others, in a module's or class's."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & _IS_FUNCTION:
                yield constant
            else:
                yield from outermost(constant)


def _caches(namespace: dict[str, Any]) -> Iterator[Callable[[], None]]:
    """Yield functions that empty the caches of a module's functions and methods."""
    for value in list(namespace.values()):
        if type(value) is _CACHED:
            yield value.cache_clear
        elif isinstance(value, type) and value.__module__ == namespace.get("__name__"):
            yield from (v.cache_clear for v in vars(value).values() if type(v) is _CACHED)
