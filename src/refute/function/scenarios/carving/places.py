"""Which name means what: the imports of a file, and what a package defines and exports where.

Read from source; nothing is imported. A *place* is ``module`` or ``module:qualname``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from refute.function.scenarios.carving.finding import text_of
from refute.function.scenarios.carving.trees import statements_of
from refute.source.syntax import Function, bound_names, readable_module

MOST_FILES, MOST_CHARACTERS = 400, 4_000_000
"""Of a package, what is read."""
_PROPERTIES = frozenset({"property", "cached_property", "cachedproperty", "hybrid_property"})


@dataclass(frozen=True, slots=True)
class ClassNames:
    """A class as its source shows it."""

    bases: tuple[str, ...]
    """Places."""
    members: Mapping[str, str]
    """Name -> "method" (static- and classmethods too) or "property"."""


@dataclass(frozen=True, slots=True)
class Package:
    """What the modules of a package define, and under which other places it can be found."""

    name: str = ""
    modules: frozenset[str] = frozenset()
    classes: Mapping[str, ClassNames] = field(default_factory=dict)
    returns: Mapping[str, str] = field(default_factory=dict)
    """Place of a function -> place of the class that its annotation names."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Module -> what ``from module import *`` binds."""
    bound: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Module -> every name that it binds."""
    homes: Mapping[str, str] = field(default_factory=dict)
    """Place of a name that is imported from elsewhere, or stands for another -> that other."""

    def home(self, place: str) -> str:
        """Where a thing is defined, as far as can be seen."""
        for _ in range(10):
            module, mark, qualname = place.partition(":")
            first, _, rest = qualname.partition(".")
            if not mark:
                return place
            if f"{module}.{first}" in self.modules and f"{module}:{first}" not in self.homes:
                place = f"{module}.{first}" + (f":{rest}" if rest else "")
                continue
            other = self.homes.get(f"{module}:{first}")
            if other is None:
                return place
            place = dotted(other, rest, self.modules) if rest else other
        return place

    def definer(self, cls: str, member: str) -> str | None:
        """The class, it or one above it, that defines a member; None: not seen."""
        left, seen = [cls], set()
        while left:
            one = left.pop(0)
            if one in seen or one not in self.classes:
                continue
            seen.add(one)
            if member in self.classes[one].members:
                return one
            left += self.classes[one].bases
        return None

    def definers(self, member: str) -> list[str]:
        """Every class that defines a member of this name."""
        return [place for place, one in self.classes.items() if member in one.members]


NO_PACKAGE = Package()


def dotted(place: str, names: str, modules: Iterable[str] = ()) -> str:
    """The place of an attribute (or of one of an attribute…) of what lies at a place."""
    for name in names.split("."):
        if ":" in place or f"{place}.{name}" in modules:
            place = f"{place}.{name}"
        else:
            place = f"{place}:{name}"
    return place


def imports_of(
    nodes: Iterable[ast.AST], package: Package, module: str = "", *, folder: bool = False
) -> dict[str, str]:
    """The names that import statements anywhere in the nodes bind, and their places.

    `module`: the dotted name of the file, from which relative imports start; `folder` says that it
    is an ``__init__.py``.
    """
    found: dict[str, str] = {}
    for node in nodes:
        for one in statements_of(node):
            if isinstance(one, ast.Import):
                for alias in one.names:
                    first = alias.name.partition(".")[0]
                    found[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(one, ast.ImportFrom):
                source = _source(one, module, folder)
                for alias in one.names if source else ():
                    if alias.name == "*":
                        found |= {n: f"{source}:{n}" for n in package.names.get(source, ())}
                    else:
                        place = dotted(source, alias.name, package.modules)
                        found[alias.asname or alias.name] = place
    found.pop("annotations", None)
    return found


def _source(node: ast.ImportFrom, module: str, folder: bool) -> str:
    """The absolute name of the module that is imported from; "" where it cannot be told."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    up = node.level - 1 if folder else node.level
    if up >= len(parts) + (1 if folder else 0) or not module:
        return ""
    parts = parts[: len(parts) - up]
    return ".".join([*parts, node.module] if node.module else parts)


# -- a package -------------------------------------------------------------------------------------


def read_package(root: Path, name: str, first: Sequence[str] = ()) -> Package:
    """Read the package (or the single module) `name` that lies in `root`, without its tests.

    Of a very large package only a part is read: the modules named in `first` to begin with.
    """
    paths = dict(_modules(root, name))
    trees: dict[str, ast.Module] = {}
    left = MOST_CHARACTERS
    order = sorted(paths, key=lambda one: (one not in first, one.count("."), one))
    for module in order[:MOST_FILES]:
        text = text_of(paths[module], largest=MOST_CHARACTERS)
        left -= len(text)
        if left < 0:
            break
        trees[module] = readable_module(text)
    bare = Package(name, frozenset(paths))
    folders = {module for module in trees if paths[module].name == "__init__.py"}
    names = {module: _exported(tree) for module, tree in trees.items()}
    bare = Package(name, bare.modules, names=names)
    homes: dict[str, str] = {}
    for module, tree in trees.items():
        own = _defined(tree)
        for bound, place in imports_of(tree.body, bare, module, folder=module in folders).items():
            inside = place.partition(":")[0].partition(".")[0] == name.partition(".")[0]
            if inside and bound not in own and place != f"{module}:{bound}":
                homes[f"{module}:{bound}"] = place
        for node in tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(other)], value=ast.Name(bound)) if bound in own:
                    homes[f"{module}:{other}"] = f"{module}:{bound}"
    with_homes = Package(name, bare.modules, names=names, homes=homes)
    classes: dict[str, ClassNames] = {}
    returns: dict[str, str] = {}
    for module, tree in trees.items():
        for place, node in _definitions(tree.body, f"{module}:"):
            if isinstance(node, ast.ClassDef):
                bases = tuple(_named(base, module, with_homes) for base in node.bases)
                classes[place] = ClassNames(bases, _members(node))
            elif node.returns is not None:
                returns[place] = _named(node.returns, module, with_homes)
    returns = {place: made for place, made in returns.items() if made in classes}
    every = {module: bound_names(*tree.body) for module, tree in trees.items()}
    return Package(name, bare.modules, classes, returns, names, every, homes)


def _modules(root: Path, name: str) -> Iterator[tuple[str, Path]]:
    base = root.joinpath(*name.split("."))
    if not base.is_dir():
        yield name, base.with_suffix(".py")
        return
    for path in sorted(base.rglob("*.py")):
        parts = list(path.relative_to(root).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        if not any("test" in part and part != "testing" for part in parts[1:]):
            yield ".".join(parts), path


def _defined(tree: ast.Module) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    return set(bound_names(*(node for node in tree.body if isinstance(node, kinds))))


def _exported(tree: ast.Module) -> tuple[str, ...]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name("__all__")], value=ast.List(elts) | ast.Tuple(elts)):
                values = (one.value for one in elts if isinstance(one, ast.Constant))
                return tuple(one for one in values if isinstance(one, str))
    return tuple(name for name in bound_names(*tree.body) if not name.startswith("_"))


def _definitions(
    body: Sequence[ast.stmt], prefix: str
) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    for node in body:
        if isinstance(node, ast.ClassDef | Function):
            yield prefix + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from _definitions([*node.body, *node.orelse], prefix)


def _members(node: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in node.body:
        if isinstance(one, Function):
            marks = {ast.unparse(mark).partition("(")[0].rpartition(".")[2]
                     for mark in one.decorator_list}  # fmt: skip
            if not marks & {"setter", "deleter"}:
                found[one.name] = "property" if marks & _PROPERTIES else "method"
    return found


def _named(node: ast.expr, module: str, package: Package) -> str:
    """The place that a base class or an annotation names in a module."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    else:
        text = ast.unparse(node.value if isinstance(node, ast.Subscript) else node)
    return package.home(f"{module}:{text.partition('[')[0]}")
