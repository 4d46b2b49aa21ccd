"""Which calls in a session are those of a target, as far as their source shows."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from refute.function.scenarios.carving.places import Package
from refute.function.scenarios.carving.slicing import place_of, reaching
from refute.function.scenarios.carving.steps import (
    MOST_TURNS,
    Step,
    literal_rows,
    step_of,
    substituted,
)

_CERTAIN, _LIKELY, GUESSED = range(3)
_COMMON = frozenset(
    name for kind in (str, bytes, list, dict, set, int, float, tuple, type) for name in dir(kind)
)
_CALLED_BY_BUILTINS = {
    f"__{name}__": name
    for name in ("abs", "bool", "bytes", "dir", "float", "format", "hash", "int", "iter", "len",
                 "next", "repr", "reversed", "round", "str")
}  # fmt: skip
"""Special method -> the built-in function that calls it on its first argument."""
_OPERATORS: dict[str, type[ast.AST]] = {
    "__add__": ast.Add, "__sub__": ast.Sub, "__mul__": ast.Mult, "__truediv__": ast.Div,
    "__floordiv__": ast.FloorDiv, "__mod__": ast.Mod, "__pow__": ast.Pow, "__matmul__": ast.MatMult,
    "__and__": ast.BitAnd, "__or__": ast.BitOr, "__xor__": ast.BitXor,
    "__lshift__": ast.LShift, "__rshift__": ast.RShift,
    "__eq__": ast.Eq, "__ne__": ast.NotEq, "__lt__": ast.Lt, "__le__": ast.LtE, "__gt__": ast.Gt,
    "__ge__": ast.GtE, "__neg__": ast.USub, "__pos__": ast.UAdd, "__invert__": ast.Invert,
}  # fmt: skip
"""Special method -> the operator that calls it on its first operand."""


@dataclass(frozen=True, slots=True)
class Target:
    key: str
    module: str
    qualname: str
    is_property: bool
    is_class: bool
    home: str
    """The module in which its scenarios run, and the names that it binds."""
    defined: frozenset[str]

    @property
    def owner(self) -> str:
        """The place of its class, "" where it has none."""
        owner = self.qualname.rpartition(".")[0]
        return f"{self.module}:{owner}" if owner else ""

    @property
    def last(self) -> str:
        return self.qualname.rpartition(".")[2]

    @property
    def words(self) -> set[str]:
        """Names, of which a test that calls it has one."""
        found = {self.last}
        if self.owner and self.last in _CALLED_BY_BUILTINS:
            found.add(_CALLED_BY_BUILTINS[self.last])
        if self.owner and self.last in (*_OPERATORS, "__call__", "__getitem__", "__contains__"):
            found.add(self.owner.rpartition(":")[2].rpartition(".")[2])
        return found


def target_of(key: str, package: Package, seen_from: str | None) -> Target:
    module, _, qualname = key.partition(":")
    owner, _, last = qualname.rpartition(".")
    members = package.classes.get(f"{module}:{owner}")
    is_property = members is not None and members.members.get(last) == "property"
    home = seen_from or module
    defined = set(package.bound.get(home, ()))
    defined |= {qualname.partition(".")[0]} if home == module else set()
    is_class = key in package.classes
    return Target(key, module, qualname, is_property, is_class, home, frozenset(defined))


def candidates(
    expression: ast.expr, target: Target, step: Step
) -> Iterator[tuple[ast.expr, list[Step]]]:
    """Calls (or attributes) that may be the target's, with what comprehensions around them bind
    in their first turns."""
    left: list[tuple[ast.AST, list[ast.comprehension]]] = [(expression, [])]
    while left:
        node, loops = left.pop()
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.expr) and _may_be(node, target):
            turns = [_turns(loop, step) for loop in loops]
            for turn in islice(product(*turns), MOST_TURNS):
                yield node, [one for steps in turn for one in steps]
        inner = loops
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            inner = [*loops, *node.generators]
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.comprehension):
                left.append((child.iter, loops))
            else:
                left.append((child, inner))


def _may_be(node: ast.expr, target: Target) -> bool:
    if target.owner and _implied(node, target.last) is not None:
        return True
    match node:
        case ast.Call(func=ast.Name() | ast.Call()):
            return not target.is_property
        case ast.Call(func=ast.Attribute(attr=name)):
            return name == target.last and not target.is_property
        case ast.Attribute(attr=name):
            return name == target.last and target.is_property
    return False


def _implied(node: ast.expr, method: str) -> ast.expr | None:
    """The receiver of a special method that syntax calls: `x` of `repr(x)`, `x[0]`, `x()`."""
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute() as receiver) if method == "__call__":
            return receiver
        case ast.Call(func=ast.Name(name), args=[receiver, *_]):
            if name == _CALLED_BY_BUILTINS.get(method):
                return receiver
        case ast.Subscript(value=receiver, ctx=ast.Load()):
            return receiver if method == "__getitem__" else None
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[receiver]):
            return receiver if method == "__contains__" else None
        case (
            ast.Compare(left=receiver, ops=[op])
            | ast.BinOp(left=receiver, op=op)
            | ast.UnaryOp(operand=receiver, op=op)
        ):
            return receiver if type(op) is _OPERATORS.get(method) else None
    return None


def _turns(loop: ast.comprehension, step: Step) -> list[list[Step]]:
    """The first turns of a comprehension's loop, as the statements that bind its names."""
    if loop.ifs or loop.is_async:
        return []
    rows = literal_rows(loop.target, loop.iter)
    if rows is None:
        first = ast.parse("next(iter(x))", mode="eval").body
        value = substituted(first, {"x": loop.iter})
        assert isinstance(value, ast.expr)
        return [
            [step_of(ast.Assign([loop.target], value, lineno=1), step.names, module=step.module)]
        ]
    return [
        [
            step_of(
                ast.Assign([ast.Name(name, ast.Store())], value, lineno=1),
                step.names,
                module=step.module,
            )
            for name, value in row.items()
        ]
        for row in rows[:3]
    ]


def matched(
    node: ast.expr, target: Target, steps: Sequence[Step], index: int, package: Package
) -> tuple[int, ast.expr] | None:
    """How sure it is that an expression is the target's call, and the expression to observe."""
    step = steps[index]
    implied = _implied(node, target.last) if target.owner else None
    if implied is not None:
        rank = _rank(implied, target, steps, index, package)
        if rank == _CERTAIN:
            return rank, node
        alike = rank is not None and _named_like(implied, target, steps, index)
        if alike and target.last != "__call__":  # anything may be called
            return _LIKELY, node
    if isinstance(node, ast.Call):
        if _makes_what_is_called(node.func, target, steps, index, package):
            return _LIKELY, node
        func = _aliased(node.func, steps, index)
        place = _place(func, steps, index, package)
        if place is not None and ":" in place:
            return (
                (_CERTAIN, ast.Call(func, node.args, node.keywords))
                if _is(place, target, package)
                else None
            )
        if step.module and isinstance(func, ast.Name):
            own = reaching(func.id, steps, index) is None
            if own and package.home(f"{step.module}:{func.id}") == target.key:
                return _CERTAIN, node
        if not isinstance(func, ast.Attribute) or func.attr != target.last or not target.owner:
            return None
        receiver = func.value
    elif isinstance(node, ast.Attribute) and node.attr == target.last and target.owner:
        receiver = node.value
        if _place(node, steps, index, package) is not None:
            return None
    else:
        return None
    rank = _rank(receiver, target, steps, index, package)
    return None if rank is None else (rank, node)


def _makes_what_is_called(
    func: ast.expr, target: Target, steps: Sequence[Step], index: int, package: Package
) -> bool:
    """Whether a function that is called is a result of the target."""
    if isinstance(func, ast.Name):
        at = reaching(func.id, steps, index)
        value = getattr(steps[at].node, "value", None) if at is not None else None
        if at is None or not isinstance(value, ast.Call):
            return False
        func, index = value, at
    return isinstance(func, ast.Call) and (
        not isinstance(func.func, ast.Call)
        and not target.is_class
        and matched(func, target, steps, index, package) is not None
    )


def _is(place: str, target: Target, package: Package) -> bool:
    if place == target.key:
        return True
    owner, _, last = place.rpartition(".")
    return (
        bool(target.owner)
        and last == target.last
        and (package.definer(owner, last) == target.owner)
    )


def _place(node: ast.expr, steps: Sequence[Step], index: int, package: Package) -> str | None:
    """The place of a dotted name whose first part no step binds."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if not isinstance(inner, ast.Name) or reaching(inner.id, steps, index) is not None:
        return None
    step = steps[index]
    names = step.names
    if step.module and inner.id not in names:
        names = {inner.id: f"{step.module}:{inner.id}"}
    return place_of(node, names, package)


def _aliased(node: ast.expr, steps: Sequence[Step], index: int) -> ast.expr:
    """What a variable stands for where it was given another name of a function."""
    if isinstance(node, ast.Name):
        at = reaching(node.id, steps, index)
        if at is not None:
            value = getattr(steps[at].node, "value", None)
            if isinstance(value, ast.Name | ast.Attribute):
                return value
    return node


def _rank(
    receiver: ast.expr, target: Target, steps: Sequence[Step], index: int, package: Package
) -> int | None:
    """How sure it is that a receiver is of the target's class; None: it is not."""
    cls = _class_of(receiver, steps, index, package, 8)
    if cls is not None and cls in package.classes:
        return _CERTAIN if package.definer(cls, target.last) == target.owner else None
    if cls is not None:
        return None
    definers = package.definers(target.last)
    if len(definers) == 1 and target.last not in _COMMON:
        return _LIKELY
    return GUESSED


def _named_like(receiver: ast.expr, target: Target, steps: Sequence[Step], index: int) -> bool:
    """Whether a receiver, or what made it, is called as the target's class is: of the syntax that
    every class shares nothing else tells whose method it calls."""
    owner = target.owner.rpartition(":")[2].rpartition(".")[2].lower().strip("_")
    names = [_outermost(receiver)]
    if isinstance(receiver, ast.Name):
        at = reaching(receiver.id, steps, index)
        value = getattr(steps[at].node, "value", None) if at is not None else None
        if isinstance(value, ast.expr):
            names.append(_outermost(value))
    labels = ["".join(name.lower().split("_")) for name in names]
    return any(len(one) > 2 and (one in owner or owner in one) for one in labels)


def _outermost(node: ast.expr) -> str:
    """The last name of a call, an attribute or a variable."""
    match node:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _outermost(inner)
        case ast.Attribute(attr=name) | ast.Name(name):
            return name
    return ""


def _class_of(
    node: ast.expr, steps: Sequence[Step], index: int, package: Package, depth: int
) -> str | None:
    """The place of an expression's class, or "?" for one that is none of the package's; None: it
    cannot be seen."""
    if depth == 0:
        return None
    match node:
        case ast.Name(name):
            at = reaching(name, steps, index)
            if at is None:
                return None
            assigned = steps[at].node
            if isinstance(assigned, ast.Assign) and isinstance(assigned.targets[0], ast.Name):
                return _class_of(assigned.value, steps, at, package, depth - 1)
            return None
        case ast.Call(func=ast.Attribute(value=inner, attr="__enter__")):
            return _class_of(inner, steps, index, package, depth - 1)
        case ast.Call(func=func):
            return _class_called(_aliased(func, steps, index), steps, index, package, depth)
        case (
            ast.Constant() | ast.List() | ast.Dict() | ast.Tuple() | ast.Set() | ast.JoinedStr()
            | ast.ListComp() | ast.DictComp() | ast.GeneratorExp() | ast.Compare() | ast.Lambda()
        ):  # fmt: skip
            return "?"
    return None


def _class_called(
    func: ast.expr, steps: Sequence[Step], index: int, package: Package, depth: int
) -> str | None:
    place = _place(func, steps, index, package)
    if place is None:
        at = reaching(func.id, steps, index) if isinstance(func, ast.Name) else None
        value = getattr(steps[at].node, "value", None) if at is not None else None
        if at is not None and isinstance(value, ast.Lambda):
            return _class_of(value.body, steps, at, package, depth - 1)
        if isinstance(func, ast.Attribute):
            owner = _class_of(func.value, steps, index, package, depth - 1)
            definer = package.definer(owner, func.attr) if owner else None
            return package.returns.get(f"{definer}.{func.attr}") if definer else None
        return None
    if place in package.classes:
        return place
    if place in package.returns:
        return package.returns[place]
    owner = place.rpartition(".")[0]
    if owner in package.classes:
        return owner  # a classmethod that makes one, as it seems
    same = place.partition(":")[0].partition(".")[0] == package.name.partition(".")[0]
    return None if same else "?"
