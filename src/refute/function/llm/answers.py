"""Read a model's answer: the call and the expected output of a unit test. Executes nothing.

The prompts ask for ``Arguments: ```f(1, 2)``` `` and ``Output: ```3``` ``. Models wrap these parts
in headings, prose, fences of any length, assertions, names of arguments and comments. The rules:

- Reasoning that ends with ``</think>`` is no part of the answer.
- The call stands after the label ``Arguments:`` (or ``Input:``). Of several such parts the last one
  that holds a call counts; within a part, its first call.
- The expected output stands after the last label ``Output:`` that follows that call (before the
  next ``Arguments:``).
- Without labels, the last ``f(…) == value`` or doctest of the answer counts, then its last call.
- A part that is a placeholder of the prompt's form, or no Python, is not there.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from refute.source.literals import closing
from refute.source.syntax import lifted_limits, parse_expression, parse_module

MAX_ANSWER = 100_000
"""Longer answers are read up to this many characters."""
_MAX_CALLS = 20
"""So many openings of a call are looked at: ``f(f(f(…`` must not take quadratic time."""

_INPUT = re.compile(
    r"(?<![\w`])(?:(?:input|unit[ -]test|test)\s+)?(?:arguments?|args|inputs?)\b[*_` ]{0,4}[:=]",
    re.I,
)
_OUTPUT = re.compile(
    r"(?<![\w`])(?:(?:the\s+)?(?:expected|correct|final)\s+)?"
    r"(?:output|return\s+value|result|answer|expected)\b[*_` ]{0,4}[:=](?!=)",
    re.I,
)
_ABOUT_OUTPUT = re.compile(
    r"^[ \t]{0,3}#{1,6}[ \t]*[*_]*(?:(?:expected|correct|final)\s+)?output\b", re.M | re.I
)
"""The heading of the part in which an answer reasons about the output."""
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s", re.M)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)(?:\1(?!`)|\Z)", re.S)
_LANGUAGE = re.compile(r"\A(?:python3?|py|pycon|text|plaintext|json|plain)?[ \t]*\n", re.I)
_LANGUAGE_INLINE = re.compile(r"\A(?:python3?|py)[ \t]+", re.I)
_RAISES = re.compile(
    r"\A\W*(?:(?:it|f|the (?:function|call|code))\s+)?(?:should\s+|would\s+|will\s+|must\s+)?"
    r"(?:raises?|throws?|raising)\s*:?\s+(?:an?\s+)?`*([A-Za-z_][\w.]*)",
    re.I,
)
_ERROR = re.compile(r"\A\W*([A-Za-z_]\w*)\s*(?:[:(`.]|\Z)")
_AFTERTHOUGHT = re.compile(
    r"(?<!\s)\s+(?:#|//|\(|--|->|=>|–|—|because\b|since\b|as\b|which\b|where\b|so\b|i\.e\.)|[,;.]\s+[A-Za-z(]"
)
_ARROW = re.compile(r"\A(?:->|=>|→|={1,2}(?!=))\s*")
_DECORATION = " \t\r\n*_"


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """An expected output as it is written: an expression, or the name of an exception."""

    node: ast.expr | None = None
    raises: str | None = None


@dataclass(frozen=True, slots=True)
class Stated:
    """Parts of a unit test that an answer states."""

    call: ast.Call | None
    """The call; one of bare arguments has the function's name put in."""
    output: WrittenOutput | None
    before_output: str
    """The answer up to and with its call, without what it says about the output, as far as that can
    be told apart; else the call alone. A vote on the output goes on from here."""


def read_test(text: str, entry_point: str) -> Stated:
    """The unit test of an answer; `entry_point` is the function's name, or `Class.method`."""
    text = final_text(text)
    labels = [match.span() for match in _INPUT.finditer(text)]
    for number in reversed(range(len(labels))):
        start, after = labels[number]
        end = labels[number + 1][0] if number + 1 < len(labels) else len(text)
        answers = list(_OUTPUT.finditer(text, after, end))
        stop = answers[0].start() if answers else end
        call = _call_of(text[after:stop], entry_point)
        if call is not None:
            output = _after(text, answers[-1].end(), end) if answers else None
            if output is None and not answers:
                output = _equated(text[start:end], entry_point)[1]
            about = _ABOUT_OUTPUT.search(text, after, stop)
            return Stated(call, output, text[: about.start() if about else stop].rstrip())
    call, output = _equated(text, entry_point)
    if call is None:
        call = next(reversed(list(_calls(text, entry_point))), None)
        answers = list(_OUTPUT.finditer(text))
        output = _after(text, answers[-1].end(), len(text)) if answers and call else None
    return Stated(call, output, f"Arguments: ```{source_text(call)}```" if call else "")


def read_output(text: str, entry_point: str) -> WrittenOutput | None:
    """The expected output of an answer that was asked for nothing else.

    After the last label ``Output:``; without one, the last code span, or the whole of one line.
    """
    text = final_text(text)
    labels = list(_OUTPUT.finditer(text))
    if labels:
        return _after(text, labels[-1].end(), len(text), entry_point)
    spans = code_spans(text)
    if spans:
        return _written(spans[-1], entry_point)
    return _written(text, entry_point) if "\n" not in text.strip() else None


def final_text(text: str) -> str:
    """The answer without its reasoning; "" where the answer ends in the middle of that."""
    head, mark, tail = text.rpartition("</think>")
    text = tail if mark else "" if head + tail and _thinking(text) else text
    return text[:MAX_ANSWER].replace("\r\n", "\n").replace("\x00", "")


def _thinking(text: str) -> bool:
    return text.lstrip().startswith("<think>")


def code_spans(text: str) -> list[str]:
    """Return the text between back-ticks (fences and inline code), without language names.

    A fence that is never closed reaches to the end of the text.
    """
    found = []
    for match in _SPAN.finditer(text):
        ticks, body = match[1], match[2]
        if len(ticks) < 3 and "\n\n" in body:  # a stray back-tick, not code
            continue
        stripped = _LANGUAGE.sub("", body, count=1) if len(ticks) > 2 else body
        if stripped == body and len(ticks) > 2:
            stripped = _LANGUAGE_INLINE.sub("", body, count=1)
        found.append(stripped.strip("\n"))
    return found


def source_text(node: ast.expr) -> str:
    """Python source of an expression on one line; "" where it is nested too deeply for that."""
    try:
        with lifted_limits():
            return ast.unparse(node)
    except (RecursionError, ValueError, MemoryError):
        return ""


# -- calls -----------------------------------------------------------------------------------------


def _call_of(part: str, entry_point: str) -> ast.Call | None:
    """The first call in a part of an answer, else what is written there as its bare arguments."""
    call = next(_calls(part, entry_point), None)
    part = part.lstrip(_DECORATION)
    heading = _HEADING.search(part)
    part = part[: heading.start()] if heading else part
    spans = code_spans(part) if part.startswith("`") else []
    sources = spans[:1] or [part.strip(), part.split("\n", 1)[0]]
    name = entry_point.rsplit(".", 1)[-1]
    if name != entry_point:  # the object whose method it is may be any expression
        for source in sources:
            node = _expression(source)
            if isinstance(node, ast.Call) and _is_call(node, entry_point):
                return node
    if call is not None or f"{name}(" in part:
        return call
    for source in sources:
        call = _bare_arguments(source.strip().rstrip("."), name)
        if call is not None:
            return call
    return None


def _calls(text: str, entry_point: str) -> Iterator[ast.Call]:
    """The calls of the function that stand in a text, in its order."""
    name = entry_point.rsplit(".", 1)[-1]
    at = 0
    pattern = rf"(?<![\w.])((?:\w+(?:\(\s*\))?\.)*){re.escape(name)}\s*\("
    for match in islice(re.finditer(pattern, text), _MAX_CALLS):
        if match.start() < at or text[: match.start()].endswith(("def ", "class ")):
            continue
        end = closing(text, match.end() - 1)
        call = _expression(text[match.start() : end]) if end is not None else None
        if end is None or call is None:
            call = _by_lines(text[match.start() :])
        if isinstance(call, ast.Call) and not _placeholder(call):
            at = end or match.end()
            yield call


def _by_lines(text: str) -> ast.expr | None:
    """A call whose comments or apostrophes confuse the bracket count: the parser decides."""
    lines = text.split("\n")
    for count in range(1, min(len(lines), 20) + 1):
        source = "\n".join(lines[:count]).rstrip("` ")
        node = _expression(source)
        if node is not None:
            return node.left if isinstance(node, ast.Compare) else node
    return None


def _bare_arguments(source: str, name: str) -> ast.Call | None:
    """`1, [2]`, `x = 1, y = [2]`, or one assignment a line, as a call."""
    if not source or len(source) > MAX_ANSWER:
        return None
    call = _expression(f"{name}({source}\n)")
    if isinstance(call, ast.Call) and not _placeholder(call) and not _prose(call):
        return call
    tree = _module(source)
    if tree is None or not tree.body:
        return None
    named = []
    for stmt in tree.body:
        if not isinstance(stmt, ast.Assign) or not isinstance(stmt.targets[0], ast.Name):
            return None
        named.append(ast.keyword(stmt.targets[0].id, stmt.value))
    return ast.Call(ast.Name(name, ast.Load()), [], named)


def _prose(call: ast.Call) -> bool:
    """One bare word, which is rather prose than an argument."""
    alone = call.args[0] if len(call.args) == 1 and not call.keywords else None
    return isinstance(alone, ast.Name) or not (call.args or call.keywords)


def _placeholder(call: ast.Call) -> bool:
    """`f(...)`: the form, not an answer."""
    return any(isinstance(a, ast.Constant) and a.value is ... for a in call.args)


# -- outputs ---------------------------------------------------------------------------------------


def _after(text: str, start: int, end: int, entry_point: str = "") -> WrittenOutput | None:
    """The value that is written from `start` on, up to the next heading."""
    part = text[start:end].lstrip(_DECORATION)
    heading = _HEADING.search(part)
    part = part[: heading.start()] if heading and not part.startswith("`") else part
    if part.startswith("`"):
        spans = code_spans(part)
        return _written(spans[0], entry_point) if spans else None
    paragraph = part.split("\n\n", 1)[0].rstrip()
    # A line of prose may parse ("that is all"), so the first line comes before what follows it.
    for source in dict.fromkeys((part.split("\n", 1)[0], paragraph, part.strip())):
        written = _written(source, entry_point)
        if written is not None:
            return written
    spans = code_spans(part)
    return _written(spans[-1], entry_point) if spans else None


def _written(source: str, entry_point: str) -> WrittenOutput | None:
    """The value that a piece of source says, whatever statement it is dressed in."""
    source = _ARROW.sub("", source.strip().strip("`").strip(_DECORATION), count=1)
    if source.startswith(">>>"):
        lines = source.split("\n")
        source = "\n".join(lines[1:]).strip() or lines[0][3:].strip()
    named = _RAISES.match(source) or _ERROR.match(source)
    if named is not None and _is_exception(named[1], loose=named.re is _RAISES):
        return WrittenOutput(raises=named[1].rsplit(".", 1)[-1])
    for text in _shortened(source):
        node = _expression(text)
        if node is None:
            tree = _module(text)
            node = _value_of(tree.body[-1]) if tree is not None and tree.body else None
        if node is not None and not _senseless(node):
            return WrittenOutput(_right_side(node, entry_point))
    return None


def _senseless(node: ast.expr) -> bool:
    """`...`, and `3 (see above)`, which parses as a call of a number."""
    if isinstance(node, ast.Constant):
        return node.value is ...
    return isinstance(node, ast.Call) and not isinstance(
        node.func, ast.Name | ast.Attribute | ast.Lambda
    )


def _shortened(source: str) -> Iterator[str]:
    """The source without a full stop, as it is, then without what people write after a value."""
    yield from dict.fromkeys((source.removesuffix("."), source, source.rstrip(" .;,*_`")))
    if "\n" not in source:
        for match in islice(_AFTERTHOUGHT.finditer(source), 5):
            yield source[: match.start()].rstrip(" .,;*_`")


def _value_of(stmt: ast.stmt) -> ast.expr | None:
    match stmt:
        case ast.Expr(value=value):
            return value
        case ast.Assign(value=value) | ast.Return(value=value):
            return value
        case ast.AnnAssign(value=value):
            return value
        case ast.Assert(test=test):
            return test
        case _:
            return None


def _right_side(node: ast.expr, entry_point: str) -> ast.expr:
    """The value in `f(1) == value` and `print(value)`; other expressions as they are."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            if not entry_point or _is_call(left, entry_point):
                return right
        case ast.Call(func=ast.Name(id="print"), args=[value], keywords=[]):
            return value
    return node


def _equated(text: str, entry_point: str) -> tuple[ast.Call | None, WrittenOutput | None]:
    """The last `f(…) == value`, `assert f(…)` or doctest in a text."""
    found: tuple[ast.Call | None, WrittenOutput | None] = (None, None)
    for piece in (*text.split("\n"), *code_spans(text)):
        source = piece.strip().strip("`").lstrip("-*>0123456789. ")
        if entry_point.rsplit(".", 1)[-1] not in source:
            continue
        tree = _module(source)
        for stmt in tree.body if tree is not None else ():
            pair = _equation(_value_of(stmt), entry_point)
            if pair is not None:
                found = pair
    if found[0] is None:
        found = _doctest(text, entry_point) or found
    return found


def _equation(node: ast.expr | None, entry_point: str) -> tuple[ast.Call, WrittenOutput] | None:
    match node:
        case ast.Compare(left=ast.Call() as call, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            if _is_call(call, entry_point):
                return call, WrittenOutput(right)
    return None


def _doctest(text: str, entry_point: str) -> tuple[ast.Call, WrittenOutput] | None:
    found = None
    for match in re.finditer(r"^[ \t]*>>>[ \t]*(.+)\n[ \t]*([^\s>`].*)$", text, re.M):
        call = _expression(match[1].strip())
        written = _written(match[2], entry_point)
        if isinstance(call, ast.Call) and _is_call(call, entry_point) and written is not None:
            found = call, written
    return found


def _is_call(node: ast.expr, entry_point: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = entry_point.rsplit(".", 1)[-1]
    func = node.func
    return (isinstance(func, ast.Name) and func.id == name) or (
        isinstance(func, ast.Attribute) and func.attr == name
    )


def _is_exception(name: str, *, loose: bool) -> bool:
    kind = getattr(builtins, name.rsplit(".", 1)[-1], None)
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return True
    return loose and name.endswith(("Error", "Exception", "Warning"))


def _expression(source: str) -> ast.expr | None:
    try:
        with lifted_limits():
            return parse_expression(source.strip())
    except SyntaxError:
        return None


def _module(source: str) -> ast.Module | None:
    try:
        with lifted_limits():
            return parse_module(source)
    except SyntaxError:
        return None
