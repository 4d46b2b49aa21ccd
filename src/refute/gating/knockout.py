"""Programs with parts taken out, on which tests that check something must fail.

`silenced`: every function of a module returns something at once, whatever it is given. A test that
passes with that, whichever it is, checks nothing of what the module computes. `without_branches`:
a branch that is for exactly the values of a test is taken out.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from refute.gating.checks import functions_of
from refute.syntax import Function, readable_module

__all__ = ["ANSWERS", "Branch", "literals_of", "named_branches", "silenced", "without_branch"]

ANSWERS = ("None", "type('Anything', (), {})()")
"""What a silenced function returns: no test that checks a value takes both."""


def silenced(source: str, answer: str) -> str:
    """The module with functions that answer at once; special methods, and what the module calls
    while it is imported, stay as they are. As it was where it cannot be written again."""
    tree = readable_module(source)
    used = _used_at_import(tree)
    body = ast.parse(f"return {answer}").body
    for name, function in functions_of(tree).items():
        last = name.rpartition(".")[2]
        if last in used or (last.startswith("__") and last.endswith("__")):
            continue
        if any("property" not in ast.unparse(d) and "method" not in ast.unparse(d)
               for d in function.decorator_list):  # fmt: skip
            continue
        function.body = body
    try:
        return ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, RecursionError):
        return source


def _used_at_import(tree: ast.Module) -> set[str]:
    """Names that statements outside of functions read."""
    found: set[str] = set()

    def walk(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(node, Function) and child in node.body:
                continue
            if isinstance(child, ast.Name):
                found.add(child.id)
            elif isinstance(child, ast.Attribute):
                found.add(child.attr)
            walk(child)

    walk(tree)
    return found


@dataclass(frozen=True, slots=True)
class Branch:
    """A place in code that is for certain values alone."""

    path: str
    line: int
    text: str
    """Its condition, or the table, as source."""


def literals_of(
    functions: Sequence[Function], called: Collection[str]
) -> tuple[set[str], set[str]]:
    """Values that tests give to the functions of these names, and all other values in them, as
    source. Rows of `parametrize` count as both."""
    given: set[str] = set()
    other: set[str] = set()
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and _name_of(node.func) in called:
                parts = [*node.args, *(keyword.value for keyword in node.keywords)]
                for part in parts:
                    given.update(_literals(part))
                if len(parts) > 1:
                    given.update(_literals(ast.Tuple(parts, ast.Load())))
        rows = set()
        for decorator in function.decorator_list:
            rows |= {text for node in ast.walk(decorator) for text in _literals(node)}
        given |= rows
        other |= rows
        other |= {text for node in ast.walk(function) for text in _literals(node)}
    return given, other


def _literals(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.expr) and _is_value(node):
        yield ast.unparse(node)


def _is_value(node: ast.AST) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def named_branches(
    path: str,
    after: str,
    lines: Collection[int],
    given: Collection[str],
    expected: Collection[str],
) -> list[Branch]:
    """Branches on added lines that compare with nothing but values that the tests give, and that
    answer with a value that the tests expect, in a function that computes its other answers; and
    new tables of such values.

    0, 1, "", None and the like are borders that code is right to name.
    """
    found = []
    for function in functions_of(readable_module(after)).values():
        if not _computes(function):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.If | ast.IfExp) and node.lineno in lines:
                answers = _answers(node.body)
                values = _compared(node.test)
                if _telling(values) and set(values) <= set(given) and answers & set(expected):
                    found.append(Branch(path, node.lineno, ast.unparse(node.test)))
            elif isinstance(node, ast.match_case) and node.pattern.lineno in lines:
                values = [text for one in ast.walk(node.pattern) for text in _literals(one)]
                if (
                    _telling(values)
                    and set(values) <= set(given)
                    and _answers(node.body) & set(expected)
                ):
                    found.append(Branch(path, node.pattern.lineno, ast.unparse(node.pattern)))
    for node in ast.walk(readable_module(after)):
        if isinstance(node, ast.Dict) and node.lineno in lines and node.keys:
            keys = [ast.unparse(key) for key in node.keys if key is not None]
            answers = {ast.unparse(value) for value in node.values}
            known = set(keys) <= set(given) and answers <= set(expected)
            if known and _telling(keys) and len(keys) == len(node.keys):
                found.append(Branch(path, node.lineno, ast.unparse(node)))
    return found


def _computes(function: Function) -> bool:
    """Whether a function has an answer that is not written out."""
    returns = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
    return any(not _is_value(value) for value in returns)


def _answers(body: list[ast.stmt] | ast.expr) -> set[str]:
    if isinstance(body, ast.expr):
        return set(_literals(body))
    if not body:
        return set()
    last = body[-1]
    if isinstance(last, ast.Return | ast.Assign) and last.value is not None:
        return set(_literals(last.value))
    return set()


def _compared(test: ast.expr) -> list[str]:
    """The values that a condition is made of; none where it looks at anything else."""
    if isinstance(test, ast.BoolOp):
        parts = [_compared(value) for value in test.values]
        return [text for part in parts for text in part] if all(parts) else []
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        sides = [test.left, test.comparators[0]]
        written = [text for side in sides for text in _literals(side)]
        if isinstance(test.ops[0], ast.Eq | ast.Is) and len(written) == 1:
            if isinstance(sides[1], ast.Tuple):
                return [ast.unparse(part) for part in sides[1].elts]
            return written
        if isinstance(test.ops[0], ast.In) and isinstance(sides[1], ast.Tuple | ast.List | ast.Set):
            return [ast.unparse(part) for part in sides[1].elts]
    return []


_BORDERS = frozenset(
    {"0", "1", "-1", "0.0", "1.0", "''", "None", "True", "False", "[]", "{}", "()"}
)


def _telling(values: Sequence[str]) -> bool:
    return any(value not in _BORDERS for value in values)


def without_branch(source: str, branch: Branch) -> str:
    """The module in which a branch is never taken, or a table is empty."""
    tree = readable_module(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp) and node.lineno == branch.line:
            if ast.unparse(node.test) == branch.text:
                node.test = ast.Constant(False)
        elif isinstance(node, ast.match_case) and node.pattern.lineno == branch.line:
            node.guard = ast.Constant(False)
        elif isinstance(node, ast.Dict) and ast.unparse(node) == branch.text:
            node.keys, node.values = [], []
    return ast.unparse(ast.fix_missing_locations(tree))
