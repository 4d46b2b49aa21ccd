"""Part of a module that a function may use, by names; the rest of a large file is ignored.

Facts and edits come from this part only. A function that another module or a registry hands over
is not found by its name, but by having been reached (`also`). Also here: whether calling it changes
the module. Where it does, a second program must not run in the same loaded module: it would find
the caches, counters and registries of the first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator

from refute.source.syntax import Function, find_function

__all__ = ["definitions", "keeps_state", "names_in", "neighbours", "reachable"]

NEAR = 8
"""Functions of the module, at most, that an edit may call although nothing that is reached does."""


def reachable(
    tree: ast.Module, names: Iterable[str], also: Collection[int] = frozenset()
) -> ast.Module:
    """The imports and the statements at the top level that code which starts from `names` may use.

    The nodes are those of `tree`. `also`: ids of nodes whose statements are taken in any case.
    """
    defined: dict[str, list[int]] = {}
    waiting = list(names)
    for place, node in enumerate(tree.body):
        for name in _bound(node):
            defined.setdefault(name, []).append(place)
        if also and any(id(child) in also for child in ast.walk(node)):
            waiting += _bound(node)
    found, seen = set[int](), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            for place in defined.get(name, ()):
                found.add(place)
                waiting += names_in(tree.body[place])
    kept = [
        node
        for place, node in enumerate(tree.body)
        if place in found or isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return ast.Module(body=kept, type_ignores=[])


def neighbours(tree: ast.Module, name: str) -> list[str]:
    """The functions of the module, nearest to the one called `name` first, a few."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = find_function(tree, name)
    own = 0 if found is None else found.lineno
    return [n.name for n in sorted(functions, key=lambda n: abs(n.lineno - own))][:NEAR]


def definitions(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module's top level, also those under a condition."""
    for node in body:
        yield node
        if not isinstance(node, Function | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from definitions(getattr(node, name, None) or ())
            for handler in getattr(node, "handlers", ()):
                yield from definitions(handler.body)


def names_in(node: ast.AST) -> set[str]:
    """Every name that a statement mentions."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bound(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top level binds, or changes."""
    for one in definitions([node]):
        if isinstance(one, Function | ast.ClassDef):
            yield one.name
        elif isinstance(one, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in one.names)
        elif isinstance(one, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Delete):
            yield from _roots(one)
        else:
            heads = [getattr(one, name, None) for name in ("target", "test", "iter")]
            for head in heads:
                if isinstance(head, ast.AST):
                    yield from (n.id for n in ast.walk(head) if isinstance(n, ast.Name))


def _roots(node: ast.stmt) -> Iterator[str]:
    """`a` of `a = 1`, `a.b[0] = 1` and `a.update(b)`."""
    for child in ast.walk(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
            yield child.id
        elif isinstance(child, ast.Attribute | ast.Subscript):
            at_work = isinstance(child.ctx, ast.Store) or isinstance(node, ast.Expr)
            if at_work and isinstance(child.value, ast.Name):
                yield child.value.id


_CHANGING = re.compile(
    "add|append(left)?|clear|discard|extend(left)?|insert|move_to_end|pop(item|left)?|push|put|"
    "register|remove|reverse|rotate|seed|send|setdefault|sort|subtract|write|.*update"
)
"""Methods that change what they are called on."""
_REMEMBERING = ("cache", "memo", "once", "lazy", "singleton")
"""In the name of a decorator from elsewhere: it may keep results. `functools`'s own are emptied by
the sandbox before each program."""
_EMPTIED = frozenset({"cache", "lru_cache", "functools.cache", "functools.lru_cache"})
_HARMLESS = re.compile(
    r"((re|operator|decimal|fractions|collections|typing|logging|struct|datetime|os|str)\.)?"
    "(compile|frozenset|tuple|namedtuple|object|TypeVar|getLogger|int|str|float|bool|bytes|range|"
    "len|sorted|itemgetter|attrgetter|getenv|Decimal|Fraction|maketrans|Struct|timedelta|datetime|"
    "date)"
)
"""Calls whose results no method call changes."""


def keeps_state(tree: ast.Module, names: Iterable[str]) -> bool:
    """Return whether calls of functions called `names` may leave state behind in the module.

    By names, on the careful side: a function that may reach a statement which stores into something
    that outlives a call keeps state.
    """
    defined: dict[str, list[ast.stmt]] = {}
    for node in definitions(tree.body):
        for name in _assigned(node):
            defined.setdefault(name, []).append(node)
    lasting = {
        name
        for name, nodes in defined.items()
        if not all(isinstance(n, ast.Import | ast.ImportFrom) for n in nodes)
    }
    instances = {name for name in lasting if any(map(_is_instance, defined[name]))}
    decorators = {
        name
        for node in ast.walk(tree)
        if isinstance(node, Function | ast.ClassDef)
        for decorator in node.decorator_list
        for name in names_in(decorator)
    }
    for node in definitions(reachable(tree, names).body):
        if isinstance(node, Function) and node.name in decorators:
            # It runs on import; what it returns runs in each call, and its variables last.
            inner = [child for child in ast.walk(node) if isinstance(child, Function)][1:]
            found = any(_changes(one, lasting, instances, set(), closures=True) for one in inner)
        else:
            defined_here = isinstance(node, Function | ast.ClassDef)
            found = defined_here and _changes(node, lasting, instances, set(), closures=False)
        if found:
            return True
    return False


def _assigned(node: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top level binds."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    else:
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                yield child.id


def _is_instance(node: ast.stmt) -> bool:
    """Return whether the bound value looks like an object with a state of its own."""
    value = getattr(node, "value", None)
    if not isinstance(value, ast.Call):
        return False
    return not _HARMLESS.fullmatch(ast.unparse(value.func))


def _changes(
    node: ast.AST, lasting: set[str], instances: set[str], own: set[str], *, closures: bool
) -> bool:
    """Return whether a definition holds a statement that changes what outlives a call.

    `own`: local names of the functions around; `closures`: those of an outer function last too,
    since it is a decorator.
    """
    if isinstance(node, Function | ast.Lambda):
        mine = _locals(node)
        if not isinstance(node, ast.Lambda) and _remembers(node):
            return True
        own = mine if closures else own | mine
        own = own - _mutable_defaults(node)
        lasting = lasting | _mutable_defaults(node)
        inside = own
    else:
        inside = own
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Global):
            return True
        if isinstance(child, ast.Nonlocal) and closures:
            return True
        if _stores(child, inside, lasting, closures) or _calls(
            child, inside, lasting, instances, closures
        ):
            return True
        if _changes(child, lasting, instances, inside, closures=closures):
            return True
    return False


def _remembers(node: Function) -> bool:
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = ast.unparse(target)
        if name not in _EMPTIED and any(word in name.lower() for word in _REMEMBERING):
            return True
    return False


def _stores(node: ast.AST, own: set[str], lasting: set[str], closures: bool) -> bool:
    """Return whether it stores into an item or attribute of an object that outlives a call."""
    if not isinstance(node, ast.Subscript | ast.Attribute):
        return False
    if isinstance(node.ctx, ast.Load):
        return False
    root = _root(node)
    if root is None:
        return False
    if root == "cls":
        return True
    return _lasts(root, own, lasting, closures)


def _calls(
    node: ast.AST, own: set[str], lasting: set[str], instances: set[str], closures: bool
) -> bool:
    """Return whether it is a call that changes what outlives it."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        if node.func.id in ("globals", "setattr", "delattr"):
            return True
        name = node.func.id
        if name in instances and name not in own:
            return True
        root = _root(node.args[0]) if name == "next" and node.args else None
        return root is not None and _lasts(root, own, lasting, closures)
    if not isinstance(node.func, ast.Attribute):
        return False
    root = _root(node.func.value)
    if root is None or not _lasts(root, own, lasting, closures):
        return False
    return bool(_CHANGING.fullmatch(node.func.attr)) or root in instances


def _lasts(name: str, own: set[str], lasting: set[str], closures: bool) -> bool:
    if name in own:
        return False
    return name in lasting or closures


def _root(node: ast.AST) -> str | None:
    """`a` of `a.b[0].c`."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _locals(node: Function | ast.Lambda) -> set[str]:
    """Parameters and names that are assigned in the function itself."""
    given = node.args
    found = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    found |= {a.arg for a in (given.vararg, given.kwarg) if a is not None}
    waiting: list[ast.AST] = list(ast.iter_child_nodes(node))
    while waiting:
        child = waiting.pop()
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            found.add(child.id)
        if isinstance(child, Function | ast.ClassDef):
            found.add(child.name)
        elif isinstance(child, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in child.names}
        elif not isinstance(child, ast.Lambda):
            if isinstance(child, ast.ExceptHandler) and child.name:
                found.add(child.name)
            waiting += ast.iter_child_nodes(child)
    return found


def _mutable_defaults(node: Function | ast.Lambda) -> set[str]:
    """Parameters whose default is made once and can be changed."""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    pairs = [
        *zip(positional[len(positional) - len(given.defaults) :], given.defaults, strict=True),
        *((a, d) for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d),
    ]
    changeable = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)
    return {a.arg for a, default in pairs if isinstance(default, changeable)}
