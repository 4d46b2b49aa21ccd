"""The Python code of one revision, read file by file when it is asked for; nothing is imported."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from refute.diffing.definitions import Definitions, definitions
from refute.diffing.revisions import Tree
from refute.diffing.trees import is_source
from refute.errors import reason_to_skip
from refute.function.project import surroundings
from refute.function.source import LARGEST_SOURCE, decoded
from refute.source.syntax import parse_module

__all__ = ["Module", "Modules", "Unreadable"]

_MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is not compared."""

    path: str
    side: str
    """The revision's label."""
    reason: str
    """One line for people."""
    line: int | None = None
    """Where it stops being Python."""


@dataclass(frozen=True, slots=True)
class Module:
    """A Python file as it is read."""

    path: str
    name: str
    """Its dotted name, as the project's import folders give it."""
    text: str
    found: Definitions
    imports: Mapping[str, str]
    """Name in the file, dotted for `import a.b` -> absolute dotted name; of the whole file."""
    star_imports: tuple[str, ...]
    """Modules that everything is imported from."""


class Modules:
    """Caches what is read of one revision."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._raw: dict[str, bytes | Unreadable] = {}
        self._read: dict[str, Module | Unreadable] = {}
        self._names: dict[str, str] = {}
        self._by_stem: dict[str, list[str]] = defaultdict(list)
        self._sources = [path for path in tree.files if is_source(path)][:_MOST_FILES]
        for path in self._sources:
            self._by_stem[_stem(path)].append(path)

    def read(self, path: str) -> Module | Unreadable:
        """A file of the tree, test or not."""
        if path not in self._read:
            self._read[path] = self._parsed(path)
        return self._read[path]

    def named(self, name: str) -> Module | None:
        """The module of a dotted name; None where it is none of the project's."""
        for path in self._by_stem.get(name.rpartition(".")[2], ()):
            if self._name(path) == name:
                module = self.read(path)
                return module if isinstance(module, Module) else None
        return None

    def holding(self, *words: str) -> Iterator[Module]:
        """The readable sources in whose text one of the words stands."""
        wanted = [word.encode() for word in words]
        for path in self._sources:
            raw = self._content(path)
            if isinstance(raw, bytes) and any(word in raw for word in wanted):
                module = self.read(path)
                if isinstance(module, Module):
                    yield module

    def _name(self, path: str) -> str:
        if path not in self._names:
            self._names[path] = surroundings(self.tree.root / path).name
        return self._names[path]

    def _content(self, path: str) -> bytes | Unreadable:
        if path not in self._raw:
            try:
                self._raw[path] = self.tree.read(path, LARGEST_SOURCE)
            except OSError as error:
                reason = error.strerror or "cannot be read"
                self._raw[path] = Unreadable(path, self.tree.label, reason)
        return self._raw[path]

    def _parsed(self, path: str) -> Module | Unreadable:
        raw = self._content(path)
        if isinstance(raw, Unreadable):
            return raw
        try:
            text, _ = decoded(raw)
            tree = _without_prefixes(parse_module(text))
            found = definitions(tree, text)
        except SyntaxError as error:
            reason = f"syntax error: {error.msg}"
            return Unreadable(path, self.tree.label, reason, error.lineno)
        except (UnicodeError, LookupError) as error:
            return Unreadable(path, self.tree.label, f"not a Python source file: {error}")
        except Exception as error:
            return Unreadable(path, self.tree.label, reason_to_skip(error))
        name = self._name(path)
        package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
        imports, stars = _imports(tree, package)
        return Module(path, name, text, found, imports, stars)


def _without_prefixes(tree: ast.Module) -> ast.Module:
    """`u"x"` is `"x"`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
    return tree


def _stem(path: str) -> str:
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "__init__" else pure.stem


def _imports(tree: ast.Module, package: str) -> tuple[dict[str, str], tuple[str, ...]]:
    found: dict[str, str] = {}
    stars = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name] = alias.name
                if alias.asname is None:  # `import a.b` binds `a`
                    top = alias.name.partition(".")[0]
                    found.setdefault(top, top)
        elif isinstance(node, ast.ImportFrom):
            origin = _absolute(node, package)
            for alias in node.names:
                if alias.name == "*":
                    stars.append(origin)
                else:
                    found[alias.asname or alias.name] = f"{origin}.{alias.name}"
    return found, tuple(stars)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])
