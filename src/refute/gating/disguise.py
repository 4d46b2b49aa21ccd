"""The changed code in other clothes: what it does stays, and nothing of how it is written can be
read; and the same with the functions that it had before.

A module becomes one line that runs its code, without comments, layout and lines of its own, with
the docstrings of before. `knocked_out`: its functions are the old ones, and the new ones raise.
"""

from __future__ import annotations

import ast
import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refute.diffing.definitions import Definition, Definitions, definitions
from refute.errors import reason_to_skip
from refute.gating.change import Change
from refute.source.syntax import Function, first_line, parse_module, readable_module

_LOADED = (
    "exec(compile(__import__('zlib').decompress(__import__('base64').b64decode({code!r})).decode(),"
    " __file__, 'exec', 0, True))"
)
_RAISES = "raise SystemError('knocked out')"
_Nodes = Mapping[str, Sequence[ast.stmt]]
_Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module


@dataclass(frozen=True, slots=True)
class Disguised:
    """A changed module of code."""

    text: str
    knocked_out: str
    chosen: Mapping[str, str]
    """Functions that are changed or new: line in `text`, as text -> qualified name."""
    names: frozenset[str]
    """Data that is changed or new, classes whose heads are, and functions that are gone; `<module>`
    where what only runs is."""


def functions_of(text: str) -> dict[str, Function]:
    """Qualified name -> definition, of functions and methods that are not nested in functions; none
    of what is not Python."""
    found = definitions(readable_module(text), "").functions
    return {name: one.nodes[0] for name, one in found.items()}


def disguised(change: Change) -> tuple[dict[str, Disguised], dict[str, str]]:
    """The changed modules of code by their path; and those of which nothing can be told, with the
    reason. Those that are not Python are in neither."""
    found, unknown = dict[str, Disguised](), dict[str, str]()
    for path in change.code_files:
        if path.endswith(".py") and path in change.after:
            try:
                found[path] = _disguised(change.before.get(path, ""), change.after[path])
            except SyntaxError:
                continue  # who imports it sees that
            except Exception as error:
                unknown[path] = reason_to_skip(error)
    return found, unknown


def _disguised(before: str, after: str) -> Disguised:
    old, new, out = (parse_module(text) for text in (before, after, after))
    was, now, other = (definitions(tree, "") for tree in (old, new, out))
    pairs: list[tuple[_Documented, _Documented]] = [(new, old)] if before else []
    pairs += [pair for name, one in now.functions.items() for pair in _paired(one, was, name)]
    both = now.classes.keys() & was.classes.keys()
    pairs += [(now.classes[name][0], was.classes[name][0]) for name in both]
    for node, former in pairs:
        told, head = (ast.get_docstring(one, clean=False) for one in (former, node))
        if told != head:
            node.body[: head is not None] = [ast.Expr(ast.Constant(told))] if told else [ast.Pass()]
    text = ast.unparse(new)
    heads = _differing(
        *({name: (ast.ClassDef(name, one.bases, one.keywords, [], one.decorator_list),)
           for name, (one, *_) in side.classes.items()} for side in (was, now))
    )  # fmt: skip
    nodes = [{name: one.nodes for name, one in side.functions.items()} for side in (was, now)]
    changed = _differing(*nodes) | {n for n, one in now.functions.items() if one.owner in heads}
    gone = changed - now.functions.keys()
    changed -= gone
    for name in changed:
        for node, former in _paired(other.functions[name], was, name):
            vars(node).update(vars(former))
        if name not in was.functions and not _made_on_import(name, out):
            for node in other.functions[name].nodes:
                node.body = parse_module(_RAISES).body
    for name in gone:  # stands in its class as it did
        for owner in other.classes.get(was.functions[name].owner, ()):
            owner.body += was.functions[name].nodes
    data = heads | gone | _differing(was.bindings, now.bindings)
    names = {name.rpartition(".")[2] for name in data}
    names |= {"<module>"} if _runs(old) != _runs(new) else set()
    lines = definitions(parse_module(text), "").functions
    chosen = {str(first_line(node)): name for name in changed for node in lines[name].nodes}
    return Disguised(_line(text), _line(ast.unparse(out)), chosen, frozenset(names))


def _paired(one: Definition, was: Definitions, name: str) -> list[tuple[Function, Function]]:
    """The definitions of a name beside those that it had."""
    former = was.functions[name].nodes if name in was.functions else ()
    return [(a, b) for a, b in zip(one.nodes, former, strict=False) if type(a) is type(b)]


def _differing(one: _Nodes, other: _Nodes) -> set[str]:
    """Names that stand for something else on the other side."""
    dumps = [{n: [*map(ast.dump, nodes)] for n, nodes in side.items()} for side in (one, other)]
    return {name for name in one.keys() | other.keys() if dumps[0].get(name) != dumps[1].get(name)}


def _runs(tree: ast.Module) -> list[str]:
    """What only runs on import, and as a program."""
    defines = Function | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom
    return [ast.dump(node) for node in tree.body if not isinstance(node, defines)]


def _made_on_import(name: str, tree: ast.Module) -> bool:
    """Whether a function is called while its module is imported, as far as is seen."""
    outside: list[ast.AST] = [s for s in tree.body if not isinstance(s, Function | ast.ClassDef)]
    outside += [d for one in ast.walk(tree) for d in getattr(one, "decorator_list", ())]
    parts = (part for one in outside for part in ast.walk(one))
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)


def _line(text: str) -> str:
    return _LOADED.format(code=base64.b64encode(zlib.compress(text.encode())).decode())
