"""Rules for constants and names, drawn from the program and from what its description says."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from refute.function.search.facts import CodeFacts, fits, type_of
from refute.function.search.rules.rule import Variant, const, draws, load, number, rule
from refute.function.search.sites import Site

REPEATED = -1.5
"""Log weight of what gives a call the same variable twice, or compares one with itself."""

rule("flip bool", 0.7, "return True", "return False", few=True, rows="True -> False\nFalse -> True")
rule("constant step", 0.7, "return items[1]", "return items[2]", few=True)
rule("constant told", 0.5, "return a % 3 == 0", "return a % 7 == 0")
rule("constant drawn", 0.2, "return a + 5 + 20", "return a + 5 + 5")
rule("string space", 0.6, "return ' '.join(items)", "return ''.join(items)")
rule("string told", 0.3, "return a == 'no'", "return a == 'ok'")
rule("string drawn", 0.2, "return a == 'x' or b == 'yz'", "return a == 'yz' or b == 'yz'")
rule("variable", 0.8, "return a + a", "return a + b")
rule("assign other", 0.3, "n = m = 0\nn = a\nreturn n + m", "n = m = 0\nm = a\nreturn n + m")
rule("function other", 0.3, "return f(a, b, items)", "return g(a, b, items)")
rule("variable to constant", 0.04, "return a % b", "return a % 2")
rule("constant to variable", 0.15, "return a % 2", "return a % b")


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
        extra = 0.0 if fits(site, name, facts) else -2.0
        if facts.idle(name):
            extra += 1.5
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
            extra = 0.0 if fits(site, name, facts) else -2.0
            if facts.idle(name):
                extra += 1.5
            yield "constant to variable", load(name), extra - 0.08 * place
    elif not (site.field == "func" and isinstance(site.owner, ast.Call)):
        kind = type_of(node, facts)
        if kind in ("?", "int", "num", "float"):
            for value in dict.fromkeys((0, 1, 2, *facts.integers[:6], *facts.told_integers[:4])):
                yield "variable to constant", number(value), 0.0
        if kind == "str":
            for text in facts.strings[:8]:
                yield "variable to constant", const(text), 0.0
