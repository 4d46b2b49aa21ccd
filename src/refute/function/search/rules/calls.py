"""Rules for calls: another function or method, other arguments; and for what stands around an
expression: a call, a slice, more arithmetic, more conditions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator

from refute.function.search.facts import CodeFacts
from refute.function.search.rules.rule import (
    Variant,
    call,
    callee,
    const,
    draws,
    load,
    method,
    negated,
    number,
    rewrites,
    rule,
)  # fmt: skip
from refute.function.search.sites import Site

_FUNCTION_GROUPS = """
    min/max min/sum max/sum sum/len any/all sorted/reversed sorted/set sorted/list
    list/set list/tuple int/float int/round int/str int/len abs/int abs/len ord/int
    chr/str bin/hex bin/oct bin/str set/tuple round/float zip/enumerate range/len
    map/filter ceil/floor floor/round len/max hex/oct enumerate/range sum/any sum/all
    permutations/combinations combinations/combinations_with_replacement zip/zip_longest
    list/sorted bisect_left/bisect_right gcd/lcm str/repr heappop/heappush
"""
_METHOD_GROUPS = """
    append/extend append/add append/remove add/remove add/discard add/update upper/lower
    isupper/islower startswith/endswith lstrip/rstrip strip/lstrip strip/rstrip
    find/rfind index/rindex find/index find/count index/count keys/values items/values
    items/keys isalpha/isdigit isalnum/isalpha isalnum/isdigit isdigit/isnumeric
    isdigit/isdecimal isalpha/isspace isalpha/islower isalpha/isupper union/intersection
    intersection/difference union/difference symmetric_difference/difference
    issubset/issuperset split/splitlines split/rsplit upper/capitalize upper/title
    lower/title title/capitalize swapcase/upper swapcase/lower ljust/rjust pop/remove
    insert/append floor/ceil floor/trunc sqrt/pow search/match match/fullmatch
    search/fullmatch findall/finditer search/findall popleft/pop appendleft/append
    sin/cos cos/tan bisect_left/bisect_right gcd/lcm permutations/combinations
    combinations/combinations_with_replacement zip/zip_longest zfill/ljust
    product/combinations heappop/heappushpop nsmallest/nlargest partition/rpartition
    most_common/items update/add replace/strip log/log10 log/log2 sub/findall
    mean/median isprintable/isascii removeprefix/removesuffix islower/isalpha
"""


def _partners(groups: str) -> dict[str, list[str]]:
    """Name -> names it is mistaken for, from text of `a/b` pairs."""
    table: dict[str, list[str]] = {}
    for a, b in (pair.split("/") for pair in groups.split()):
        table.setdefault(a, []).append(b)
        table.setdefault(b, []).append(a)
    return {name: list(dict.fromkeys(others)) for name, others in table.items()}


_FUNCTIONS = _partners(_FUNCTION_GROUPS)
_METHODS = _partners(_METHOD_GROUPS)
_BUILTIN = frozenset(dir(builtins))

rule("function", "return min(items)", "return max(items)", ordered=True)
rule("method", "return a.upper()", "return a.lower()", ordered=True)


@draws(ast.Name)
def functions(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Another function of the same family."""
    assert isinstance(site.node, ast.Name)
    others = _FUNCTIONS.get(site.node.id) if site.field == "func" else None
    imported = _imported(facts) if others else set()
    for place, name in enumerate(others or ()):
        if name in _BUILTIN or name in imported:
            yield "function", load(name), -0.25 * place


@draws(ast.Attribute)
def methods(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Another method of the same object; another part of a number or a slice."""
    node = site.node
    assert isinstance(node, ast.Attribute)
    for place, name in enumerate(_METHODS.get(node.attr, ())):
        yield "method", ast.Attribute(value=node.value, attr=name, ctx=ast.Load()), -0.25 * place
    if node.attr in _PARTS and not (isinstance(site.owner, ast.Call) and site.field == "func"):
        for name in _PARTS:
            if name != node.attr:
                yield "method", ast.Attribute(value=node.value, attr=name, ctx=ast.Load()), 0.0


_PARTS = ("real", "imag", "start", "stop")


def _imported(facts: CodeFacts) -> set[str]:
    return {
        alias.asname or alias.name
        for stmt in facts.tree.body
        if isinstance(stmt, ast.ImportFrom)
        for alias in stmt.names
    }


def _calls(*names: str) -> Callable[[Site, CodeFacts], bool]:
    """Return a predicate: the call is to a function or method of one of these names."""
    return lambda site, facts: callee(site.node) in names


rule("swap arguments", "return divmod(a, b)", "return divmod(b, a)", few=True)
rule("drop argument", "return pow(a, b)", "return pow(a)")


@draws(ast.Call)
def arguments(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """Arguments exchanged, left out."""
    node = site.node
    assert isinstance(node, ast.Call)
    func, args, keywords = node.func, node.args, node.keywords
    for i in range(len(args)):
        for j in range(i + 1, len(args)):
            swapped = list(args)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            yield "swap arguments", ast.Call(func, swapped, keywords), 0.0
    if len(args) > 1:
        for at in range(len(args)):
            yield "drop argument", ast.Call(func, [*args[:at], *args[at + 1 :]], keywords), 0.0
    for at in range(len(keywords)):
        others = keywords[:at], keywords[at + 1 :]
        yield "drop argument", ast.Call(func, args, [*others[0], *others[1]]), 0.0


rewrites("swap arguments", "V.M(A) -> A.M(V)",
    when=_calls(
        "difference", "startswith", "endswith", "count", "issubset", "join", "index"
    ))  # fmt: skip
rewrites("drop argument", "V.M(A, **K) -> V.M(**K) ; 0.5",
    when=_calls("split", "strip", "lstrip", "rstrip", "pop"))  # fmt: skip


rule("default", "return min(items)", "return min(items, default=0)",
    when=_calls("min", "max"),
    rows="F(A, **K) -> F(A, **K, default=0)\nF(A, **K) -> F(A, **K, default=None)")  # fmt: skip
rewrites("slice", "zip(A, X) -> zip(A, X[1:])")


def _is_value(site: Site, facts: CodeFacts) -> bool:
    """Return whether it is an expression whose value is used, and not a constant."""
    return _is_used(site) and not isinstance(site.node, ast.Constant)


def _is_used(site: Site) -> bool:
    aside = isinstance(site.node, ast.Starred | ast.Slice | ast.Lambda)
    return not aside and site.field != "func" and not isinstance(site.owner, ast.Expr)


def _around(site: Site) -> str:
    """The function whose argument it is."""
    return getattr(getattr(site.owner, "func", None), "id", "")


def _wrapped(site: Site, facts: CodeFacts, new: ast.expr) -> float | None:
    name, node = callee(new), site.node
    if name == _around(site) and name != "sorted":
        return None
    if name == "abs" and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return 1.4  # a distance
    return 0.0


rule("wrap", "return a - b", "return abs(a - b)", when=_is_value, extra=_wrapped, rows="""
    X -> abs(X)       ;  0.8
    X -> len(X)       ;  0.4
    X -> set(X)       ;  0.6
    X -> sorted(X)    ;  0.4
    X -> list(X)      ;  0.0
    X -> str(X)       ;  0.2
    X -> int(X)       ;  0.4
    X -> sum(X)       ;  0.0
    X -> max(X)       ; -0.3
    X -> min(X)       ; -0.3
    X -> tuple(X)     ;  0.0
    X -> bool(X)      ; -1.0
    X -> float(X)     ; -0.5
    X -> round(X)     ; -0.3
    X -> any(X)       ; -0.6
    X -> all(X)       ; -0.6
    X -> ord(X)       ; -0.6
    X -> chr(X)       ; -0.6
    X -> bin(X)       ; -0.6
    X -> range(X)     ; -0.6
    X -> enumerate(X) ; -1.0
""")  # fmt: skip
rule("wrap method", "return str(a)", "return str(a).lower()", when=_is_value, rows="""
    X -> X.lower()    ; -0.1
    X -> X.upper()    ; -0.5
    X -> X.strip()    ; -0.5
    X -> X.split()    ; -0.9
    X -> X.encode()   ; -1.0
    X -> X.isdigit()  ; -1.5
    X -> X.isalpha()  ; -1.5
    X -> X.swapcase() ; -1.1
""")  # fmt: skip
rule("negate", "if any(items):\n    return 1", "if not any(items):\n    return 1", few=True)


@draws(ast.expr)
def negations(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """The opposite of a truth value."""
    node = site.node
    if not _is_value(site, facts):
        return
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        pass  # another comparison operator says the same
    elif _is_truth(site, facts):
        yield "negate", negated(node), 0.0
    elif isinstance(site.owner, ast.Return):
        yield "negate", negated(node), -1.5


rule("wrap both", "return a == b", "return set(a) == set(b)")


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
    low = ast.Compare(method(left, "lower"), node.ops, [method(right, "lower")])
    yield "wrap both", low, 0.0


rule("slice bound", "return items[1:]", "return items[:1]")


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
    """Return whether a part may be taken of it."""
    node, owner = site.node, site.owner
    if isinstance(node, ast.Constant | ast.Starred | ast.Slice | ast.GeneratorExp):
        return False
    if site.field == "func" or (isinstance(owner, ast.Subscript) and site.field == "value"):
        return False
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return False
    return not site.is_test


rule("slice", "return items", "return items[::-1]", when=_is_sequence, rows="""
    X -> X[1:]
    X -> X[:-1]
    X -> X[::-1] ; 0.3
    X -> X[1:-1] ; -1.0
    X -> X[2:]   ; -0.7
""")  # fmt: skip
rule("slice name", "return sum(items)", "return sum(items[:a])")


@draws(ast.expr)
def parts(site: Site, facts: CodeFacts) -> Iterator[Variant]:
    """A part of a sequence that a variable says."""
    node = site.node
    if not _is_sequence(site, facts):
        return
    for place, name in enumerate(site.context.names[:8]):
        if name == getattr(node, "id", None):
            continue
        extra = (1.5 if facts.idle(name) else 0.0) - 0.1 * place
        for cut, less in ((ast.Slice(None, load(name)), 0.0), (ast.Slice(load(name)), 0.4)):
            yield "slice name", ast.Subscript(node, cut, ast.Load()), extra - less


def _is_plain(site: Site) -> bool:
    """Return whether it may be extended: not a constant, nor part of an attribute or target."""
    if isinstance(site.node, ast.Constant | ast.Starred | ast.Lambda | ast.Slice):
        return False
    if site.field == "value" and isinstance(site.owner, ast.Attribute | ast.Subscript):
        return False
    return site.field != "func" and not isinstance(site.owner, ast.Expr)


def _is_truth(site: Site, facts: CodeFacts) -> bool:
    negative = isinstance(site.node, ast.UnaryOp) and isinstance(site.node.op, ast.Not)
    return site.is_test or negative or isinstance(site.node, ast.Compare)


def _is_number(site: Site, facts: CodeFacts) -> bool:
    return _is_plain(site) and not _is_truth(site, facts)


def _bounds(site: Site, facts: CodeFacts, new: ast.expr) -> float:
    """Off-by-one is commonest where a number bounds something."""
    if _around(site) == "range":
        return 0.9
    inside = site.field in ("slice", "upper", "lower", "comparators", "args")
    return 0.0 if inside or isinstance(site.owner, ast.Return) else -0.7


rule("plus one", "return list(range(a))", "return list(range(a + 1))", few=True,
    when=_is_number, extra=_bounds, rows="X -> X + 1")  # fmt: skip
rule("minus one", "return items[a]", "return items[a - 1]", few=True, when=_is_number,
    extra=_bounds, rows="X -> X - 1 ; -0.2")  # fmt: skip
