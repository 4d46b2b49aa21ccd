"""The Python code of one revision, read file by file when it is asked for; nothing is imported."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from refute.core.remarks import remark
from refute.diffing.definitions import (
    Definition,
    Definitions,
    definitions,
    lines_of,
    own_parts,
    statements,
)
from refute.diffing.revisions import Tree
from refute.diffing.trees import is_source
from refute.errors import reason_to_skip
from refute.function.project import surroundings
from refute.function.source import LARGEST_SOURCE, decoded
from refute.function.target import MOST_HANDS
from refute.source.syntax import Function, bound_names, parse_module

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
    """First line that is not Python."""


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


# -- which definitions refer to a name -------------------------------------------------------------

_SUPER = ast.dump(ast.Name("super", ast.Load()))


@dataclass(frozen=True, slots=True)
class Use:
    """A definition or binding that refers to a name."""

    module: Module
    definition: Definition | None
    """None: `binding` does."""
    binding: str
    """Qualified name of a constant or class attribute whose value refers to the name."""
    lines: tuple[int, ...]
    """Executable lines that do (1-based); none where it is a decorator or default."""

    @property
    def target(self) -> str:
        """Its own absolute name."""
        own = self.definition.qualname if self.definition else self.binding
        return f"{self.module.name}.{own}"


class References:
    """Finds uses in one revision, each file resolved once."""

    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self._uses: dict[str, dict[str, list[Use]]] = {}
        self._canonical: dict[str, str] = {}
        self._known: dict[tuple[str, int], str | None] = {}

    def of(self, target: str) -> list[Use]:
        """Everything that refers to an absolute name such as `pkg.mod.Class.method`, in the order
        of files. A class's special methods are referred to by the class's name."""
        parts = target.split(".")
        targets, words = [target], [parts[-1]]
        if parts[-1] in ("__init__", "__new__", "__post_init__", "__call__") and len(parts) > 1:
            targets.append(".".join(parts[:-1]))
            words.append(parts[-2])
        found = []
        for module in self.modules.holding(*words):
            uses = self.in_module(module)
            found += [use for name in targets for use in uses.get(name, ()) if use.target != target]
        return found

    def in_module(self, module: Module) -> Mapping[str, list[Use]]:
        """Absolute name -> what refers to it in a file."""
        if module.path not in self._uses:
            try:
                self._uses[module.path] = self._resolved(module)
            except Exception as error:
                remark([f"{module.path}: its calls are not followed: {reason_to_skip(error)}"])
                self._uses[module.path] = {}
        return self._uses[module.path]

    def _resolved(self, module: Module) -> dict[str, list[Use]]:
        found: dict[str, list[Use]] = defaultdict(list)
        for definition in module.found.functions.values():
            lines: dict[str, list[int]] = defaultdict(list)
            for node in definition.nodes:
                for name, line in self._in_function(module, definition, node):
                    lines[name] += line
            for name, some in lines.items():
                found[name].append(Use(module, definition, "", tuple(sorted(set(some)))))
        for binding, bound in module.found.bindings.items():
            owner = binding.rpartition(".")[0]
            names = {
                name
                for statement in bound
                if not isinstance(statement, ast.Import | ast.ImportFrom)
                for chain in _chains(own_parts(statement))
                for name in self._names(module, owner, chain)
            }
            for name in names:
                found[name].append(Use(module, None, binding, ()))
        return found

    def _in_function(
        self, module: Module, definition: Definition, node: Function
    ) -> Iterator[tuple[str, tuple[int, ...]]]:
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        given += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        parameters = [one.arg for one in given]
        receiver = ""
        if definition.owner and definition.kind != "staticmethod" and parameters:
            receiver = parameters[0]
        shadowed = {*parameters, *bound_names(*node.body)} - _brought_in(node) - {receiver}
        outside = [*node.decorator_list, *arguments.defaults, *filter(None, arguments.kw_defaults)]
        for chain in _chains(part for expression in outside for part in ast.walk(expression)):
            for name in self._names(module, definition.owner, chain):
                yield name, ()
        for statement, _ in statements(node.body):
            for chain in _chains(own_parts(statement)):
                first, *rest = chain
                if first in ("super()", receiver) and rest and definition.owner:
                    name = ".".join((module.name, definition.owner, *rest))
                    above = self._inherited(module, definition.owner, rest)
                    resolved = above if first == "super()" else self._find(name)
                    if resolved:
                        yield resolved, lines_of(statement)
                elif first not in shadowed and first not in ("super()", receiver):
                    for name in self._names(module, "", chain):
                        yield name, lines_of(statement)

    def _names(self, module: Module, owner: str, chain: tuple[str, ...]) -> set[str]:
        """Absolute names of what a chain such as `("m", "f")` stands for: where it is defined, and
        the name in this file that it is read through. `owner`: the class in whose body it is."""
        if owner and f"{owner}.{chain[0]}" in (*module.found.functions, *module.found.bindings):
            return {".".join((module.name, owner, *chain))}
        here = f"{module.name}.{'.'.join(chain)}"
        for length in range(len(chain), 0, -1):
            prefix = ".".join(chain[:length])
            if prefix in module.imports:
                whole = ".".join((module.imports[prefix], *chain[length:]))
                return {self._find(whole), f"{module.name}.{chain[0]}"}
        return {self._find(here)}

    def _find(self, name: str) -> str:
        if name not in self._canonical:
            self._canonical[name] = self._followed(name, MOST_HANDS) or name
        return self._canonical[name]

    def _followed(self, name: str, hands: int) -> str | None:
        """The absolute name under which something is defined; None where the project has it not."""
        key = (name, hands)
        if key not in self._known:  # else many bases of many bases would each be looked at anew
            self._known[key] = None
            parts = name.split(".")
            for length in range(len(parts) - 1, 0, -1):
                module = self.modules.named(".".join(parts[:length]))
                if module is not None:
                    self._known[key] = self._in(module, parts[length:], hands)
                    break
        return self._known[key]

    def _in(self, module: Module, rest: list[str], hands: int) -> str | None:
        found = module.found
        for length in range(len(rest), 0, -1):  # `f.cache_clear` is a use of `f`
            own = ".".join(rest[:length])
            bound = found.bindings.get(own, ())
            if any(not isinstance(node, ast.Import | ast.ImportFrom) for node in bound):
                return f"{module.name}.{own}"
            if own in found.functions or (own in found.classes and length == len(rest)):
                return f"{module.name}.{own}"
            if own in found.classes:
                return self._inherited(module, own, rest[length:], hands) or f"{module.name}.{own}"
        if not hands:
            return None
        if rest[0] in module.imports:
            return self._followed(".".join((module.imports[rest[0]], *rest[1:])), hands - 1)
        for star in module.star_imports:
            resolved = self._followed(".".join((star, *rest)), hands - 1)
            if resolved is not None:
                return resolved
        return None

    def _inherited(
        self, module: Module, owner: str, rest: list[str], hands: int = MOST_HANDS
    ) -> str | None:
        """Return where the base classes of a class define an attribute."""
        if not hands:
            return None
        for node in module.found.classes.get(owner, ()):
            for base in node.bases:
                for chain in _chains([base]):
                    prefix = module.imports.get(chain[0], f"{module.name}.{chain[0]}")
                    name = ".".join((prefix, *chain[1:], *rest))
                    resolved = self._followed(name, hands - 1)
                    if resolved is not None and resolved.endswith(f".{rest[0]}"):
                        return resolved
        return None


def _chains(parts: Iterable[ast.AST]) -> Iterator[tuple[str, ...]]:
    """The names that are read, with the attributes taken of them: `a.b.c`, `super().f`."""
    inner: set[int] = set()
    for part in parts:
        if id(part) in inner or not isinstance(part, ast.Name | ast.Attribute):
            continue
        names: list[str] = []
        node: ast.AST = part
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
            inner.add(id(node))
        if isinstance(part.ctx, ast.Store) and names:  # of `a.b.c = 1`, `a.b` is read
            names.pop(0)
        if isinstance(node, ast.Name) and (names or isinstance(part.ctx, ast.Load)):
            yield (node.id, *reversed(names))
        elif names and isinstance(node, ast.Call) and ast.dump(node.func) == _SUPER:
            yield ("super()", *reversed(names))


def _brought_in(node: Function) -> set[str]:
    """Names that a function imports itself or declares global: they are not its own."""
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in one.names}
        elif isinstance(one, ast.Global):
            found |= set(one.names)
    return found
