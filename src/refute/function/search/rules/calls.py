"""Rules for calls: another function or method, other arguments."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator

from refute.function.search.facts import CodeFacts
from refute.function.search.rules.rule import Variant, callee, draws, load, rewrites, rule
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

rule("function", 0.4, "return min(items)", "return max(items)", ordered=True)
rule("method", 0.5, "return a.upper()", "return a.lower()", ordered=True)


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


rule("swap arguments", 0.35, "return divmod(a, b)", "return divmod(b, a)", few=True)
rule("drop argument", 0.2, "return pow(a, b)", "return pow(a)")


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


rule("default", 0.03, "return min(items)", "return min(items, default=0)",
    when=_calls("min", "max"),
    rows="F(A, **K) -> F(A, **K, default=0)\nF(A, **K) -> F(A, **K, default=None)")  # fmt: skip
rewrites("slice", "zip(A, X) -> zip(A, X[1:]) ; 0 ; list str")
