"""The statements that a call in a session needs, and the scenario that they make."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence

from refute.core.problems import Scenario
from refute.function.scenarios.carving.places import Package, dotted
from refute.function.scenarios.carving.steps import Step, free_names, root_of, step_of
from refute.function.scenarios.carving.trees import clone, walk

MOST_STATEMENTS, MOST_CHARACTERS = 12, 4_000
_BUILTINS = frozenset(dir(builtins))
_CONSTANT = (ast.Constant, ast.JoinedStr, ast.Lambda)


class CannotCarve(Exception):
    """Why a call makes no scenario."""


def place_of(node: ast.expr, names: Mapping[str, str], package: Package) -> str | None:
    """The place that a dotted name means, where its first part is imported."""
    match node:
        case ast.Name(name) if name in names:
            return package.home(names[name])
        case ast.Attribute(value=value, attr=attr):
            place = place_of(value, names, package)
            if place is None:
                return None
            if ":" not in place and _is_submodule(place, attr, package):
                return f"{place}.{attr}"
            return package.home(dotted(place, attr))
    return None


def _is_submodule(module: str, name: str, package: Package) -> bool:
    return f"{module}.{name}" in package.modules and f"{module}:{name}" not in package.homes


def reaching(name: str, steps: Sequence[Step], index: int) -> int | None:
    """The last step before `index` that binds a name."""
    for at in range(index - 1, -1, -1):
        if name in steps[at].binds:
            return at
    return None


def scenario_of(
    call: ast.expr, steps: Sequence[Step], index: int, module: str, package: Package,
    defined: frozenset[str],
) -> Scenario:  # fmt: skip
    """The scenario that observes an expression of the step `index`.

    `module`: the one under test, `defined` the names that it binds. Raises `CannotCarve`.
    """
    for checks in (True, False):
        statements = _needed(call, steps, index, checks)
        if len(statements) <= MOST_STATEMENTS:
            break
    else:
        raise CannotCarve("too many statements")
    maker = _Renderer(module, package, defined, statements, call)
    setup = tuple(maker.source(node, step) for node, step in statements)
    expression = maker.source(call, steps[index])
    found = Scenario(expression, setup, tuple(sorted(maker.imports.items())))
    if len(found.source) > MOST_CHARACTERS:
        raise CannotCarve("too long")
    return found


def _needed(
    call: ast.expr, steps: Sequence[Step], index: int, checks: bool
) -> list[tuple[ast.stmt, Step]]:
    """The statements before that the call's names need; `checks`: calls inside of assertions that
    may change an object too."""
    needed = free_names(call)
    fixed: set[str] = set()
    _note_fixed(needed, steps, index, fixed)
    found: list[tuple[ast.stmt, Step]] = []
    for at in range(index - 1, -1, -1):
        step = steps[at]
        if step.binds & needed:
            if step.node is None or step.problem:
                raise CannotCarve(step.problem or "what raises")
            found.append((step.node, step))
            new = free_names(step.node)
            needed = (needed - step.binds) | new
        elif step.changes & (needed - fixed):
            nodes = [step.node] if step.node is not None else []
            if step.node is None and checks:
                nodes = list(_changing(step, needed - fixed))
            if step.problem or not nodes:
                continue
            found += [(node, step) for node in reversed(nodes)]
            new = {name for node in nodes for name in free_names(node)}
            needed |= new
        else:
            continue
        _note_fixed(new, steps, at, fixed)
        if len(found) > 4 * MOST_STATEMENTS:
            break
    return found[::-1]


def _note_fixed(names: set[str], steps: Sequence[Step], index: int, fixed: set[str]) -> None:
    """Which names are bound to what cannot be changed."""
    for name in names:
        at = reaching(name, steps, index)
        if at is None:
            fixed.add(name)  # a module or a class: that it is changed is no part of this
        elif isinstance(getattr(steps[at].node, "value", None), _CONSTANT):
            fixed.add(name)


def _changing(step: Step, names: set[str]) -> list[ast.stmt]:
    """The calls of methods of some objects in expressions that are only looked at."""
    found: list[ast.stmt] = []
    for expression in step.looked:
        left: list[ast.AST] = [expression]
        while left:
            node = left.pop(0)
            if isinstance(node, ast.Lambda | ast.comprehension | ast.GeneratorExp | ast.ListComp):
                continue
            if isinstance(node, ast.Call):
                own = isinstance(node.func, ast.Attribute) and root_of(node.func) in names
                taken = isinstance(node.func, ast.Name) and node.func.id == "next"
                if own or taken:
                    found.append(ast.Expr(node))
                    continue
            left += ast.iter_child_nodes(node)
    return found


class _Renderer:
    """Writes statements of one or more files over the names of the module under test."""

    def __init__(
        self, module: str, package: Package, defined: frozenset[str],
        statements: Sequence[tuple[ast.stmt, Step]], call: ast.expr,
    ) -> None:  # fmt: skip
        self.module = module
        self.package = package
        self.defined = defined
        self.imports: dict[str, str] = {}
        self.local = {
            name for node, step in statements for name in (step.binds or step_of(node, {}).binds)
        }
        self.inner = {
            one.id if isinstance(one, ast.Name) else one.arg
            for node in (*(node for node, _ in statements), call)
            for one in walk(node)
            if isinstance(one, ast.arg) or (isinstance(one, ast.Name) and _stored(one))
        }

    def source(self, node: ast.AST, step: Step) -> str:
        """The source of a statement or expression, with what it needs noted."""
        if any(isinstance(one, ast.Await | ast.Yield | ast.YieldFrom) for one in walk(node)):
            raise CannotCarve("await or yield inside of an expression")
        visitor = _Visitor(self, step)
        changed = visitor.visit(clone(node))
        for name in free_names(changed) - self.local - visitor.placed:
            if name in self.imports or name in _BUILTINS:
                continue
            if step.module and self.known(step.module, name):
                continue
            raise CannotCarve(f"the name {'self' if name == 'self' else 'of another kind'}")
        return ast.unparse(ast.fix_missing_locations(changed))

    def known(self, module: str, name: str) -> bool:
        """Whether a name of the module that a docstring stands in can be had, and have it."""
        if module == self.module:
            return name in self.defined
        if module.partition(".")[0] != self.package.name.partition(".")[0]:
            return False
        self.need(name, self.package.home(f"{module}:{name}"))
        return True

    def need(self, name: str, place: str) -> None:
        """Note an import. Raises `CannotCarve` where two things have one name."""
        if self.imports.setdefault(name, place) != place:
            raise CannotCarve("two things of one name")


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


class _Visitor(ast.NodeTransformer):
    def __init__(self, maker: _Renderer, step: Step) -> None:
        self.maker = maker
        self.step = step
        self.placed: set[str] = set()
        """Names of the module under test that were written."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        place = self._place(node)
        if place is None:
            return self.generic_visit(node)
        root = root_of(node) or ""
        if ":" in place:
            own = self._own(place)
            if own is not None:
                return ast.copy_location(own, node)
            return self.generic_visit(node)
        if self.step.names.get(root) == place:
            return self.generic_visit(node)
        last = place.rpartition(".")[2]
        if last in self.maker.local:
            last = place.replace(".", "_")
        self.maker.need(last, place)
        return ast.copy_location(ast.Name(last, ast.Load()), node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        place = self._place(node)
        if place is None or _stored(node):
            return node
        own = self._own(place)
        if own is not None:
            return ast.copy_location(own, node)
        if place.partition(":")[0] in ("pytest", "unittest", "mock", "unittest.mock", "conftest"):
            raise CannotCarve("what only tests have")
        self.maker.need(node.id, place)
        return node

    def _place(self, node: ast.expr) -> str | None:
        root = root_of(node)
        if root is None or root in self.maker.local or root in self.maker.inner:
            return None
        return place_of(node, self.step.names, self.maker.package)

    def _own(self, place: str) -> ast.expr | None:
        """How the module under test itself names what lies at a place."""
        module, mark, qualname = place.partition(":")
        first, *rest = qualname.split(".")
        if not mark or module != self.maker.module or first in self.maker.local:
            return None
        if first not in self.maker.defined:
            return None
        self.placed.add(first)
        node: ast.expr = ast.Name(first, ast.Load())
        for name in rest:
            node = ast.Attribute(node, name, ast.Load())
        return node
