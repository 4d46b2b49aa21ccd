"""Rules for expressions: other operators, operands the other way round, parts left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.edit import copy_of
from refute.function.search.facts import CodeFacts
from refute.function.search.rules.rule import (
    Variant,
    binary,
    callee,
    const,
    draws,
    load,
    number,
    rewrites,
    rule,
)  # fmt: skip
from refute.function.search.sites import Site

REPEATED = -1.5
"""Log weight of what gives a call the same variable twice, or compares one with itself."""

rule("flip bool", "return True", "return False", few=True, rows="True -> False\nFalse -> True")
rule("constant step", "return items[1]", "return items[2]", few=True)
rule("constant told", "return a % 3 == 0", "return a % 7 == 0")
rule("constant drawn", "return a + 5 + 20", "return a + 5 + 5")
rule("string space", "return ' '.join(items)", "return ''.join(items)")
rule("string told", "return a == 'no'", "return a == 'ok'")
rule("string drawn", "return a == 'x' or b == 'yz'", "return a == 'yz' or b == 'yz'")
rule("variable", "return a + a", "return a + b")
rule("assign other", "n = m = 0\nn = a\nreturn n + m", "n = m = 0\nm = a\nreturn n + m")
rule("function other", "return f(a, b, items)", "return g(a, b, items)")
rule("variable to constant", "return a % b", "return a % 2")
rule("constant to variable", "return a % 2", "return a % b")


@draws(ast.Constant)
def constants(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Another value for a constant."""
    assert isinstance(site.node, ast.Constant)
    value = site.node.value
    initial = isinstance(site.owner, ast.Assign) and site.field == "value"
    if type(value) is int:
        near = 0.5 if initial and value in (0, 1) else _place(site)
        done = {value, value + 1, value - 1}
        yield "constant step", number(value + 1), near
        yield "constant step", number(value - 1), near
        for kind, others in (
            ("constant told", facts.told_integers),
            ("constant drawn", (*facts.integers, 0, 1, 2, 10)),
        ):
            fresh = [other for other in dict.fromkeys(others) if other not in done]
            done.update(fresh)
            for other in fresh:
                yield kind, number(other), 0.0
    elif isinstance(value, float):
        if value.is_integer() and abs(value) < 1e6:
            yield "constant step", const(value + 1), 0.0
            yield "constant step", const(value - 1), 0.0
        else:
            yield "constant drawn", const(-value), 0.0
        for told in facts.told_integers:
            yield "constant drawn", number(told), 0.0
    elif isinstance(value, str):
        yield from _strings(value, facts)


def _place(site: Site) -> float:
    """Off-by-one is commonest where a number bounds something."""
    owner = site.owner
    if isinstance(owner, ast.AugAssign) and getattr(site.node, "value", 0) == 1:
        return -1.5  # `count += 1` is the idiom
    if isinstance(owner, ast.Subscript | ast.Slice | ast.Compare):
        return 0.2
    if isinstance(owner, ast.Call):
        return 0.3 if getattr(owner.func, "id", "") == "range" else -0.2
    if isinstance(owner, ast.Tuple | ast.List | ast.Set):
        return -0.7
    if isinstance(owner, ast.BinOp) and isinstance(owner.op, ast.Pow):
        return -0.7
    return 0.0


def _strings(value: str, facts: CodeFacts) -> Iterator[Variant]:
    done = {value}

    def new(text: str) -> bool:
        fresh = text not in done
        done.add(text)
        return fresh

    if value in ("", " "):
        yield "string space", const(" " if value == "" else ""), 0.0
        done.update(("", " "))
    if value.strip() and new(value.strip()):
        yield "string space", const(value.strip()), 0.0
    for text in facts.told_strings:
        if new(text):
            near = 1.0 if text.lower() == value.lower() else 0.0
            yield "string told", const(text), near
    for text in facts.strings:
        if len(text) <= 12 and new(text):
            yield "string drawn", const(text), 0.0


@draws(ast.Name, stored=True)
def names(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Another variable of the scope in place of a variable."""
    node = site.node
    assert isinstance(node, ast.Name)
    callee = isinstance(site.owner, ast.Call) and site.field == "func"
    if isinstance(node.ctx, ast.Store):
        if isinstance(site.owner, ast.Assign | ast.AugAssign):
            for name in site.context.names:
                if name != node.id:
                    yield "assign other", ast.Name(id=name, ctx=ast.Store()), 0.0
        return
    if callee:
        for name in facts.functions:
            if name != node.id:
                yield "function other", load(name), 0.0
        return
    beside = _beside(site)
    for place, name in enumerate(site.context.names):
        if name == node.id:
            continue
        extra = 1.5 if facts.idle(name) else 0.0
        if name in site.context.fresh:
            extra += 0.4
        if (name in facts.indices) != (node.id in facts.indices):
            extra -= 0.7  # an index and a value are seldom taken for each other
        if name in beside:
            extra += REPEATED
        yield "variable", load(name), extra - 0.08 * place


def _beside(site: Site) -> set[str]:
    """The variables that stand beside a site: arguments of the same call, the other operand."""
    match site.owner:
        case ast.Call(args=parts):
            pass
        case ast.Compare(left=left, comparators=comparators):
            parts = [left, *comparators]
        case ast.BinOp(left=left, right=right, op=op) if not isinstance(op, ast.Mult):
            parts = [left, right]
        case _:
            parts = []
    return {part.id for part in parts if isinstance(part, ast.Name) and part is not site.node}


@draws(ast.Name, ast.Constant)
def replacements(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """A small constant in place of a variable, and the reverse."""
    node = site.node
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and len(node.value) > 3:
            return
        for place, name in enumerate(site.context.names):
            extra = 1.5 if facts.idle(name) else 0.0
            yield "constant to variable", load(name), extra - 0.08 * place
    elif not (site.field == "func" and isinstance(site.owner, ast.Call)):
        for value in dict.fromkeys((0, 1, 2, *facts.integers[:6], *facts.told_integers[:4])):
            yield "variable to constant", number(value), 0.0


__all__ = ["ARITHMETIC"]

# -- other operators -------------------------------------------------------------------------------

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
    ast.Sub: (
        (ast.Add, 0.0), (ast.Mod, -1.2), (ast.Mult, -1.2), (ast.FloorDiv, -1.5), (ast.Div, -2),
    ),
    ast.Mult: (
        (ast.Add, -0.4), (ast.Pow, -0.4), (ast.Div, -0.4), (ast.FloorDiv, -0.8), (ast.Sub, -1),
        (ast.Mod, -1.5),
    ),
    ast.Div: ((ast.FloorDiv, 0.0), (ast.Mult, -0.5), (ast.Mod, -0.7), (ast.Sub, -1.5)),
    ast.FloorDiv: ((ast.Div, 0.0), (ast.Mod, 0.0), (ast.Mult, -1), (ast.Sub, -1.5)),
    ast.Mod: (
        (ast.FloorDiv, -1.0), (ast.Div, -1.0), (ast.Mult, -1.2), (ast.Sub, -1.2), (ast.Add, -2),
    ),
    ast.Pow: ((ast.Mult, 0.0), (ast.Add, -1.5)),
    ast.BitAnd: ((ast.BitOr, 0.0), (ast.BitXor, -0.3)),
    ast.BitOr: ((ast.BitAnd, 0.0), (ast.BitXor, -0.3)),
    ast.BitXor: ((ast.BitAnd, 0.0), (ast.BitOr, 0.0)),
    ast.LShift: ((ast.RShift, 0.0),),
    ast.RShift: ((ast.LShift, 0.0),),
}  # fmt: skip
_RISING = (ast.Lt, ast.LtE)
_SYMMETRIC = (ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)

rule("compare", "return a < b", "return a <= b", few=True, ordered=True)
rule("arithmetic", "return a - b", "return a % b", few=True, ordered=True)
rule("swap operands", "return a - b", "return b - a", few=True)
rule("parentheses", "return a + b * 2", "return (a + b) * 2", few=True)


@draws(ast.Compare)
def comparisons(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Another comparison."""
    node = site.node
    assert isinstance(node, ast.Compare)
    for at, op in enumerate(node.ops):
        for other, extra in _COMPARE[type(op)]:
            turned = len(node.ops) > 1 and (type(op) in _RISING) != (other in _RISING)
            ops = [*node.ops[:at], other(), *node.ops[at + 1 :]]
            # `a < b > c` is hardly ever meant.
            yield "compare", ast.Compare(node.left, ops, node.comparators), extra - 2.0 * turned


rewrites("swap operands", "A in B -> B in A\nA not in B -> B not in A")


@draws(ast.BinOp)
def arithmetic(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Another arithmetic operator; operands the other way round; missing or surplus parentheses."""
    node = site.node
    assert isinstance(node, ast.BinOp)
    left, op, right = node.left, node.op, node.right
    # One operator of `a + b + c` is seldom meant to be another.
    near = (left, right, site.owner)
    chain = any(isinstance(x, ast.BinOp) and type(x.op) is type(op) for x in near)
    odd = -0.5 if chain else 0.0
    for other_op, extra in ARITHMETIC.get(type(op), ()):
        yield "arithmetic", binary(left, other_op(), right), extra + odd
    if not isinstance(op, _SYMMETRIC):
        yield "swap operands", binary(right, op, left), -0.7 if isinstance(op, ast.Add) else 0.0
    if isinstance(left, ast.BinOp):
        yield "parentheses", binary(left.left, left.op, binary(left.right, op, right)), 0.0
    if isinstance(right, ast.BinOp):
        yield "parentheses", binary(binary(left, op, right.left), right.op, right.right), 0.0


rule("boolean", "return a > 1 and b > 1", "return a > 1 or b > 1", few=True)


@draws(ast.BoolOp)
def booleans(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """`and` for `or`, and the reverse."""
    assert isinstance(site.node, ast.BoolOp)
    other = ast.Or() if isinstance(site.node.op, ast.And) else ast.And()
    yield "boolean", ast.BoolOp(op=other, values=site.node.values), 0.0


rule("drop minus", "return -a", "return a", few=True, rows="-A -> A")
rule("swap branches", "return a if b else 0", "return 0 if b else a",
    "if a:\n    b = 1\nelse:\n    b = 2\nreturn b", "if a:\n    b = 2\nelse:\n    b = 1\nreturn b",
    few=True, rows="A if T else B -> B if T else A ; -0.5")  # fmt: skip
rule("swap elements", "return (a, b)", "return (b, a)", few=True)


@draws(ast.Tuple, ast.List, stored=True)
def swapped_elements(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Two elements of a short tuple or list exchanged."""
    node = site.node
    assert isinstance(node, ast.Tuple | ast.List)
    elts = node.elts if len(node.elts) <= 6 else []
    for i in range(len(elts)):
        for j in range(i + 1, len(elts)):
            new = list(elts)
            new[i], new[j] = new[j], new[i]
            yield "swap elements", type(node)(elts=new, ctx=node.ctx), 0.0


# -- parts left out --------------------------------------------------------------------------------

rule("drop operand", "return a + b + 1", "return a + b", ordered=True)


@draws(ast.BinOp)
def dropped_operands(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """One operand less of a chain of up to four."""
    node = site.node
    assert isinstance(node, ast.BinOp)
    left, op, right = node.left, node.op, node.right
    yield "drop operand", left, _dropped(op, right)
    yield "drop operand", right, _dropped(op, left) - 0.3
    if isinstance(left, ast.BinOp):
        # Drop the middle operand of a chain: (a op b) op2 c -> a op2 c, or a op c.
        middle = _dropped(left.op, left.right)
        additive = (ast.Add, ast.Sub)
        if isinstance(op, additive) != isinstance(left.op, additive):
            middle -= 0.8
        yield "drop operand", binary(left.left, op, right), middle
        yield "drop operand", binary(left.left, left.op, right), middle - 0.2
        if isinstance(left.left, ast.BinOp):
            deep = left.left
            short = binary(deep.left, left.op, left.right)
            yield "drop operand", binary(short, op, right), _dropped(deep.op, deep.right) - 0.2
    if isinstance(right, ast.BinOp):
        tail = binary(left, op, right.right)
        yield "drop operand", tail, _dropped(op, right.left) - 0.3


def _dropped(op: ast.operator, part: ast.expr) -> float:
    """Surplus logic is small: `+ 1` is added by mistake more often than `+ f(x[i])`."""
    if isinstance(part, ast.Constant):
        return 0.7 if isinstance(op, ast.Add | ast.Sub) else 0.2
    return 0.2 - 0.12 * sum(1 for n in ast.walk(part) if isinstance(n, ast.expr))


rule("drop condition", "return a and b and items", "return a and items")


@draws(ast.BoolOp, ast.Compare, ast.ListComp, ast.GeneratorExp)
def dropped_conditions(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """One condition less of several."""
    match site.node:
        case ast.BoolOp(op=bool_op, values=values):
            for at in range(len(values)):
                rest = [*values[:at], *values[at + 1 :]]
                kept = rest[0] if len(rest) == 1 else ast.BoolOp(op=bool_op, values=rest)
                yield "drop condition", kept, 0.0
        case ast.Compare(left=left, ops=ops, comparators=comparators) if len(ops) > 1:
            yield "drop condition", ast.Compare(left, ops[:-1], comparators[:-1]), 0.0
            yield "drop condition", ast.Compare(comparators[0], ops[1:], comparators[1:]), 0.0
        case (
            ast.ListComp(elt=elt, generators=[one]) | ast.GeneratorExp(elt=elt, generators=[one])
        ) if len(one.ifs) > 1:
            bare = copy_of(one)
            bare.ifs = bare.ifs[:1]
            yield "drop condition", type(site.node)(elt=elt, generators=[bare]), 0.0


rule("drop call", "return sorted(items)", "return items", rows="F(A, **K) -> A")
_CHANGING = ("sort", "reverse", "append", "extend")
rule("drop method", "return items.sort()", "return items",
    when=lambda site, facts: not _of_module(site.node, facts),
    extra=lambda site, facts, new: 0.7 * (callee(site.node) in _CHANGING),
    rows="V.M(*A, **K) -> V")  # fmt: skip


def _of_module(node: ast.expr, facts: CodeFacts) -> bool:
    """Return whether a call is of a function in an imported module."""
    owner = getattr(getattr(node, "func", None), "value", None)
    return isinstance(owner, ast.Name) and any(
        isinstance(stmt, ast.Import)
        and any((a.asname or a.name).split(".")[0] == owner.id for a in stmt.names)
        for stmt in facts.tree.body
    )


rule("drop not", "return not a", "return a", few=True, rows="not A -> A")
rule("drop branch", "return a if b else 0", "return a",
    rows="A if T else B -> A\nA if T else B -> B")  # fmt: skip


rule("drop element", "return a in (1, 2, 3)", "return a in (1, 3)")


@draws(ast.Tuple, ast.List, ast.Set)
def dropped_elements(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """One element less."""
    node = site.node
    assert isinstance(node, ast.Tuple | ast.List | ast.Set)
    for at in range(len(node.elts)) if 1 < len(node.elts) < 16 else ():
        less = [*node.elts[:at], *node.elts[at + 1 :]]
        if isinstance(node, ast.Set):
            yield "drop element", ast.Set(elts=less), 0.0
        else:
            yield "drop element", type(node)(elts=less, ctx=ast.Load()), 0.0
