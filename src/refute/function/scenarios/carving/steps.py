"""Statements of a test as a line of simple steps: loops taken once a row, contexts entered.

What a step cannot say (a definition, a loop without end) is kept as a *problem*: whoever needs the
names that it binds cannot be carved.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from refute.function.scenarios.carving.trees import clone, walk

MOST_TURNS = 8
"""Rows of a loop over a literal table."""
_RAISING = ("raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "raises_regex")
_TRANSPARENT = frozenset(
    {"warns", "deprecated_call", "catch_warnings", "subTest", "nullcontext", "suppress",
     "assertWarns", "assertWarnsRegex", "assertLogs", "does_not_raise"}
)  # fmt: skip
_LOOKING = frozenset(
    {"print", "len", "repr", "str", "isinstance", "type", "id", "bool", "hash", "callable",
     "hasattr", "getattr", "int", "float", "tuple", "frozenset", "issubclass", "vars", "dir"}
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One simple statement, or expressions that are only looked at."""

    node: ast.stmt | None
    """None: it can be no part of a set-up."""
    looked: tuple[ast.expr, ...]
    """Where calls of targets are looked for."""
    names: Mapping[str, str]
    """What the imports of its file bind, and their places."""
    tested: bool = True
    """Whether calls are looked for in it at all."""
    binds: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    """Names whose objects it may change."""
    problem: str = ""
    module: str = ""
    """The module whose globals it sees beside; "" where that is a test file."""


def free_names(node: ast.AST) -> set[str]:
    """The names that an expression or statement reads and does not bind itself inside of it."""
    read: set[str] = set()
    own: set[str] = set()
    for one in walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            read.add(one.id)
        elif isinstance(one, ast.comprehension):
            own |= {n.id for n in walk(one.target) if isinstance(n, ast.Name)}
        elif isinstance(one, ast.NamedExpr) and isinstance(one.target, ast.Name):
            own.add(one.target.id)
        elif isinstance(one, ast.arg):
            own.add(one.arg)
    return read - own


def identifiers(node: ast.AST) -> set[str]:
    """Every name and attribute in a tree."""
    found = set()
    for one in walk(node):
        if isinstance(one, ast.Name):
            found.add(one.id)
        elif isinstance(one, ast.Attribute):
            found.add(one.attr)
        elif isinstance(one, ast.alias):
            found.add(one.name)
    return found


def root_of(node: ast.expr) -> str | None:
    """`c` of ``c.items[0].add``."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def substituted(node: ast.AST, values: Mapping[str, ast.expr]) -> ast.AST:
    """A copy with expressions in the place of names that are read."""
    return _Substitution(values).visit(clone(node)) if values else node


class _Substitution(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self.values.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if value is None else clone(value)


def as_lambda(node: ast.stmt, *, method: bool = False) -> ast.Lambda | None:
    """A function that only returns an expression, as a lambda; `method`: without `self`."""
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return None
    body = [one for one in node.body if not _is_constant(one)]
    match body:
        case [ast.Return(value=ast.expr() as value)] if not _waits(value):
            given = clone(node.args)
            if method and (given.posonlyargs or given.args):
                (given.posonlyargs or given.args).pop(0)
            for one in walk(given):
                if isinstance(one, ast.arg):
                    one.annotation = None
            return ast.Lambda(given, value)
    return None


def _is_constant(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _waits(node: ast.AST) -> bool:
    return any(isinstance(one, ast.Await | ast.Yield | ast.YieldFrom) for one in walk(node))


# -- one statement ---------------------------------------------------------------------------------


def step_of(
    node: ast.stmt, names: Mapping[str, str], *, tested: bool = True, module: str = ""
) -> Step:
    """The step of a simple statement."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        node = ast.Assign([node.target], node.value, lineno=node.lineno)
    value: ast.expr | None = getattr(node, "value", None)
    if isinstance(node, ast.Assign | ast.Expr) and isinstance(value, ast.Await):
        node = clone(node)
        node.value = value = value.value
    binds: set[str] = set()
    changes: set[str] = set()
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    for target in targets:
        for one in walk(target):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                (changes if isinstance(node, ast.AugAssign) else binds).add(one.id)
            elif isinstance(one, ast.Attribute | ast.Subscript):
                changes |= {root_of(one) or ""}
    if value is not None:
        changes |= _changed(value, given=isinstance(node, ast.Expr))
    problem = "await or yield inside of an expression" if _waits(node) else ""
    looked = (value,) if value is not None else ()
    return Step(
        node, looked, names, tested, frozenset(binds), frozenset(changes - {""}), problem, module
    )


def _changed(node: ast.expr, *, given: bool) -> set[str]:
    """Names on which methods are called; `given`: those that are passed to a function, too."""
    found: set[str] = set()
    for one in walk(node):
        if not isinstance(one, ast.Call):
            continue
        if isinstance(one.func, ast.Attribute):
            found |= {root_of(one.func) or ""}
        name = one.func.id if isinstance(one.func, ast.Name) else ""
        if (given and name not in _LOOKING) or name == "next":
            arguments = [*one.args, *(keyword.value for keyword in one.keywords)]
            found |= {arg.id for arg in arguments if isinstance(arg, ast.Name)}
    return found - {""}


# -- many statements -------------------------------------------------------------------------------


def flattened(
    body: Sequence[ast.stmt], names: Mapping[str, str], *, tested: bool = True, module: str = ""
) -> Iterator[Step]:
    """The steps of statements, in the order in which they would run."""
    for node in body:
        yield from _flat(node, names, tested, module)


def _flat(node: ast.stmt, names: Mapping[str, str], tested: bool, module: str) -> Iterator[Step]:
    def steps(body: Sequence[ast.stmt]) -> Iterator[Step]:
        return flattened(body, names, tested=tested, module=module)

    def seen(*looked: ast.expr) -> Step:
        changes = {name for one in looked for name in _changed(one, given=False)}
        return Step(None, looked, names, tested, changes=frozenset(changes), module=module)

    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Expr(value=ast.Call(func=func) as call) if _checks(func):
            yield seen(*_checked(call))
        case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr() | ast.Delete():
            yield step_of(node, names, tested=tested, module=module)
        case ast.Assert(test=test):
            yield seen(test)
        case ast.With() | ast.AsyncWith():
            yield from _context(node, names, tested, module)
        case (
            ast.For(target=target, iter=table, body=inner)
            | ast.AsyncFor(target=target, iter=table, body=inner)
        ):
            yield seen(table)
            rows = literal_rows(target, table) if isinstance(node, ast.For) else None
            if rows is None:  # the first turn
                first = _call("next", _call("iter", table))
                assign = ast.Assign([target], first, lineno=node.lineno)
                yield step_of(assign, names, tested=False, module=module)
                yield from steps(inner)
                return
            for row in rows[:MOST_TURNS]:
                for name, value in row.items():
                    assign = ast.Assign([ast.Name(name, ast.Store())], value, lineno=node.lineno)
                    yield step_of(assign, names, tested=False, module=module)
                yield from steps(inner)
        case ast.If(test=test, body=inner):
            yield seen(test)
            yield from steps(inner)
        case ast.Try(body=inner, orelse=orelse, finalbody=final):
            yield from steps([*inner, *orelse, *final])
        case ast.FunctionDef(name=name) if (made := as_lambda(node)) is not None:
            assign = ast.Assign([ast.Name(name, ast.Store())], made, lineno=node.lineno)
            yield step_of(assign, names, tested=False, module=module)
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            kind = "a class" if isinstance(node, ast.ClassDef) else "a function"
            yield Step(
                None, (), names, False, frozenset({node.name}), problem=f"{kind} of the test"
            )
        case ast.Return(value=ast.expr() as value):
            yield seen(value)
        case ast.While():
            stored = {n.id for n in walk(node)
                      if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
            yield Step(None, (), names, False, frozenset(stored), problem="a loop")


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def _checks(func: ast.expr) -> bool:
    """Whether a function is an assertion of unittest, or pytest's ``raises`` as a function."""
    match func:
        case ast.Attribute(value=ast.Name("self" | "cls"), attr=name):
            return name.startswith("assert")
        case ast.Attribute(value=ast.Name("pytest"), attr="raises"):
            return True
        case ast.Name(name):
            return name in ("raises", "assert_raises", "assert_equal", "assert_", "eq_", "ok_")
    return False


def _checked(call: ast.Call) -> list[ast.expr]:
    """What an assertion looks at; of ``raises(E, f, x)`` the call ``f(x)``."""
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if name in (*_RAISING, "assert_raises") and len(call.args) >= 2:
        function, *arguments = call.args[1:]
        if name.endswith(("Regex", "Regexp")) and len(call.args) >= 3:
            function, *arguments = call.args[2:]
        keywords = [one for one in call.keywords if one.arg not in ("match", "msg")]
        if isinstance(function, ast.Lambda):
            return [function.body]
        return [ast.Call(function, arguments, keywords)]
    return list(call.args)


def _context(
    node: ast.With | ast.AsyncWith, names: Mapping[str, str], tested: bool, module: str
) -> Iterator[Step]:
    raising = False
    for item in node.items:
        context, target = item.context_expr, item.optional_vars
        func = context.func if isinstance(context, ast.Call) else context
        name = getattr(func, "attr", getattr(func, "id", ""))
        if name in _RAISING:
            raising = True
        elif name in _TRANSPARENT or isinstance(node, ast.AsyncWith):
            continue
        else:
            enter = context
            if name != "open":
                enter = ast.Call(ast.Attribute(context, "__enter__", ast.Load()), [], [])
            stored: ast.stmt = ast.Expr(enter)
            if target is not None:
                stored = ast.Assign([target], enter, lineno=node.lineno)
            step = step_of(stored, names, tested=tested, module=module)
            yield Step(
                step.node, (context,), names, tested, step.binds, step.changes, step.problem, module
            )
    steps = list(flattened(node.body, names, tested=tested, module=module))
    if raising and steps:  # the last statement raises: it is no part of a set-up
        last = steps.pop()
        steps.append(Step(None, last.looked, names, tested, module=module))
    yield from steps


def literal_rows(target: ast.expr, table: ast.expr) -> list[dict[str, ast.expr]] | None:
    """What a loop over a table of expressions binds in each turn; None where it cannot be told."""
    match table:
        case ast.List(elts) | ast.Tuple(elts) | ast.Set(elts):
            rows = list(elts)
        case ast.Call(func=ast.Attribute(value=ast.Dict(keys, values), attr="items"), args=[]):
            rows = [ast.Tuple([k, v], ast.Load()) for k, v in zip(keys, values, strict=True) if k]
        case _:
            return None
    found = []
    for row in rows:
        bound = _bound(target, row)
        if bound is None:
            return None
        found.append(bound)
    return found


def _bound(target: ast.expr, value: ast.expr) -> dict[str, ast.expr] | None:
    match target, value:
        case ast.Name(name), _ if not isinstance(value, ast.Starred):
            return {name: value}
        case ((ast.Tuple(names) | ast.List(names)), (ast.Tuple(values) | ast.List(values))):
            if len(names) != len(values):
                return None
            found: dict[str, ast.expr] = {}
            for one, inner in zip(names, values, strict=True):
                bound = _bound(one, inner)
                if bound is None:
                    return None
                found |= bound
            return found
    return None


def assignment(name: str, value: ast.expr) -> ast.Assign:
    owner, _, last = name.rpartition(".")
    target: ast.expr = ast.Name(last, ast.Store())
    if owner:
        target = ast.Attribute(ast.Name(owner, ast.Load()), last, ast.Store())
    return ast.Assign([target], value, lineno=1)


def untested(step: Step) -> Step:
    return Step(
        step.node, step.looked, step.names, False, step.binds, step.changes, step.problem,
        step.module,
    )  # fmt: skip
