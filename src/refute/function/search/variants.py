"""Candidates as small differences to a module that is loaded, or at least compiled, once.

Nearly every candidate differs from the code under test in the body of one function. Such a one is
a `Program` with `bodies`: only the function is compiled, and the sandbox puts its code object into
the loaded module. That is the same as loading the whole edited module where the function does not
run while the module is imported, and where calls leave no state behind in it (`reach.keeps_state`);
else the module is loaded anew, in parts: only the changed statement of its top level is compiled.
"""

from __future__ import annotations
import __future__

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import CodeType

from refute.function.search.edit import Change, Edit, applied
from refute.sandbox.contract import Code
from refute.sandbox.loading import outermost
from refute.source.syntax import Function

__all__ = ["Parts", "Variants", "compiled"]

_Key = tuple[str, int]  # a function's qualified name and first line


@dataclass(frozen=True, slots=True)
class _Place:
    """A function that is inside no other, and the classes around it, outermost first."""

    classes: tuple[ast.ClassDef, ...]
    function: Function


@dataclass(slots=True)
class Variants:
    """Parts of a module that can be changed without loading it again."""

    tree: ast.Module
    base: tuple[CodeType, ...]
    """The module as it is loaded once: compiled from `tree`, and more."""
    fixed: frozenset[int] = frozenset()
    """Ids of statements that ran while the module was imported: their functions are not changed
    in place."""
    _places: dict[int, _Place] = field(init=False)
    _own: dict[_Key, CodeType] = field(init=False)
    _flags: int = field(init=False)
    _walrus: bool = field(init=False)

    def __post_init__(self) -> None:
        self._own = {}
        for code in (code for part in self.base for code in outermost(part)):
            self._own[code.co_qualname, code.co_firstlineno] = code
        self._places = {}
        for place in _places(self.tree.body, ()):
            inside = [node for stmt in place.function.body for node in ast.walk(stmt)]
            if self.fixed.isdisjoint(map(id, inside)):
                self._places[id(place.function)] = place
                self._places.update((id(node), place) for node in inside)
        self._flags = future_flags(self.tree)
        self._walrus = _has_walrus(self.tree)

    def bodies(self, edits: Sequence[Edit]) -> tuple[CodeType, ...] | None:
        """The code objects that the edits change; None where that is not all that they change.

        Raises what `compile` does.
        """
        changed: dict[int, _Place] = {}
        for change in _outer_changes(edits):
            place = self._places.get(id(change.owner))
            if place is None:
                return None
            if change.owner is place.function and change.field != "body":
                return None  # its decorators, defaults, annotations: evaluated on import
            changed[id(place.function)] = place
        with applied(edits):
            found = [self._body(place) for place in changed.values()]
        whole = [code for code in found if code is not None]
        return tuple(whole) if len(whole) == len(found) else None

    def _body(self, place: _Place) -> CodeType | None:
        """The code of one function as it stands in the tree; None where it cannot be put in."""
        shell: ast.stmt = place.function
        for outer in reversed(place.classes):
            shell = _shell(outer, shell)
        tree = ast.Module(body=[shell], type_ignores=[])
        code = compiled(tree, self._flags, walrus=self._walrus)
        if code is None:
            return None
        for found in outermost(code):
            own = self._own.get((found.co_qualname, found.co_firstlineno))
            named = found.co_name == place.function.name  # no lambda among its defaults
            if named and own is not None and own.co_freevars == found.co_freevars:
                return found
        return None


@dataclass(slots=True)
class Parts:
    """A module as parts that are executed one after the other, each compiled once."""

    tree: ast.Module
    needed: Callable[[ast.stmt], bool]
    """Test for statements of the top level that are executed."""
    as_text: bool = False
    """The parts are source: the sandbox runs another version of Python."""
    _at: dict[int, int] = field(default_factory=dict)
    _runs: dict[tuple[int, int], Code | None] = field(default_factory=dict)
    _flags: int = 0
    _walrus: bool = False

    def __post_init__(self) -> None:
        self._flags = future_flags(self.tree)
        self._walrus = _has_walrus(self.tree)
        for place, stmt in enumerate(self.tree.body):
            self._at.update((id(node), place) for node in ast.walk(stmt))

    def codes(self, edits: Sequence[Edit]) -> tuple[Code, ...] | None:
        """The module with the edits made; None where it does not compile."""
        changed = [self._at.get(id(change.owner)) for change in _outer_changes(edits)]
        codes: list[Code | None] = []
        with applied(edits):
            if None in changed:
                return _all([self._compiled(self._run(0, len(self.tree.body)))])
            start = 0
            for place in sorted({at for at in changed if at is not None}):
                codes += [
                    self._shared(start, place),
                    self._compiled(self._run(place, place + 1), self._flags),
                ]
                start = place + 1
        return _all([*codes, self._shared(start, len(self.tree.body))])

    def _run(self, start: int, end: int) -> ast.Module:
        return ast.Module([s for s in self.tree.body[start:end] if self.needed(s)], [])

    def _shared(self, start: int, end: int) -> Code | None:
        """A part without edits."""
        if (start, end) not in self._runs:
            self._runs[start, end] = self._compiled(self._run(start, end), self._flags)
        return self._runs[start, end]

    def _compiled(self, part: ast.Module, flags: int = 0) -> Code | None:
        code = compiled(part, flags, walrus=self._walrus)
        if code is None or not self.as_text:
            return code
        futures = [node for node in self.tree.body if is_future(node)]
        rest = [node for node in part.body if not is_future(node)]
        return ast.unparse(ast.Module([*futures, *rest], []))


def is_future(node: ast.stmt) -> bool:
    """Return whether a statement is a `from __future__ import`."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _all(codes: list[Code | None]) -> tuple[Code, ...] | None:
    whole = [code for code in codes if code is not None]
    return tuple(whole) if len(whole) == len(codes) else None


def _outer_changes(edits: Sequence[Edit]) -> Iterator[Change]:
    """The changes but those of nodes that an earlier one has put in."""
    inserted: set[int] = set()
    for edit in edits:
        for change in edit.changes:
            if id(change.owner) not in inserted:
                yield change
            for item in change.new if isinstance(change.new, list) else [change.new]:
                if len(edits) > 1 and isinstance(item, ast.AST):
                    inserted.update(map(id, ast.walk(item)))


def future_flags(tree: ast.Module) -> int:
    """Return the compiler flags that a module's `from __future__ import`s set for its parts."""
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                feature = getattr(__future__, alias.name, None)
                flags |= getattr(feature, "compiler_flag", 0)
    return flags


def _places(body: Sequence[ast.stmt], classes: tuple[ast.ClassDef, ...]) -> Iterator[_Place]:
    """The functions of a module or class that are inside no other function."""
    for node in body:
        if isinstance(node, Function):
            yield _Place(classes, node)
        elif isinstance(node, ast.ClassDef):
            yield from _places(node.body, (*classes, node))
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from _places(getattr(node, name, None) or (), classes)
            for handler in getattr(node, "handlers", ()):
                yield from _places(handler.body, classes)


def _shell(outer: ast.ClassDef, inner: ast.stmt) -> ast.ClassDef:
    """The class with nothing but `inner` in it: names are mangled and nested as in the whole."""
    shell = ast.ClassDef(name=outer.name, bases=[], keywords=[], body=[inner], decorator_list=[])
    if "type_params" in ast.ClassDef._fields:
        shell.type_params = []  # type: ignore[attr-defined, unused-ignore]
    return ast.copy_location(shell, outer)


_MOST_NODES = 100_000


def compiled(tree: ast.Module, flags: int = 0, *, walrus: bool = False) -> CodeType | None:
    """Compile quietly; None for a program that the compiler rejects.

    `walrus`: whether `:=` may occur. What it binds the compiler does not look at: for a name that
    is read, or anything else, it counts its stack wrongly and writes past the end of a block.
    """
    if walrus:
        nodes = [*islice(ast.walk(tree), _MOST_NODES)]
        # Two edits may put a node inside of itself: the walk would never end.
        if len(nodes) == _MOST_NODES or not all(map(_binds, nodes)):
            return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: CodeType = compile(tree, "<program>", "exec", flags, dont_inherit=True)
            return code
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError, OverflowError):
        return None


def _has_walrus(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.NamedExpr) for node in ast.walk(tree))


def _binds(node: ast.AST) -> bool:
    """Return whether a node is not a `:=`, or is one that stores a name."""
    if not isinstance(node, ast.NamedExpr):
        return True
    return isinstance(node.target, ast.Name) and isinstance(node.target.ctx, ast.Store)
