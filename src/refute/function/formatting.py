"""Calls, values and outcomes as text for people and for JSON; lines of tests as black lays them
out: double quotes, long calls and containers with one item a line."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable
from typing import Any

from refute.core.problems import Call, DoctestSession, Invocation, UnitTest, Want
from refute.function.contract import Status
from refute.sandbox import (
    Killed,
    NotRun,
    Outcome,
    OutOfMemory,
    Raised,
    Returned,
    TimedOut,
)
from refute.sandbox.values import MalformedValue
from refute.source.literals import NotLiteral, source_of
from refute.source.syntax import lifted_limits, parse_module


def code_of(node: ast.AST) -> str:
    """A tree's code on one line, texts in double quotes where that needs no more escapes."""
    text = ast.unparse(node)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    lines = text.split("\n")
    for token in reversed(tokens):
        (row, start), (end_row, end) = token.start, token.end
        line = lines[row - 1] if row == end_row <= len(lines) else ""
        if token.type == tokenize.STRING and line:
            lines[row - 1] = line[:start] + _quoted(token.string) + line[end:]
    return "\n".join(lines)


def _quoted(token: str) -> str:
    try:
        return source_of(ast.literal_eval(token))
    except (ValueError, SyntaxError, NotLiteral):  # an f-string
        plain = token[:2] in ("f'", "F'") and '"' not in token and "\\" not in token
        return f'f"{token[2:-1]}"' if plain and token.count("'") == 2 else token


def comparison(call: str, op: str, right: str, room: int) -> list[str]:
    """`assert call == right` at column 0 in lines of at most `room`, where that can be."""
    if len(f"assert {call} {op} {right}") <= room:
        return [f"assert {call} {op} {right}"]
    lines = [laid_out(f"expected = {right}", room)]
    if call.isidentifier():
        return [*lines, f"assert {call} {op} expected"]
    return [laid_out(f"actual = {call}", room), *lines, f"assert actual {op} expected"]


def laid_out(source: str, room: int) -> str:
    """As `statement`, of a statement's source."""
    with lifted_limits():
        return statement(parse_module(source).body[0], room)


def statement(node: ast.stmt, room: int) -> str:
    """A statement at column 0 in lines of at most `room` columns, where that can be."""
    match node:
        case ast.Expr(value=value):
            return _laid_out(value, 0, 0, room)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            text = f"{name} = {_laid_out(value, 0, len(name) + 3, room)}"
            unbroken = "\n" not in text and len(text) > room
            if unbroken and len(code_of(value)) + 4 <= room:
                return f"{name} = (\n    {code_of(value)}\n)"
            return text
    return code_of(node)


def _laid_out(node: ast.expr, indent: int, column: int, room: int) -> str:
    flat = code_of(node)
    if column + len(flat) <= room:
        return flat
    items: list[tuple[str, ast.expr]] = []
    opening, closing = flat[0], flat[-1]
    match node:
        case ast.Await(value=value):
            return "await " + _laid_out(value, indent, column + len("await "), room)
        case ast.Dict(keys=keys, values=values):
            heads = ["**" if key is None else f"{code_of(key)}: " for key in keys]
            items = [*zip(heads, values, strict=True)]
        case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Set(elts=elts):
            items = [("", one) for one in elts]
        case ast.Call(args=[ast.GeneratorExp()], keywords=[]):
            pass
        case ast.Call(func=func, args=args, keywords=keywords):
            opening, closing = f"{code_of(func)}(", ")"
            items = [("", one) for one in args]
            items += [(f"{one.arg}=" if one.arg else "**", one.value) for one in keywords]
    lines, inner = "", indent + 4
    for head, value in items:
        text = _laid_out(value, inner, inner + len(head), room - 1)
        lines += f"{' ' * inner}{head}{text},\n"
    return f"{opening}\n{lines}{' ' * indent}{closing}" if items else flat


def wrapped_imports(line: str, room: int) -> str:
    """An import in lines of at most `room` columns."""
    head, mark, names = line.partition(" import ")
    if len(line) <= room or not mark or not line.startswith("from "):
        return line
    return f"{head} import (\n" + "".join(f"    {one},\n" for one in names.split(", ")) + ")"


def one_line(text: str) -> str:
    """One line, short enough for a comment."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else f"{flat[:77]}..."


def sorted_imports(lines: Iterable[str]) -> list[str]:
    """Imports in isort's order: `import` lines before `from` lines."""
    return sorted(lines, key=lambda line: (line.startswith("from"), line.lower()))


def has_nan(value: Any) -> bool:
    """Return whether a value holds a float that equals nothing."""
    if isinstance(value, float):
        return value != value
    if isinstance(value, dict):
        return any(has_nan(item) for pair in value.items() for item in pair)
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(has_nan, value))
    return False


MAX_VALUE = 20_000
"""Longest text of one value in JSON, in characters."""


def call_source(call: Invocation, function: str) -> str:
    """`f(1, key=[2])`, the expression as it is, or a session's lines with their prompts."""
    if not isinstance(call, Call):
        return call.source
    parts = [value_source(arg) for arg in call.args]
    parts += [f"{name}={value_source(value)}" for name, value in call.kwargs.items()]
    return f"{function}({', '.join(parts)})"


def value_source(value: Any) -> str:
    """Python source where the value has one, else its `repr`. Never raises on decoded values."""
    try:
        return source_of(value)
    except NotLiteral:
        pass
    try:
        return repr(value)
    except (ValueError, RecursionError):  # an int of more digits than Python writes; a deep nest
        return f"<{type(value).__name__}, too large to be shown>"


def expected_source(test: UnitTest) -> str:
    """Return what a test expects: Python source, "raises NAME", or the output of a session."""
    if isinstance(test.expected, Want):
        return _shown(test.expected.text, test.expected.raised)
    return value_source(test.expected) if test.raises is None else f"raises {test.raises}"


NO_OUTPUT = "no output"
"""Text for an example that shows nothing."""
NO_EXCEPTION = "no exception"
"""Expectation of a whole test of a file."""


def _shown(text: str | None, raised: str | None) -> str:
    if raised is not None:
        return f"raises {raised.rstrip()}"
    return NO_EXCEPTION if text is None else text.rstrip("\n") or NO_OUTPUT


def describe(outcome: Outcome, call: Invocation | None = None) -> str:
    """Describe the outcome of a call: the value's source, or words; one line unless a session
    printed more."""
    match outcome:
        case Returned():
            try:
                value = outcome.value
                if (
                    isinstance(call, DoctestSession)
                    and isinstance(value, tuple)
                    and len(value) == 3
                ):
                    text = _shown(str(value[0]), None if value[1] is None else str(value[1]))
                else:
                    text = value_source(value)
            except MalformedValue:
                return "an answer that is not a value"
            return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}..."
        case Raised(type=name, message=message, on_import=on_import):
            where = " on import" if on_import else ""
            return f"raises {name}{where}: {message}" if message else f"raises {name}{where}"
        case TimedOut(kind=kind):
            return "does not end" if kind == "cpu" else "sleeps or blocks too long"
        case OutOfMemory():
            return "runs out of memory"
        case Killed(reason=reason):
            return f"ends the process: {reason}"
        case NotRun():
            return "not run"


def status_of(outcome: Outcome) -> Status:
    """Return the kind of a failure, in one word for scripts."""
    match outcome:
        case Returned():
            return "wrong"
        case Raised():
            return "raised"
        case TimedOut():
            return "timeout"
        case OutOfMemory():
            return "memory"
        case Killed():
            return "killed"
        case NotRun():
            return "not-run"
