"""Inputs for a function as its documentation and tests use it: sessions with other values in them.

A session is a few statements (see `inside.observe`): what an example or a test of the function
needs, then the call, with constants of these statements replaced by others of the same type. So
arguments that no codec could carry (graphs, lambdas, files) are made where they are needed.
"""

from __future__ import annotations

import ast
import copy
import doctest
import random
from collections.abc import Iterable, Iterator, Sequence

__all__ = ["from_docstring", "from_tests", "varied"]

Session = list[str]


def from_docstring(docstring: str, name: str) -> Iterator[Session]:
    """One session for each example that names the function: what was set up before it, and it."""
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return
    before: Session = []
    for example in examples:
        if example.options.get(doctest.SKIP):
            continue
        try:
            tree = ast.parse(example.source)
        except SyntaxError:
            continue
        if _names(tree, name):
            yield [*before, example.source]
        if not (len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr) and _names(tree, name)):
            before.append(example.source)


def from_tests(text: str, name: str) -> dict[str, Session]:
    """The bodies of a test file's functions that name the function and take no fixture."""
    found: dict[str, Session] = {}
    for node in ast.parse(text).body:
        plain = isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        if plain and not node.decorator_list and not ast.unparse(node.args) and _names(node, name):  # type: ignore[union-attr, attr-defined]
            found[node.name] = [ast.unparse(s) for s in node.body]  # type: ignore[attr-defined]
    return found


def varied(
    sessions: Sequence[Session],
    name: str,
    function: ast.FunctionDef,
    rng: random.Random,
    count: int,
) -> list[Session]:
    """At most `count` different sessions: those given, and others with one to three changes."""
    made = {tuple(session): None for session in sessions}
    parsed = [[_parsed(text) for text in session] for session in sessions]
    for _ in range(count * 6):
        if len(made) >= count or not parsed:
            break
        trees = copy.deepcopy(rng.choice(parsed))
        for _ in range(rng.choice((1, 1, 2, 3))):
            tree = trees[-1] if rng.random() < 0.6 else rng.choice(trees)
            _change(tree, name, function, rng)
        try:
            made.setdefault(tuple(ast.unparse(ast.fix_missing_locations(t)) for t in trees))
        except (ValueError, RecursionError):
            continue
    return [list(session) for session in made][:count]


def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _names(tree: ast.AST, name: str) -> bool:
    return any(
        (isinstance(n, ast.Name) and n.id == name)
        or (isinstance(n, ast.Attribute) and n.attr == name)
        for n in ast.walk(tree)
    )


def _change(tree: ast.AST, name: str, function: ast.FunctionDef, rng: random.Random) -> None:
    """Change one place of the statement in place."""
    places = [n for n in _walk(tree) if _changeable(n)]
    calls = [n for n in _walk(tree) if isinstance(n, ast.Call) and _names(n.func, name)]
    if calls and rng.random() < 0.2:
        _more_keywords(rng.choice(calls), function, rng)
    elif places:
        node = rng.choice(places)
        if isinstance(node, ast.Constant):
            node.value = other(node.value, rng)
        elif isinstance(node, ast.Dict):
            at = rng.randrange(len(node.keys))
            del node.keys[at], node.values[at]
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            _other_items(node, rng)


def _changeable(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | bytes()):
            return True
        case ast.List(ctx=ast.Load()) | ast.Tuple(ctx=ast.Load()) | ast.Set():
            return bool(node.elts)
        case ast.Dict():
            return bool(node.keys)
    return False


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _other_items(node: ast.List | ast.Tuple | ast.Set, rng: random.Random) -> None:
    items = node.elts
    at = rng.randrange(len(items))
    match rng.randrange(5):
        case 0:
            del items[at]
        case 1:
            items.insert(rng.randrange(len(items) + 1), copy.deepcopy(items[at]))
        case 2:
            items.reverse()
        case 3:
            rng.shuffle(items)
        case 4:
            del items[at:]
    if isinstance(node, ast.Set) and not items:
        items.append(ast.Constant(0))


def _more_keywords(call: ast.Call, function: ast.FunctionDef, rng: random.Random) -> None:
    """One more optional argument: another value of its default's type."""
    given = {k.arg for k in call.keywords}
    arguments = function.args
    optional = arguments.args[len(arguments.args) - len(arguments.defaults) :]
    pairs = [*zip(optional, arguments.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d]
    names = [a.arg for a in arguments.args]
    for argument, default in rng.sample(pairs, len(pairs)):
        place = names.index(argument.arg) if argument.arg in names else len(call.args)
        free = argument.arg not in given and place >= len(call.args)
        if free and isinstance(default, ast.Constant) and default.value not in (None, ...):
            value = other(default.value, rng)
            call.keywords.append(ast.keyword(argument.arg, ast.Constant(value)))
            return


def other(value: object, rng: random.Random) -> object:
    """Another value of the same type, often close to it."""
    match value:
        case bool():
            return not value
        case int():
            near = [value + 1, value - 1, 0, 1, value * 2, value + 10, rng.randrange(-5, 30)]
            return rng.choice([*near, -value])
        case float():
            return rng.choice([value + 1, value / 2, -value, 0.0, float(round(value)), value * 10])
        case str():
            return _other_text(value, rng)
        case bytes():
            return rng.choice([b"", value[:-1], value[1:], value * 2, value + b"a"])
    return value


def _other_text(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    letter = rng.choice([*"ab1 -_A.é", *text])
    return rng.choice(
        [
            text[:-1], text[1:], text * 2, text.upper(), text.swapcase(), text[::-1], "",
            text[:at] + letter + text[at:], text[:at] + text[at + 1 :], " " + text,
            text.replace(" ", ""), text[: len(text) // 2], text[:at] + letter + text[at + 1 :],
        ]
    )  # fmt: skip


def distinct(sessions: Iterable[Session]) -> list[Session]:
    """Without repetitions, in order."""
    return [list(s) for s in dict.fromkeys(tuple(s) for s in sessions)]
