"""Rules for expressions: a call or a slice around them, more arithmetic, more conditions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from refute.function.search.edit import located
from refute.function.search.facts import CodeFacts, may_be, type_of
from refute.function.search.rules.rule import (
    Variant,
    binary,
    call,
    callee,
    compare,
    const,
    draws,
    load,
    method,
    negated,
    number,
    rule,
)  # fmt: skip
from refute.function.search.sites import Site


def _is_value(site: Site, facts: CodeFacts) -> bool:
    """Whether it is an expression whose value is used, and no constant."""
    return _is_used(site) and not isinstance(site.node, ast.Constant)


def _is_used(site: Site) -> bool:
    aside = isinstance(site.node, ast.Starred | ast.Slice | ast.Lambda)
    return not aside and site.field != "func" and not isinstance(site.owner, ast.Expr)


def _around(site: Site) -> str:
    """The function whose argument it is."""
    return getattr(getattr(site.owner, "func", None), "id", "")


def _known(site: Site, facts: CodeFacts, new: ast.expr) -> float:
    return 0.4 if type_of(site.node, facts) != "?" else 0.0


def _wrapped(site: Site, facts: CodeFacts, new: ast.expr) -> float | None:
    name, node = callee(new), site.node
    if name == _around(site) and name != "sorted":
        return None
    if name == "abs" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return 1.4  # a distance
    return _known(site, facts, new)


rule("wrap", 0.25, "return a - b", "return abs(a - b)", when=_is_value, extra=_wrapped, rows="""
    X -> abs(X)       ;  0.8 ; int float num
    X -> len(X)       ;  0.4 ; str list set dict tuple
    X -> set(X)       ;  0.6 ; str list tuple iter
    X -> sorted(X)    ;  0.4 ; list set tuple str iter
    X -> list(X)      ;  0.0 ; set tuple iter str dict
    X -> str(X)       ;  0.2 ; int float num list
    X -> int(X)       ;  0.4 ; str float num bool
    X -> sum(X)       ;  0.0 ; list tuple set iter
    X -> max(X)       ; -0.3 ; list tuple set iter
    X -> min(X)       ; -0.3 ; list tuple set iter
    X -> tuple(X)     ;  0.0 ; list set iter
    X -> bool(X)      ; -1.0 ; int list str
    X -> float(X)     ; -0.5 ; int str
    X -> round(X)     ; -0.3 ; float num
    X -> any(X)       ; -0.6 ; list iter
    X -> all(X)       ; -0.6 ; list iter
    X -> ord(X)       ; -0.6 ; str
    X -> chr(X)       ; -0.6 ; int num
    X -> bin(X)       ; -0.6 ; int num
    X -> range(X)     ; -0.6 ; int
    X -> enumerate(X) ; -1.0 ; list str iter
""")  # fmt: skip
rule("wrap method", 0.15, "return str(a)", "return str(a).lower()", when=_is_value,
     extra=lambda site, facts, new: 0.5 if type_of(site.node, facts) == "str" else -0.5, rows="""
    X -> X.lower()    ;  0.4 ; str
    X -> X.upper()    ;  0.0 ; str
    X -> X.strip()    ;  0.0 ; str
    X -> X.split()    ; -0.4 ; str
    X -> X.encode()   ; -0.5 ; str
    X -> X.isdigit()  ; -1.0 ; str
    X -> X.isalpha()  ; -1.0 ; str
    X -> X.swapcase() ; -0.6 ; str
""")  # fmt: skip
rule("negate", 0.2, "if any(items):\n    return 1", "if not any(items):\n    return 1", few=True)
rule("wrap own", 0.1, "return a", "return g(a)")
rule("wrap promised", 0.5, "def h(x) -> g:\n    return x\nreturn h(a)",
    "def h(x) -> g:\n    return g(x)\nreturn h(a)")  # fmt: skip


@draws(ast.expr)
def negations(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """The opposite of a truth value; a function of the module around a value."""
    node = site.node
    if not _is_value(site, facts):
        return
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        pass  # another comparison operator says the same
    elif site.is_test or type_of(node, facts) == "bool":
        yield "negate", negated(node), 0.0
    elif isinstance(site.owner, ast.Return):
        yield "negate", negated(node), -1.5
    for name in facts.functions if isinstance(node, ast.Name | ast.Call) else ():
        if name != _around(site):
            yield "wrap own", call(name, node), 0.0
    if isinstance(site.owner, ast.Return):
        for name in _promised(site, facts):
            yield "wrap promised", call(name, node), 0.0


def _promised(site: Site, facts: CodeFacts) -> list[str]:
    """The names of the module in the function's return annotation: what it says it gives."""
    function = site.context.function
    if function is None or function.returns is None:
        return []
    names = {n.id for n in ast.walk(function.returns) if isinstance(n, ast.Name)}
    for node in ast.walk(function.returns):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value.partition("[")[0].strip())
    return sorted(name for name in names & facts.around.known if name != callee(site.node))


rule("apply twice", 0.1, "return len(a)", "return len(len(a))",
    when=lambda site, facts: _is_used(site) and isinstance(getattr(site.node, "func", 0), ast.Name),
    rows="F(A, **K) -> F(F(A, **K))")  # fmt: skip
rule("wrap both", 0.1, "return a == b", "return set(a) == set(b)")


@draws(ast.Compare)
def wrapped_sides(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """The same call around both sides of a comparison."""
    node = site.node
    assert isinstance(node, ast.Compare)
    if len(node.ops) > 1 or not _is_used(site):
        return
    left, right = node.left, node.comparators[0]
    if not isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
        for name in ("set", "sorted", "abs", "len", "str", "int"):
            yield "wrap both", ast.Compare(call(name, left), node.ops, [call(name, right)]), 0.0
    if may_be(left, facts, "str") and may_be(right, facts, "str"):
        low = ast.Compare(method(left, "lower"), node.ops, [method(right, "lower")])
        yield "wrap both", low, 0.0


rule("slice bound", 0.25, "return items[1:]", "return items[:1]")


@draws(ast.Slice)
def bounds(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """A slice's bounds left out, put in, exchanged."""
    assert isinstance(site.node, ast.Slice)
    lower, upper, step = site.node.lower, site.node.upper, site.node.step
    yield "slice bound", ast.Slice(const(1) if lower is None else None, upper, step), 0.0
    yield "slice bound", ast.Slice(lower, number(-1) if upper is None else None, step), 0.0
    if (lower is None) != (upper is None):
        yield "slice bound", ast.Slice(upper, lower, step), 0.0
    if step is not None:
        yield "slice bound", ast.Slice(lower, upper, None), 0.0
    else:
        yield "slice bound", ast.Slice(lower, upper, number(-1)), -0.5
        yield "slice bound", ast.Slice(lower, upper, number(2)), -0.5


def _is_sequence(site: Site, facts: CodeFacts) -> bool:
    """Whether a part may be taken of it."""
    node, owner = site.node, site.owner
    if isinstance(node, ast.Constant | ast.Starred | ast.Slice | ast.GeneratorExp):
        return False
    if site.field == "func" or (isinstance(owner, ast.Subscript) and site.field == "value"):
        return False
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return False
    return may_be(node, facts, "list", "str", "tuple") and not site.is_test


rule("slice", 0.15, "return items", "return items[::-1]", when=_is_sequence, extra=_known, rows="""
    X -> X[1:]
    X -> X[:-1]
    X -> X[::-1] ; 0.3
    X -> X[1:-1] ; -1.0
    X -> X[2:]   ; -0.7
""")  # fmt: skip
rule("slice name", 0.1, "return sum(items)", "return sum(items[:a])")
rule("subscript name", 0.06, "return items", "return items[a]")


@draws(ast.expr)
def parts(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """A part of a sequence that a variable says."""
    node = site.node
    if not _is_sequence(site, facts):
        return
    known = _known(site, facts, node)
    for place, name in enumerate(site.context.names[:8]):
        if name == getattr(node, "id", None):
            continue
        if facts.types.get(name, "?") in ("?", "int", "num"):
            extra = known + (1.5 if facts.idle(name) else 0.0) - 0.1 * place
            for cut, less in ((ast.Slice(None, load(name)), 0.0), (ast.Slice(load(name)), 0.4)):
                yield "slice name", ast.Subscript(node, cut, ast.Load()), extra - less
            if not isinstance(node, ast.Subscript):
                yield "subscript name", ast.Subscript(node, load(name), ast.Load()), extra


rule("subscript constant", 0.08, "return items", "return items[0]", when=_is_sequence, extra=_known,
    rows="X -> X[0]\nX -> X[-1]")  # fmt: skip


def _is_plain(site: Site) -> bool:
    """Whether more of it may stand there: no constant, no part of an attribute or a target."""
    if isinstance(site.node, ast.Constant | ast.Starred | ast.Lambda | ast.Slice):
        return False
    if site.field == "value" and isinstance(site.owner, ast.Attribute | ast.Subscript):
        return False
    return site.field != "func" and not isinstance(site.owner, ast.Expr)


def _is_truth(site: Site, facts: CodeFacts) -> bool:
    return site.is_test or type_of(site.node, facts) == "bool"


def _is_number(site: Site, facts: CodeFacts) -> bool:
    if not _is_plain(site) or _is_truth(site, facts):
        return False
    return may_be(site.node, facts, "int", "float", "num")


def _bounds(site: Site, facts: CodeFacts, new: ast.expr) -> float:
    """Off-by-one is commonest where a number bounds something."""
    if _around(site) == "range":
        return 0.9
    inside = site.field in ("slice", "upper", "lower", "comparators", "args")
    return 0.0 if inside or isinstance(site.owner, ast.Return) else -0.7


rule("plus one", 0.3, "return list(range(a))", "return list(range(a + 1))", few=True,
    when=_is_number, extra=_bounds, rows="X -> X + 1")  # fmt: skip
rule("minus one", 0.3, "return items[a]", "return items[a - 1]", few=True, when=_is_number,
    extra=_bounds, rows="X -> X - 1 ; -0.2")  # fmt: skip
rule("extend constant", 0.05, "return a", "return a // 2", when=_is_number, rows="""
    X -> X * 2
    X -> X // 2
    X -> X % 2
    X -> X % 10
    X -> X ** 2
    X -> X + 2
    X -> X - 2
""")  # fmt: skip
rule("minus", 0.15, "return a", "return -a", few=True, when=_is_number, rows="X -> -X")
rule("extend told", 0.08, "return a", "return a % 7")
rule("extend name", 0.1, "return a * a", "return a * a + b")
_TOLD: tuple[ast.operator, ...] = (ast.Mod(), ast.Mult(), ast.FloorDiv(), ast.Add(), ast.Sub())
_NAMED: tuple[ast.operator, ...] = (ast.Sub(), ast.Mult(), ast.FloorDiv(), ast.Mod(), ast.Div())


@draws(ast.expr)
def extensions(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """`e - name`, `name + e` and the like; numbers that the description tells."""
    node = site.node
    if not _is_plain(site) or _is_truth(site, facts):
        return
    here = type_of(node, facts)
    if may_be(node, facts, "int", "float", "num"):
        for value in facts.told_integers:
            for op in _TOLD if value > 2 else ():
                yield "extend told", binary(node, op, const(value)), 0.0
    numbers = {"int", "float", "num"}
    for place, name in enumerate(site.context.names[:8]):
        kind = facts.types.get(name, "?")
        if kind != here and "?" not in (kind, here) and not {kind, here} <= numbers:
            continue
        extra = -0.1 * place
        yield "extend name", binary(node, ast.Add(), load(name)), extra
        if here in ("str", "list"):
            yield "extend name", binary(load(name), ast.Add(), node), extra
            continue
        for by in _NAMED:
            yield "extend name", binary(node, by, load(name)), extra - 0.5
        yield "extend name", binary(load(name), ast.Sub(), node), extra - 0.5


rule("and atom", 0.15, "if a > 1:\n    return b < 2\nreturn 3",
    "if a > 1 and b < 2:\n    return b < 2\nreturn 3")  # fmt: skip
rule("or atom", 0.15, "if a > 1:\n    return b < 2\nreturn 3",
    "if a > 1 or b < 2:\n    return b < 2\nreturn 3")  # fmt: skip
rule("and near atom", 0.1, "return a + b == 3", "return a + b == 3 and a + a == 3")
rule("or near atom", 0.15, "return a + b == 3", "return a + b == 3 or a + a == 3")
rule("and name", 0.05, "return a < 3", "return a < 3 and items")
rule("or name", 0.04, "return a < 3", "return not items or a < 3")
rule("and pair", 0.05, "return a < 3", "return a < 3 and b != items")
rule("and sign", 0.05, "a = 1\nif b:\n    return a", "a = 1\nif b and a > 0:\n    return a")
_SIGNS: tuple[ast.cmpop, ...] = (ast.Gt(), ast.GtE(), ast.NotEq(), ast.Lt())


@draws(ast.expr)
def conditions(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """`c and d`, `c or d`."""
    node = site.node
    if isinstance(node, ast.Constant | ast.Starred | ast.Lambda) or site.field == "func":
        return
    if not _is_truth(site, facts):
        return
    if site.field == "values" and isinstance(site.owner, ast.BoolOp):
        return  # the whole condition is a site of its own
    for atom in facts.atoms:
        parts = node.values if isinstance(node, ast.BoolOp) else [node]
        present = any(part is atom for part in parts)
        if not present:
            yield "and atom", ast.BoolOp(op=ast.And(), values=[node, atom]), 0.0
            yield "or atom", ast.BoolOp(op=ast.Or(), values=[node, atom]), 0.0
            yield "and atom", ast.BoolOp(op=ast.And(), values=[node, negated(atom)]), -0.7
        for near in _near_atoms(atom, site, facts):
            extra = 0.0 if present or isinstance(node, ast.BoolOp) else -0.7
            yield "and near atom", ast.BoolOp(op=ast.And(), values=[node, near]), extra
            yield "or near atom", ast.BoolOp(op=ast.Or(), values=[node, near]), extra
    for name in site.context.names[:6]:
        yield "and name", ast.BoolOp(op=ast.And(), values=[node, load(name)]), 0.0
        yield "or name", ast.BoolOp(op=ast.Or(), values=[node, load(name)]), -0.5
        nothing = negated(load(name))
        yield "or name", ast.BoolOp(op=ast.Or(), values=[nothing, node]), -0.3
    fresh = list(site.context.names[:5])
    for i, a in enumerate(fresh):
        for b in fresh[i + 1 :]:
            if facts.types.get(a, "?") != facts.types.get(b, "?"):
                continue
            for op in (ast.Eq(), ast.NotEq(), ast.Lt(), ast.Gt()):
                test = compare(load(a), op, load(b))
                yield "and pair", ast.BoolOp(op=ast.And(), values=[node, test]), 0.0
    for name in site.context.names[:5]:
        if facts.types.get(name, "?") in ("int", "num", "float"):
            for sign in _SIGNS:
                for value in (0, 1):
                    test = compare(load(name), sign, const(value))
                    yield "and sign", ast.BoolOp(op=ast.And(), values=[node, test]), 0.0


def _near_atoms(atom: ast.expr, site: Site, facts: CodeFacts) -> Iterator[ast.expr]:
    """The program's own condition with one constant or one or two names changed."""
    leaves = [n for n in ast.walk(atom) if isinstance(n, ast.Name | ast.Constant)]
    if len(leaves) > 8:
        return
    variables = [n for n in leaves if isinstance(n, ast.Name) and n.id in site.context.names]
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
    for new in table.values():
        located(new, node)
    result = _copied(node, table)
    assert isinstance(result, ast.expr)
    return result


def _copied(value: Any, table: dict[int, ast.expr]) -> Any:
    """As `copy_of`, with other nodes in the place of those with these ids."""
    if isinstance(value, list):
        return [_copied(item, table) for item in value]
    if not isinstance(value, ast.AST):
        return value
    if id(value) in table:
        return table[id(value)]
    new = value.__class__.__new__(value.__class__)
    new.__dict__.update((key, _copied(item, table)) for key, item in value.__dict__.items())
    return new
