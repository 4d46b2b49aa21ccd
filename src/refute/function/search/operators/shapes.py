"""Operators on the shape of expressions: other operator, hoisted child, extension, wrap, slice."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.edit import copy_of, located
from refute.function.search.facts import Facts, may_be, type_of
from refute.function.search.operators.values import Variant, const, load, number
from refute.function.search.sites import Site

__all__ = ["extensions", "hoists", "operators", "slices", "wraps"]

_COMPARE: dict[type[ast.cmpop], tuple[tuple[type[ast.cmpop], float], ...]] = {
    ast.Lt: ((ast.LtE, 0.0), (ast.Gt, -0.3), (ast.GtE, -0.7), (ast.Eq, -1.2), (ast.NotEq, -1.5)),
    ast.LtE: ((ast.Lt, 0.0), (ast.GtE, -0.3), (ast.Gt, -0.7), (ast.Eq, -1.2), (ast.NotEq, -1.5)),
    ast.Gt: ((ast.GtE, 0.0), (ast.Lt, -0.3), (ast.LtE, -0.7), (ast.Eq, -1.2), (ast.NotEq, -1.5)),
    ast.GtE: ((ast.Gt, 0.0), (ast.LtE, -0.3), (ast.Lt, -0.7), (ast.Eq, -1.2), (ast.NotEq, -1.5)),
    ast.Eq: ((ast.NotEq, 0.0), (ast.LtE, -1), (ast.GtE, -1), (ast.Lt, -1), (ast.Gt, -1)),
    ast.NotEq: ((ast.Eq, 0.0), (ast.Lt, -1), (ast.Gt, -1), (ast.LtE, -1.3), (ast.GtE, -1.3)),
    ast.In: ((ast.NotIn, 0.0), (ast.Eq, -1.5)),
    ast.NotIn: ((ast.In, 0.0), (ast.NotEq, -1.5)),
    ast.Is: ((ast.IsNot, 0.0), (ast.Eq, -0.5)),
    ast.IsNot: ((ast.Is, 0.0), (ast.NotEq, -0.5)),
}
ARITHMETIC: dict[type[ast.operator], tuple[tuple[type[ast.operator], float], ...]] = {
    ast.Add: ((ast.Sub, 0.0), (ast.Mult, -0.5), (ast.Mod, -2), (ast.FloorDiv, -2.3)),
    ast.Sub: ((ast.Add, 0.0), (ast.Mod, -1.2), (ast.Mult, -1.2), (ast.FloorDiv, -1.5), (ast.Div, -2)),
    ast.Mult: ((ast.Add, -0.4), (ast.Pow, -0.4), (ast.Div, -0.4), (ast.FloorDiv, -0.8), (ast.Sub, -1),
               (ast.Mod, -1.5)),
    ast.Div: ((ast.FloorDiv, 0.0), (ast.Mult, -0.5), (ast.Mod, -0.7), (ast.Sub, -1.5)),
    ast.FloorDiv: ((ast.Div, 0.0), (ast.Mod, 0.0), (ast.Mult, -1), (ast.Sub, -1.5)),
    ast.Mod: ((ast.FloorDiv, -0.7), (ast.Div, -0.7), (ast.Mult, -1.2), (ast.Sub, -1.2),
              (ast.Add, -2)),
    ast.Pow: ((ast.Mult, 0.0), (ast.Add, -1.5)),
    ast.BitAnd: ((ast.BitOr, 0.0), (ast.BitXor, -0.3)),
    ast.BitOr: ((ast.BitAnd, 0.0), (ast.BitXor, -0.3)),
    ast.BitXor: ((ast.BitAnd, 0.0), (ast.BitOr, 0.0)),
    ast.LShift: ((ast.RShift, 0.0),),
    ast.RShift: ((ast.LShift, 0.0),),
}  # fmt: skip
_SYMMETRIC = (ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)


def call(function: str, *args: ast.expr) -> ast.Call:
    return ast.Call(func=load(function), args=list(args), keywords=[])


def method(value: ast.expr, name: str, *args: ast.expr) -> ast.Call:
    attribute = ast.Attribute(value=value, attr=name, ctx=ast.Load())
    return ast.Call(func=attribute, args=list(args), keywords=[])


def negated(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(op=ast.Not(), operand=node)


def _compare(node: ast.Compare, at: int, op: ast.cmpop) -> ast.Compare:
    ops = [*node.ops[:at], op, *node.ops[at + 1 :]]
    return ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def operators(site: Site, facts: Facts) -> Iterator[Variant]:
    """Another comparison, arithmetic or boolean operator; operands the other way round."""
    node = site.node
    match node:
        case ast.Compare():
            for at, op in enumerate(node.ops):
                for other, extra in _COMPARE[type(op)]:
                    yield "compare", _compare(node, at, other()), extra
            if len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
                right = node.comparators[0]
                if isinstance(right, ast.Constant):
                    members = ast.Tuple(elts=[right], ctx=ast.Load())
                    for value in facts.told_integers if type(right.value) is int else ():
                        if value != right.value:
                            pair = ast.Tuple(elts=[right, const(value)], ctx=ast.Load())
                            op = ast.In() if isinstance(node.ops[0], ast.Eq) else ast.NotIn()
                            yield (
                                "compare set",
                                ast.Compare(left=node.left, ops=[op], comparators=[pair]),
                                0.0,
                            )
                    del members
            if len(node.ops) == 1 and isinstance(node.ops[0], ast.In | ast.NotIn):
                swapped = ast.Compare(
                    left=node.comparators[0], ops=node.ops, comparators=[node.left]
                )
                yield "swap operands", swapped, 0.0
        case ast.BinOp(left=left, op=op, right=right):
            for other_op, extra in ARITHMETIC.get(type(op), ()):
                yield "arithmetic", ast.BinOp(left=left, op=other_op(), right=right), extra
            plain = isinstance(op, ast.Add) and type_of(node, facts) in ("int", "float", "num")
            if not isinstance(op, _SYMMETRIC) and not plain:
                extra = -0.7 if isinstance(op, ast.Add) else 0.0
                yield "swap operands", ast.BinOp(left=right, op=op, right=left), extra
            yield from _rotations(node)
        case ast.BoolOp(op=op, values=values):
            new_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "boolean", ast.BoolOp(op=new_op, values=values), 0.0
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield "drop minus", operand, 0.0
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "swap branches", ast.IfExp(test=test, body=orelse, orelse=body), 0.0
        case ast.Tuple(elts=elts) | ast.List(elts=elts) if 1 < len(elts) <= 6:
            for i in range(len(elts)):
                for j in range(i + 1, len(elts)):
                    new = list(elts)
                    new[i], new[j] = new[j], new[i]
                    fresh: ast.expr = (
                        ast.Tuple(elts=new, ctx=node.ctx)
                        if isinstance(node, ast.Tuple)
                        else ast.List(elts=new, ctx=node.ctx)
                    )
                    yield "swap elements", fresh, 0.0


def _rotations(node: ast.BinOp) -> Iterator[Variant]:
    """`(a + b) * c` and `a + (b * c)`: the missing or surplus parentheses of a chain."""
    left, right = node.left, node.right
    if isinstance(left, ast.BinOp):
        inner = ast.BinOp(left=left.right, op=node.op, right=right)
        yield "parentheses", ast.BinOp(left=left.left, op=left.op, right=inner), 0.0
    if isinstance(right, ast.BinOp):
        inner = ast.BinOp(left=left, op=node.op, right=right.left)
        yield "parentheses", ast.BinOp(left=inner, op=right.op, right=right.right), 0.0


def hoists(site: Site, facts: Facts) -> Iterator[Variant]:
    """A part of an expression in its place: the inverse of surplus logic."""
    node = site.node
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield "drop operand", left, _dropped(op, right)
            yield "drop operand", right, _dropped(op, left) - 0.3
            if isinstance(left, ast.BinOp):
                # Drop the middle operand of a chain: (a op b) op2 c -> a op2 c, or a op c.
                middle = _dropped(left.op, left.right)
                additive = (ast.Add, ast.Sub)
                if isinstance(op, additive) != isinstance(left.op, additive):
                    middle -= 0.8
                yield "drop operand", ast.BinOp(left=left.left, op=op, right=right), middle
                yield "drop operand", ast.BinOp(left=left.left, op=left.op, right=right), middle - 0.2
                if isinstance(left.left, ast.BinOp):
                    deep = left.left
                    short = ast.BinOp(left=deep.left, op=left.op, right=left.right)
                    extra = _dropped(deep.op, deep.right)
                    yield "drop operand", ast.BinOp(left=short, op=op, right=right), extra - 0.2
            if isinstance(right, ast.BinOp):
                rest = ast.BinOp(left=left, op=op, right=right.right)
                yield "drop operand", rest, _dropped(op, right.left) - 0.3
        case ast.BoolOp(op=bool_op, values=values):
            for at in range(len(values)):
                rest = [*values[:at], *values[at + 1 :]]
                kept = rest[0] if len(rest) == 1 else ast.BoolOp(op=bool_op, values=rest)
                yield "drop condition", kept, 0.0
        case ast.Compare(left=left, ops=ops, comparators=comparators) if len(ops) > 1:
            yield "drop condition", ast.Compare(left, ops[:-1], comparators[:-1]), 0.0
            yield "drop condition", ast.Compare(comparators[0], ops[1:], comparators[1:]), 0.0
        case ast.Call(func=func, args=args, keywords=keywords):
            if len(args) == 1 and not isinstance(args[0], ast.Starred):
                yield "drop call", args[0], 0.0
            if isinstance(func, ast.Attribute) and not _is_module(func.value, facts):
                extra = 0.7 if func.attr in ("sort", "reverse", "append", "extend") else 0.0
                yield "drop method", func.value, extra
            if len(args) > 1:
                for at in range(len(args)):
                    less = [*args[:at], *args[at + 1 :]]
                    yield "drop argument", ast.Call(func, less, keywords), 0.0
                if not isinstance(func, ast.Attribute):
                    yield "hoist argument", args[0], 0.0
                    yield "hoist argument", args[1], -0.3
            for at in range(len(keywords)):
                less_keywords = [*keywords[:at], *keywords[at + 1 :]]
                yield "drop argument", ast.Call(func, args, less_keywords), 0.0
        case ast.Subscript(value=value, slice=index, ctx=ast.Load()):
            yield "drop subscript", value, 0.0
            if not isinstance(index, ast.Slice | ast.Tuple):
                yield "hoist index", index, 0.0
                for name in ("sum", "len", "max", "min"):
                    if may_be(value, facts, "list", "iter", "tuple", "set"):
                        yield "subscript to call", call(name, value), 0.0
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "drop not", operand, 0.0
        case ast.IfExp(body=body, orelse=orelse):
            yield "drop branch", body, 0.0
            yield "drop branch", orelse, 0.0
        case ast.ListComp(elt=elt, generators=generators) | ast.GeneratorExp(
            elt=elt, generators=generators
        ) if len(generators) == 1:
            if len(generators[0].ifs) > 1:
                bare = copy_of(generators[0])
                bare.ifs = bare.ifs[:1]
                yield "drop condition", type(node)(elt=elt, generators=[bare]), 0.0
            yield "drop comprehension", generators[0].iter, 0.0
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts) if 1 < len(elts) < 16:
            if isinstance(getattr(node, "ctx", None), ast.Store):
                return
            for at in range(len(elts)):
                less = [*elts[:at], *elts[at + 1 :]]
                if isinstance(node, ast.Set):
                    yield "drop element", ast.Set(elts=less), 0.0
                elif isinstance(node, ast.Tuple):
                    yield "drop element", ast.Tuple(elts=less, ctx=ast.Load()), 0.0
                else:
                    yield "drop element", ast.List(elts=less, ctx=ast.Load()), 0.0


def _dropped(op: ast.operator, part: ast.expr) -> float:
    """Surplus logic is small: `+ 1` is added by mistake more often than `+ f(x[i])`."""
    if isinstance(part, ast.Constant):
        return 0.5 if isinstance(op, ast.Add | ast.Sub) else 0.2
    return 0.2 - 0.12 * sum(1 for n in ast.walk(part) if isinstance(n, ast.expr))


def _is_module(node: ast.expr, facts: Facts) -> bool:
    return isinstance(node, ast.Name) and any(
        isinstance(stmt, ast.Import)
        and any((a.asname or a.name).split(".")[0] == node.id for a in stmt.names)
        for stmt in facts.tree.body
    )


def extensions(site: Site, facts: Facts) -> Iterator[Variant]:
    """`e + 1`, `e - 1`, `e + name` and the like; another condition beside a condition."""
    node = site.node
    if isinstance(node, ast.Constant | ast.Starred | ast.Lambda):
        return
    if site.field == "func" or isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    if site.is_test or type_of(node, facts) == "bool":
        yield from _conditions(site, facts)
        return
    if isinstance(node, ast.Slice) or (site.field == "value" and isinstance(site.owner, ast.Attribute)):
        return
    if site.field == "value" and isinstance(site.owner, ast.Subscript):
        return
    if isinstance(site.owner, ast.Expr):
        return
    if may_be(node, facts, "int", "float", "num"):
        bound = site.field in ("slice", "upper", "lower", "comparators", "args") or isinstance(
            site.owner, ast.Return
        )
        in_range = (
            isinstance(site.owner, ast.Call) and getattr(site.owner.func, "id", "") == "range"
        )
        extra = 0.9 if in_range else 0.0 if bound else -0.7
        yield "plus one", ast.BinOp(left=node, op=ast.Add(), right=const(1)), extra
        yield "minus one", ast.BinOp(left=node, op=ast.Sub(), right=const(1)), extra - 0.2
        for op, value in ((ast.Mult(), 2), (ast.FloorDiv(), 2), (ast.Mod(), 2), (ast.Mod(), 10),
                          (ast.Pow(), 2), (ast.Add(), 2), (ast.Sub(), 2)):  # fmt: skip
            yield "extend constant", ast.BinOp(left=node, op=op, right=const(value)), 0.0
        yield "minus", ast.UnaryOp(op=ast.USub(), operand=node), 0.0
        for value in facts.told_integers:
            if value > 2:
                for op in (ast.Mod(), ast.Mult(), ast.FloorDiv(), ast.Add(), ast.Sub()):
                    right = const(value)
                    yield "extend told", ast.BinOp(left=node, op=op, right=right), 0.0
    for place, name in enumerate(site.context.names[:8]):
        kind = facts.types.get(name, "?")
        here = type_of(node, facts)
        numbers = {"int", "float", "num"}
        if kind != here and "?" not in (kind, here) and not {kind, here} <= numbers:
            continue
        extra = -0.1 * place
        yield "extend name", ast.BinOp(left=node, op=ast.Add(), right=load(name)), extra
        if here not in ("str", "list"):
            for op in (ast.Sub(), ast.Mult(), ast.FloorDiv(), ast.Mod(), ast.Div()):
                wide = ast.BinOp(left=node, op=op, right=load(name))
                yield "extend name", wide, extra - 0.5
            flipped = ast.BinOp(left=load(name), op=ast.Sub(), right=node)
            yield "extend name", flipped, extra - 0.5
        else:
            flipped = ast.BinOp(left=load(name), op=ast.Add(), right=node)
            yield "extend name", flipped, extra


def _conditions(site: Site, facts: Facts) -> Iterator[Variant]:
    node = site.node
    if site.field == "values" and isinstance(site.owner, ast.BoolOp):
        return  # the whole condition is a site of its own
    atoms = list(facts.atoms)
    for atom in atoms:
        if isinstance(node, ast.BoolOp):
            present = any(value is atom for value in node.values)
        else:
            present = node is atom
        new = atom if not present else None
        if new is not None:
            yield "and atom", ast.BoolOp(op=ast.And(), values=[node, new]), 0.0
            yield "or atom", ast.BoolOp(op=ast.Or(), values=[node, new]), 0.0
            yield "and atom", ast.BoolOp(op=ast.And(), values=[node, negated(new)]), -0.7
        for near in _near_atoms(atom, site, facts):
            extra = 0.0 if present or isinstance(node, ast.BoolOp) else -0.7
            yield "and near atom", ast.BoolOp(op=ast.And(), values=[node, near]), extra
            yield "or near atom", ast.BoolOp(op=ast.Or(), values=[node, near]), extra
    for name in site.context.names[:6]:
        yield "and name", ast.BoolOp(op=ast.And(), values=[node, load(name)]), 0.0
        yield "or name", ast.BoolOp(op=ast.Or(), values=[node, load(name)]), -0.5
        nothing = negated(load(name))
        yield "or name", ast.BoolOp(op=ast.Or(), values=[nothing, node]), -0.3
    fresh = [name for name in site.context.names[:5]]
    for i, a in enumerate(fresh):
        for b in fresh[i + 1 :]:
            if facts.types.get(a, "?") != facts.types.get(b, "?"):
                continue
            for op in (ast.Eq(), ast.NotEq(), ast.Lt(), ast.Gt()):
                test = ast.Compare(left=load(a), ops=[op], comparators=[load(b)])
                yield "and pair", ast.BoolOp(op=ast.And(), values=[node, test]), 0.0
    for name in site.context.names[:5]:
        if facts.types.get(name, "?") in ("int", "num", "float"):
            for op in (ast.Gt(), ast.GtE(), ast.NotEq(), ast.Lt()):
                for value in (0, 1):
                    test = ast.Compare(left=load(name), ops=[op], comparators=[const(value)])
                    yield "and sign", ast.BoolOp(op=ast.And(), values=[node, test]), 0.0


def _near_atoms(atom: ast.expr, site: Site, facts: Facts) -> Iterator[ast.expr]:
    """The program's own condition with one constant or one or two names changed."""
    leaves = [n for n in ast.walk(atom) if isinstance(n, ast.Name | ast.Constant)]
    if len(leaves) > 8:
        return
    variables = [
        n for n in leaves if isinstance(n, ast.Name) and n.id in site.context.names
    ]
    for leaf in leaves:
        if isinstance(leaf, ast.Constant) and type(leaf.value) is int:
            for value in (*facts.told_integers[:6], *facts.integers[:4]):
                if value != leaf.value:
                    yield _replaced(atom, {id(leaf): number(value)})
        elif isinstance(leaf, ast.Constant) and isinstance(leaf.value, str):
            for text in (*facts.told_strings[:8], *facts.strings[:4]):
                if text != leaf.value:
                    yield _replaced(atom, {id(leaf): const(text)})
    for i, a in enumerate(variables):
        for name in site.context.names[:6]:
            if name != a.id:
                yield _replaced(atom, {id(a): load(name)})
        for b in variables[i + 1 :]:
            if b.id != a.id:
                yield _replaced(atom, {id(a): load(b.id), id(b): load(a.id)})


def _replaced(node: ast.expr, table: dict[int, ast.expr]) -> ast.expr:
    new = copy_of(node)
    for old, twin in zip(ast.walk(node), list(ast.walk(new)), strict=True):
        if id(old) in table:
            twin.__dict__["_swap"] = located(table[id(old)], node)
    return _Swap().visit(new)  # type: ignore[no-any-return]


class _Swap(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> ast.AST:
        new = node.__dict__.pop("_swap", None)
        return new if new is not None else self.generic_visit(node)


_WRAPS: tuple[tuple[str, tuple[str, ...], float], ...] = (
    # function, types it makes sense on, addition
    ("abs", ("int", "float", "num"), 0.8),
    ("len", ("str", "list", "set", "dict", "tuple"), 0.4),
    ("set", ("str", "list", "tuple", "iter"), 0.6),
    ("sorted", ("list", "set", "tuple", "str", "iter"), 0.4),
    ("list", ("set", "tuple", "iter", "str", "dict"), 0.0),
    ("str", ("int", "float", "num", "list"), 0.2),
    ("int", ("str", "float", "num", "bool"), 0.4),
    ("sum", ("list", "tuple", "set", "iter"), 0.0),
    ("max", ("list", "tuple", "set", "iter"), -0.3),
    ("min", ("list", "tuple", "set", "iter"), -0.3),
    ("tuple", ("list", "set", "iter"), 0.0),
    ("bool", ("int", "list", "str"), -1.0),
    ("float", ("int", "str"), -0.5),
    ("round", ("float", "num"), -0.3),
    ("any", ("list", "iter"), -0.6),
    ("all", ("list", "iter"), -0.6),
    ("ord", ("str",), -0.6),
    ("chr", ("int", "num"), -0.6),
    ("bin", ("int", "num"), -0.6),
    ("range", ("int",), -0.6),
    ("enumerate", ("list", "str", "iter"), -1.0),
)
_METHOD_WRAPS = (("lower", 0.4), ("upper", 0.0), ("strip", 0.0), ("split", -0.4), ("encode", -0.5),
                 ("isdigit", -1.0), ("isalpha", -1.0), ("swapcase", -0.6))  # fmt: skip


def wraps(site: Site, facts: Facts) -> Iterator[Variant]:
    """A call around an expression, around both sides of a comparison; a function applied twice."""
    node = site.node
    if isinstance(node, ast.Starred | ast.Slice | ast.Lambda):
        return
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del) or site.field == "func":
        return
    if isinstance(site.owner, ast.Expr):
        return
    outer = site.owner if isinstance(site.owner, ast.Call) else None
    around = getattr(outer.func, "id", "") if outer is not None else ""
    if not isinstance(node, ast.Constant):
        for name, kinds, extra in _WRAPS:
            if name == around and name != "sorted":
                continue
            if may_be(node, facts, *kinds):
                known = 0.4 if type_of(node, facts) != "?" else 0.0
                if name == "abs" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
                    known = 1.4  # a distance
                yield "wrap", call(name, node), extra + known
        if may_be(node, facts, "str"):
            for name, extra in _METHOD_WRAPS:
                known = 0.5 if type_of(node, facts) == "str" else -0.5
                yield "wrap method", method(node, name), extra + known
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            pass  # another comparison operator says the same
        elif site.is_test or type_of(node, facts) == "bool":
            yield "negate", negated(node), 0.0
        elif isinstance(site.owner, ast.Return):
            yield "negate", negated(node), -1.5
        for name in facts.functions:
            if isinstance(node, ast.Name | ast.Call) and name != around:
                yield "wrap own", call(name, node), 0.0
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        twice = ast.Call(func=node.func, args=[node], keywords=[])
        yield "apply twice", twice, 0.0
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = node.left, node.comparators[0]
        for name in ("set", "sorted", "abs", "len", "str", "int"):
            if isinstance(right, ast.Constant) or isinstance(left, ast.Constant):
                continue
            both = ast.Compare(left=call(name, left), ops=node.ops, comparators=[call(name, right)])
            yield "wrap both", both, 0.0
        if may_be(left, facts, "str") and may_be(right, facts, "str"):
            low = ast.Compare(
                left=method(left, "lower"), ops=node.ops, comparators=[method(right, "lower")]
            )
            yield "wrap both", low, 0.0


def slices(site: Site, facts: Facts) -> Iterator[Variant]:
    """A slice taken of a sequence, or a slice's bounds changed."""
    node = site.node
    if isinstance(node, ast.Slice):
        bounds = (node.lower, node.upper, node.step)
        lower, upper, step = bounds
        if lower is not None:
            yield "slice bound", ast.Slice(None, upper, step), 0.0
        else:
            yield "slice bound", ast.Slice(const(1), upper, step), 0.0
        if upper is not None:
            yield "slice bound", ast.Slice(lower, None, step), 0.0
        else:
            yield "slice bound", ast.Slice(lower, number(-1), step), 0.0
        if lower is not None and upper is None:
            yield "slice bound", ast.Slice(None, lower, step), 0.0
        if upper is not None and lower is None:
            yield "slice bound", ast.Slice(upper, None, step), 0.0
        if step is not None:
            yield "slice bound", ast.Slice(lower, upper, None), 0.0
        else:
            yield "slice bound", ast.Slice(lower, upper, number(-1)), -0.5
            yield "slice bound", ast.Slice(lower, upper, number(2)), -0.5
        return
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return
    if isinstance(node, ast.Constant | ast.Starred | ast.GeneratorExp) or site.field == "func":
        return
    if not may_be(node, facts, "list", "str", "tuple") or site.is_test:
        return
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return
    if isinstance(site.owner, ast.Subscript) and site.field == "value":
        return

    def part(lower: ast.expr | None, upper: ast.expr | None, step: ast.expr | None) -> ast.expr:
        cut = ast.Slice(lower=lower, upper=upper, step=step)
        return ast.Subscript(value=node, slice=cut, ctx=ast.Load())

    known = 0.4 if type_of(node, facts) != "?" else 0.0
    yield "slice", part(const(1), None, None), known
    yield "slice", part(None, number(-1), None), known
    yield "slice", part(None, None, number(-1)), known + 0.3
    yield "slice", part(const(1), number(-1), None), known - 1.0
    yield "slice", part(const(2), None, None), known - 0.7
    for place, name in enumerate(site.context.names[:8]):
        if name == getattr(node, "id", None):
            continue
        if facts.types.get(name, "?") in ("?", "int", "num"):
            unused = 1.5 if facts.used.get(name, 0) == 0 else 0.0
            extra = known + unused - 0.1 * place
            yield "slice name", part(None, load(name), None), extra
            yield "slice name", part(load(name), None, None), extra - 0.4
            if not isinstance(node, ast.Subscript):
                item = ast.Subscript(value=node, slice=load(name), ctx=ast.Load())
                yield "subscript name", item, extra
    for value in (0, -1):
        item = ast.Subscript(value=node, slice=number(value), ctx=ast.Load())
        yield "subscript constant", item, known
