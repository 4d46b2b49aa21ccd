"""What a test checks, read from its source: assertions of pytest's and of unittest's kind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from refute.syntax import Function

__all__ = ["Check", "checks_of", "functions_of", "is_tautology", "skips_of"]

Kind = Literal["equal", "compare", "truth", "raises", "other"]
"""`equal`: against a value; `compare`: another comparison; `truth`: no more than true or false;
`raises`: an exception is expected; `other`: a helper that checks by its name."""

_EQUAL = frozenset(
    {f"assert{kind}Equal" for kind in ("", "List", "Tuple", "Dict", "Set", "Sequence", "MultiLine")}
    | {"assertCountEqual", "assert_equal", "assert_array_equal", "assert_frame_equal"}
)
_NEAR = frozenset({"assertAlmostEqual", "assert_allclose", "assert_almost_equal", "isclose"})
_TRUTH = frozenset({"assertTrue", "assertFalse", "assertIsNotNone", "assertIsNone"})
_RAISES = frozenset({"raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns"})
_TOLERANCES = frozenset({"abs", "rel", "rtol", "atol", "delta", "rel_tol", "abs_tol"})
_SKIPS = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "skipTest"}
    | {"importorskip", "SkipTest"}
)


@dataclass(frozen=True, slots=True)
class Check:
    """One assertion."""

    kind: Kind
    line: int
    text: str
    """As source."""
    actual: str = ""
    """What is looked at, as source."""
    expected: str = ""
    """What it is compared with, or the exceptions that are expected."""
    operator: str = "=="
    tolerances: tuple[tuple[str, float], ...] = ()
    """Name -> how far off a number may be; of `places` and `decimal` as a distance."""
    match: str = ""
    """Of an expected exception: what its message must hold."""
    guards: tuple[str, ...] = ()
    """What it stands in that may keep it from failing: an `if`, a `try` with handlers, an `or`."""


def functions_of(tree: ast.Module) -> dict[str, Function]:
    """Qualified name -> definition, of functions and methods that are not nested in functions."""
    found: dict[str, Function] = {}

    def walk(body: list[ast.stmt], owner: str) -> None:
        for node in body:
            if isinstance(node, Function):
                found[f"{owner}{node.name}"] = node
            elif isinstance(node, ast.ClassDef):
                walk(node.body, f"{owner}{node.name}.")
            elif isinstance(node, ast.If | ast.Try):
                walk(node.body, owner)

    walk(tree.body, "")
    return found


def checks_of(function: Function) -> list[Check]:
    """Every assertion of a function, in order."""
    return list(_in_body(function.body, ()))


def _in_body(body: list[ast.stmt], guards: tuple[str, ...]) -> Iterator[Check]:
    for number, node in enumerate(body):
        within = guards
        if isinstance(node, ast.Assert):
            yield _assertion(node, guards)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from filter(None, [_call(node.value, guards)])
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if isinstance(item.context_expr, ast.Call):
                    yield from filter(None, [_call(item.context_expr, guards)])
            yield from _in_body(node.body, _suppressing(node, guards))
        elif isinstance(node, ast.If):
            within = (*guards, f"if {ast.unparse(node.test)}")
            yield from _in_body(node.body, within)
            yield from _in_body(node.orelse, within)
        elif isinstance(node, ast.Try):
            caught = [h for h in node.handlers if not _raises_again(h)]
            within = (*guards, "try") if caught else guards
            yield from _in_body(node.body, within)
            for handler in node.handlers:
                yield from _in_body(handler.body, (*guards, "except"))
            yield from _in_body(node.orelse, within)
            yield from _in_body(node.finalbody, guards)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While | Function):
            yield from _in_body(node.body, guards)
        if isinstance(node, ast.Return | ast.Raise) and number < len(body) - 1:
            guards = (*guards, "after a return")


def _suppressing(node: ast.With | ast.AsyncWith, guards: tuple[str, ...]) -> tuple[str, ...]:
    names = {_last_name(i.context_expr) for i in node.items}
    return (*guards, "suppress") if "suppress" in names else guards


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Whether what is caught fails the test all the same."""
    for node in ast.walk(handler):
        if isinstance(node, ast.Raise):
            return True
        if isinstance(node, ast.Call) and _last_name(node) in ("fail", "exit"):
            return True
    return False


def _assertion(node: ast.Assert, guards: tuple[str, ...]) -> Check:
    test, text = node.test, ast.unparse(node.test)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        guards = (*guards, f"or {ast.unparse(test.values[-1])}")
        test = test.values[0]
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, right = test.left, test.comparators[0]
        if _is_literal(left) and not _is_literal(right):
            left, right = right, left
        operator = _OPERATORS.get(type(test.ops[0]), "?")
        kind: Kind = "equal" if operator in ("==", "is") else "compare"
        if operator in ("is", "is not") and ast.unparse(right) == "None":
            kind = "truth" if operator == "is not" else "equal"
        expected, near = _expected(right)
        actual = ast.unparse(left)
        return Check(kind, node.lineno, text, actual, expected, operator, near, guards=guards)
    return Check("truth", node.lineno, text, text, guards=guards)


_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def _expected(node: ast.expr) -> tuple[str, tuple[tuple[str, float], ...]]:
    """The value, and how near is near enough: `approx(3, abs=1)` expects 3."""
    if isinstance(node, ast.Call) and _last_name(node) == "approx" and node.args:
        return ast.unparse(node.args[0]), _tolerances(node) or (("rel", 1e-6),)
    return ast.unparse(node), ()


def _tolerances(call: ast.Call) -> tuple[tuple[str, float], ...]:
    found = []
    for keyword in call.keywords:
        value = _number(keyword.value)
        if value is None:
            continue
        if keyword.arg in _TOLERANCES:
            found.append((str(keyword.arg), value))
        elif keyword.arg in ("places", "decimal"):
            found.append((keyword.arg, 10.0**-value))
    if _last_name(call) == "approx":
        for name, value in zip(("rel", "abs"), map(_number, call.args[1:]), strict=False):
            if value is not None:
                found.append((name, value))
    elif _last_name(call) == "assertAlmostEqual" and len(call.args) > 2:
        places = _number(call.args[2])
        found += [("places", 10.0**-places)] if places is not None else []
    return tuple(found)


def _number(node: ast.expr) -> float | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return float(value) if isinstance(value, int | float) and abs(value) < 1e9 else None


def _call(call: ast.Call, guards: tuple[str, ...]) -> Check | None:
    name, text = _last_name(call), ast.unparse(call)
    arguments = [ast.unparse(one) for one in call.args]
    if name in _RAISES:
        match = next((ast.unparse(k.value) for k in call.keywords if k.arg == "match"), "")
        if name.endswith("Regex") and len(arguments) > 1:
            match = arguments[1]
        expected = arguments[0] if arguments else "Exception"
        return Check("raises", call.lineno, text, name, expected, match=match, guards=guards)
    if name in _EQUAL and len(arguments) >= 2:
        left, right = call.args[0], call.args[1]
        if _is_literal(left) and not _is_literal(right):
            left, right = right, left
        expected, near = _expected(right)
        actual = ast.unparse(left)
        return Check("equal", call.lineno, text, actual, expected, "==", near, guards=guards)
    if name in _NEAR and len(arguments) >= 2:
        near = _tolerances(call) or (("places", 1e-7),)
        actual, expected = arguments[:2]
        return Check("equal", call.lineno, text, actual, expected, "==", near, guards=guards)
    if name in _TRUTH and arguments:
        return Check("truth", call.lineno, text, arguments[0], guards=guards)
    if name.startswith("assert") and arguments:
        rest = arguments[1] if len(arguments) > 1 else ""
        return Check("compare", call.lineno, text, arguments[0], rest, name, guards=guards)
    if name.lstrip("_").startswith(("check", "verify", "expect")) or name == "fail":
        return Check("other", call.lineno, text, text, guards=guards)
    return None


def is_tautology(check: Check) -> bool:
    """Whether an assertion cannot fail, whatever is called: of constants alone, of a value with
    itself, `or True`, a tuple where a condition was meant."""
    if check.kind == "raises":
        return False
    if any(guard == "or True" for guard in check.guards):
        return True
    if check.kind in ("equal", "compare") and check.operator in ("==", "<=", ">=", "is"):
        if check.actual == check.expected and check.actual:
            return True
        return _is_constant(check.actual) and _is_constant(check.expected)
    return check.kind == "truth" and _is_constant(check.actual)


def _is_constant(text: str) -> bool:
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if isinstance(tree, ast.Tuple) and tree.elts:
        return True
    return not any(isinstance(node, ast.Name | ast.Call | ast.Attribute) for node in ast.walk(tree))


def skips_of(function: Function | ast.ClassDef) -> list[str]:
    """What may keep a test from running, or from failing, as source: marks and calls."""
    found = [ast.unparse(d) for d in function.decorator_list if _last_name(d) in _SKIPS]
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _last_name(node) in _SKIPS:
            if not any(ast.unparse(node) in known for known in found):
                found.append(ast.unparse(node))
        elif isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in ("__test__", "pytestmark") for t in node.targets
        ):
            found.append(ast.unparse(node))
    return found


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
