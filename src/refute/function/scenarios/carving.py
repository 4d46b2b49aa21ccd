"""Carve scenarios from what a project has: its tests and doctests, never executed."""

from __future__ import annotations

import ast
import builtins
import copy
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from refute.core.problems import Scenario
from refute.function.project import TEST_FILE
from refute.function.scenarios.building import Piece
from refute.function.scenarios.described import (
    Described,
    Signature,
    TypeHint,
)
from refute.function.scenarios.sessions import (
    Scope,
    Step,
    TestFile,
    read_file,
    root_of,
    sessions_of,
)
from refute.source.syntax import (
    bound_names,
    find_function,
    read_names,
    readable_module,
)

__all__ = ["TestIndex", "carve", "classes_around", "instances_of"]

MOST_FOUND = 400
"""Scenarios of one target that the best are chosen from."""
MOST_STATEMENTS, MOST_CHARACTERS = 12, 4_000
_CERTAIN, _LIKELY = range(2)
_COMMON = frozenset(
    name for kind in (str, bytes, list, dict, set, int, float, tuple, type) for name in dir(kind)
)
_BUILTINS = frozenset(dir(builtins))
_FOR_TESTS = frozenset({"pytest", "unittest", "mock", "conftest"})


class _NotCarved(ValueError):
    """A call that makes no scenario."""


@dataclass(frozen=True, slots=True)
class _Home:
    """The module in which scenarios run."""

    name: str
    tree: ast.Module
    defined: frozenset[str]

    @property
    def top(self) -> str:
        """Its package."""
        return _top(self.name)


@dataclass(frozen=True, slots=True)
class _Target:
    key: str
    owner: str
    """The name of its class, "" where it has none."""
    last: str
    is_property: bool


@dataclass(frozen=True, slots=True)
class _Found:
    scenario: Scenario
    rank: int
    shape: str

    @property
    def size(self) -> tuple[int, int, str]:
        source = self.scenario.source
        return len(self.scenario.setup), len(source), source


def carve(
    files: Sequence[Path | tuple[str, str]],
    targets: Sequence[str],
    *,
    module: str,
    text: str,
    most: int = 40,
    known: dict[str, TestFile] | None = None,
) -> dict[str, list[Scenario]]:
    """Return up to `most` scenarios for each target, ``pkg.mod:Cart.total``, best first.

    `files`: paths, or (name, text). The scenarios run in `module`, whose source is `text`: its
    names need no import. `known`: files that were read before, by path; it gets those read now.
    """
    tree = readable_module(text)
    home = _Home(module, tree, bound_names(*tree.body))
    kept = {} if known is None else known
    read: list[TestFile] = []
    for file in files:
        name = str(file) if isinstance(file, Path) else file[0]
        if name not in kept:
            source = _text_of(file) if isinstance(file, Path) else file[1]
            kept[name] = _read(name, source, home.top)
        read.append(kept[name])
    shared = [one for one in read if one.name.endswith("conftest.py")]
    wanted = [_target(one, home) for one in targets]
    words = {one.last for one in wanted}
    found: dict[str, dict[str, _Found]] = {one.key: {} for one in wanted}
    for file_read in read:
        try:
            for steps in sessions_of(file_read, shared, words):
                for target in wanted:
                    own = found[target.key]
                    if len(own) < MOST_FOUND:
                        for one in _in_session(steps, target, home):
                            own.setdefault(one.scenario.source, one)
        except (RecursionError, MemoryError, ValueError):  # too deep; numbers too long to print
            continue
    return {key: _chosen([*own.values()], most) for key, own in found.items()}


def _read(name: str, text: str, top: str) -> TestFile:
    parts = Path(name).with_suffix("").parts
    inner = parts[len(parts) - parts[::-1].index(top) - 1 :] if top in parts else ()
    module = ".".join(inner).removesuffix(".__init__")
    own = bool(inner) and not any("test" in part and part != "testing" for part in inner[1:])
    try:
        return read_file(name, text, module, own=own)
    except (RecursionError, MemoryError, ValueError):
        return TestFile(name, ast.Module([], []))


def _target(key: str, home: _Home) -> _Target:
    module, _, qualname = key.partition(":")
    function = find_function(home.tree, qualname) if module == home.name else None
    marks = [ast.unparse(one) for one in function.decorator_list] if function else []
    owner, _, last = qualname.rpartition(".")
    is_property = any("property" in one or one.endswith(".getter") for one in marks)
    return _Target(key, owner.rpartition(".")[2], last, is_property)


def _chosen(found: list[_Found], most: int) -> list[Scenario]:
    """The surest first, and in turns one of each shape of arguments, shortest first."""
    groups: dict[tuple[int, str], list[_Found]] = {}
    for one in sorted(found, key=lambda one: one.size):
        groups.setdefault((one.rank, one.shape), []).append(one)
    piles = [groups[key] for key in sorted(groups, key=lambda key: (key[0], groups[key][0].size))]
    turns = range(max(map(len, piles), default=0))
    return [pile[n].scenario for n in turns for pile in piles if n < len(pile)][:most]


# -- the calls of a session ------------------------------------------------------------------------


def _in_session(steps: list[Step], target: _Target, home: _Home) -> Iterator[_Found]:
    for index, step in enumerate(steps):
        for looked in step.looked if step.tested else ():
            for node in ast.walk(looked):
                if not isinstance(node, ast.expr) or not _may_be(node, target):
                    continue
                rank = _rank(node, target, steps, index, home)
                if rank is not None:
                    try:
                        scenario = _scenario(node, steps, index, home)
                    except _NotCarved:
                        continue
                    yield _Found(scenario, rank, _shape(node))


def _may_be(node: ast.expr, target: _Target) -> bool:
    match node:
        case ast.Call(func=ast.Name()):
            return not target.owner
        case ast.Call(func=ast.Attribute(attr=name)):
            return name == target.last and not target.is_property
        case ast.Attribute(attr=name):
            return name == target.last and target.is_property
    return False


def _rank(
    node: ast.expr, target: _Target, steps: Sequence[Step], index: int, home: _Home
) -> int | None:
    """Rank how sure it is that an expression calls the target; None: it does not."""
    func = node.func if isinstance(node, ast.Call) else node
    if not target.owner:
        place = _place(func, steps, index, home)
        if place is None or _top(place) != home.top or place.rpartition(":")[2] != target.last:
            return None
        return _CERTAIN if place == target.key else _LIKELY
    receiver = getattr(func, "value", None)
    if receiver is None:
        return None
    made = _made_by(receiver, steps, index)
    place = _place(made, steps, index, home)
    if isinstance(made, ast.Constant | ast.List | ast.Dict | ast.Tuple | ast.Set | ast.JoinedStr):
        return None
    name = (place or "").rpartition(":")[2]
    if name.split(".")[0] == target.owner:
        return _CERTAIN
    if place is not None and not (":" in place and _top(place) == home.top):
        return None
    return None if name[:1].isupper() or target.last in _COMMON else _LIKELY


def _made_by(node: ast.expr, steps: Sequence[Step], index: int) -> ast.expr:
    """Return what is called to make a value, as far as assignments show; else the value's own
    expression."""
    for _ in range(8):
        at = _reaching(node.id, steps, index) if isinstance(node, ast.Name) else None
        value = getattr(steps[at].node, "value", None) if at is not None else None
        if at is not None and isinstance(value, ast.expr):
            node, index = value, at
        elif isinstance(node, ast.Call):
            entered = isinstance(node.func, ast.Attribute) and node.func.attr == "__enter__"
            node = getattr(node.func, "value", node) if entered else node.func
            if not entered:
                return node
        else:
            break
    return node


def _place(node: ast.expr, steps: Sequence[Step], index: int, home: _Home) -> str | None:
    """The place of a dotted name whose first part is imported, or the module's own."""
    if _reaching(root_of(node), steps, index) is not None:
        return None
    return _imported(node, steps[index].scope, home)


def _imported(node: ast.expr, scope: Scope, home: _Home) -> str | None:
    if isinstance(node, ast.Name):
        place = scope.names.get(node.id)
        if place is None and scope.module and node.id not in _BUILTINS:
            place = f"{scope.module}:{node.id}"
        if place is None and "*" in scope.names and node.id not in _BUILTINS:
            place = f"{scope.names['*']}:{node.id}"
    elif isinstance(node, ast.Attribute):
        place = _imported(node.value, scope, home)
        if place is not None:
            place = f"{place}.{node.attr}" if ":" in place else f"{place}:{node.attr}"
    else:
        return None
    # `from shop import cart` names a module
    dotted = (place or "").replace(":", ".")
    return dotted if f"{home.name}.".startswith(f"{dotted}.") else place


def _top(place: str) -> str:
    """The package of a place."""
    return place.partition(":")[0].partition(".")[0]


def _reaching(name: str, steps: Sequence[Step], index: int) -> int | None:
    """The last step before `index` that binds a name."""
    return next((at for at in range(index - 1, -1, -1) if name in steps[at].binds), None)


def _shape(call: ast.expr) -> str:
    """The kinds of a call's arguments."""
    if not isinstance(call, ast.Call):
        return ""
    given = [*call.args, *(one.value for one in call.keywords)]
    kinds = (type(one.value if isinstance(one, ast.Constant) else one) for one in given)
    return ", ".join(kind.__name__ for kind in kinds)


# -- the statements that a call needs --------------------------------------------------------------


def _scenario(call: ast.expr, steps: Sequence[Step], index: int, home: _Home) -> Scenario:
    """The scenario that observes an expression of the step `index`. Raises `_NotCarved`."""
    needed = _free_names(call)
    found: list[tuple[ast.stmt, Step]] = []
    for at in range(index - 1, -1, -1):
        step = steps[at]
        if step.binds & needed:
            if step.node is None:
                raise _NotCarved
            needed -= step.binds
        elif step.node is None or not step.changes & {
            name for name in needed if not _is_fixed(name, steps, at)
        }:
            continue
        found.append((step.node, step))
        needed |= _free_names(step.node)
        if len(found) > MOST_STATEMENTS:
            raise _NotCarved
    found.reverse()
    local = frozenset(name for node, step in found for name in step.binds)
    writer = _Writer(home, local)
    setup = tuple(writer.source(node, step.scope) for node, step in found)
    expression = writer.source(call, steps[index].scope)
    made = Scenario(expression, setup, tuple(sorted(writer.imports.items())))
    if len(made.source) > MOST_CHARACTERS:
        raise _NotCarved
    return made


def _is_fixed(name: str, steps: Sequence[Step], index: int) -> bool:
    """Return whether a name means what cannot be changed: a module, a class, a constant."""
    at = _reaching(name, steps, index)
    value = None if at is None else getattr(steps[at].node, "value", None)
    return at is None or isinstance(value, ast.Constant | ast.JoinedStr)


def _inner(node: ast.AST) -> set[str]:
    """The names that are bound anywhere in a tree, parameters too."""
    every = [*ast.walk(node)]
    stored = {n.id for n in every if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    named = {one.name for one in every if isinstance(one, ast.FunctionDef | ast.ClassDef)}
    return stored | named | {one.arg for one in every if isinstance(one, ast.arg)}


def _free_names(node: ast.AST) -> set[str]:
    """The names that an expression or a statement reads and does not bind inside of it."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        whole = node.value if isinstance(node, ast.Assign) else node
        inside = _inner(node.value)
        read = read_names(node) | {root_of(one) for one in ast.walk(whole) if whole is node
                                   and isinstance(one, ast.Name)}  # fmt: skip
        return read - inside - {""}
    return read_names(node) - _inner(node)


class _Writer(ast.NodeTransformer):
    """Writes statements of one or more files over the names of the module under test."""

    def __init__(self, home: _Home, local: frozenset[str]) -> None:
        self.home = home
        self.local = local
        self.imports: dict[str, str] = {}
        self.scope = Scope()
        self.bound: frozenset[str] = local

    def source(self, node: ast.AST, scope: Scope) -> str:
        """The source of a statement or an expression, with what it needs noted."""
        self.scope = scope
        self.bound = self.local | _inner(node)
        if any(isinstance(one, ast.Await | ast.Yield | ast.YieldFrom) for one in ast.walk(node)):
            raise _NotCarved
        return ast.unparse(ast.fix_missing_locations(self.visit(copy.deepcopy(node))))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if root_of(node) not in self.bound and node.attr not in self.bound:
            place = _imported(node, self.scope, self.home)
            if place == f"{self.home.name}:{node.attr}" and node.attr in self.home.defined:
                return ast.Name(node.attr, ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.bound or not isinstance(node.ctx, ast.Load):
            return node
        place = _imported(node, self.scope, self.home)
        if place is None and node.id in _BUILTINS:
            return node
        if place is None or _top(place) in _FOR_TESTS:
            raise _NotCarved
        own = _top(place) == self.home.top and place.endswith(f":{node.id}")
        if own and node.id in self.home.defined:  # the package exports it from here
            return node
        if self.imports.setdefault(node.id, place) != place:
            raise _NotCarved
        return node


# -- instances, for receivers and arguments of other calls -----------------------------------------

MOST_CLASSES = 12
MOST_INSTANCES = 6
"""Of one class."""


def classes_around(module: str, name: str, described: Described) -> list[str]:
    """Return the places of the classes whose instances a callable takes, its own first."""
    found: dict[str, None] = {}
    owner = described.classes.get(f"{module}:{name.rpartition('.')[0]}")
    signatures: list[Signature] = [described.names[name]] if name in described.names else []
    if owner is not None:
        found |= dict.fromkeys((owner.id, *owner.subclasses[:4]))
        signatures += [owner.make] if owner.make is not None else []
    for signature in signatures:
        for one in signature.parameters or ():
            found |= dict.fromkeys(_classes_in(one.type))
            label = "".join(one.name.lower().split("_"))
            for bare, places in described.places.items():
                if bare.lower() == label or (len(label) > 2 and bare.lower().startswith(label)):
                    found |= dict.fromkeys(places)
    return [place for place in found if place in described.classes][:MOST_CLASSES]


def _classes_in(hint: TypeHint) -> Iterator[str]:
    for one in hint:
        if isinstance(one, (list, tuple)):
            yield from _classes_in(tuple(one))
        elif isinstance(one, str) and ":" in one:
            yield one


def instances_of(
    places: Iterable[str], scenarios: Mapping[str, Sequence[Scenario]]
) -> dict[str, tuple[Piece, ...]]:
    """Return expressions that make instances, from the carved scenarios of classes."""
    found: dict[str, tuple[Piece, ...]] = {}
    for place in places:
        made = scenarios.get(place, ())[:MOST_INSTANCES]
        pieces = tuple(Piece(one.expression, one.imports, one.setup) for one in made)
        if pieces:
            found[place] = pieces
    return found


# -- files -----------------------------------------------------------------------------------------

MOST_FILES, MOST_LOOKED_AT = 60, 5_000
LARGEST = 400_000
"""Bytes of one file."""
_SKIPPED = frozenset(
    {"node_modules", "site-packages", "build", "dist", "__pycache__", "venv", "env"}
)


class TestIndex:
    """The words of a package's tests and own files, each read once."""

    __test__ = False  # no test of pytest's

    def __init__(self, project: Path, package: str) -> None:
        """`package`: the first part of its modules' names."""
        self._fixtures: list[Path] = []
        self._files: list[tuple[Path, int, Counter[str]]] = []
        for path in islice(_uses(project, package), MOST_LOOKED_AT):
            if path.name == "conftest.py":
                self._fixtures.append(path)
            else:
                text = _text_of(path)
                self._files.append((path, len(text), Counter(re.findall(r"\w+", text))))

    def find(self, module: str, names: Sequence[str]) -> list[Path]:
        """Return the files that mention the names, those that do it most first, and the tests that
        are named after the module, which may reach them by syntax alone (`repr(x)`); with them
        every conftest.py.

        `module`: its dotted name; `names`: things that it defines (`Cart.total`, `slugify`).
        """
        bare = module.rpartition(".")[2].strip("_")
        words = {part for name in names for part in name.split(".")[-2:]}
        scored: list[tuple[float, int, Path]] = []
        for path, size, counts in self._files:
            found = [counts[word] for word in words if word in counts]
            own = bool(bare) and re.fullmatch(rf"tests?_{bare}|{bare}_tests?", path.stem)
            if found or own:
                score = len(found) * 10 + min(sum(found), 30) + (50 if bare in path.stem else 0)
                scored.append((-score, size, path))
        return self._fixtures[:20] + [path for _, _, path in sorted(scored)[:MOST_FILES]]


def _uses(project: Path, package: str) -> Iterator[Path]:
    """Tests of the project, and the package's own files."""
    for folder, folders, files in os.walk(project):
        folders[:] = sorted(
            one for one in folders if not one.startswith(".") and one not in _SKIPPED
        )
        parts = Path(folder).relative_to(project).parts
        tests = any(re.fullmatch(r"tests?|testing|.*_tests?|tests?_.*", p) for p in parts)
        for name in sorted(files):
            stem, end = os.path.splitext(name)
            own = package in (*parts, stem) or stem == "conftest" or TEST_FILE.fullmatch(name)
            path = Path(folder, name)
            if end == ".py" and (tests or own) and not path.is_symlink():
                yield path


def _text_of(path: Path) -> str:
    """The text of a regular file; "" where it cannot be had, or is too large."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return ""
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""
