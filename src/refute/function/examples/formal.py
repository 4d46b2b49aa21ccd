"""Read doctests as calls and what comes of them."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from refute.core.problems import Expression
from refute.function.examples.subject import DescribedFunction, Kind, Reading, invocation, mentions
from refute.source.literals import NotLiteral, parse_literal, read_literal
from refute.source.syntax import parse_expression, try_parse_statements

LOOSE_NAMES: dict[str, Any] = {
    "true": True,
    "false": False,
    "TRUE": True,
    "FALSE": False,
    "null": None,
    "none": None,
}
"""How other languages and prose spell Python's constants."""
STRING = re.compile(
    r"(?:[rbRB]{0,2})"
    r"(?:'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\""
    r"|'(?:\\.|[^'\\\n]|\n(?!\s*\n))*?'|\"(?:\\.|[^\"\\\n]|\n(?!\s*\n))*?\")",
    re.S,
)
"""A text's literal."""
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_PROMPT = re.compile(r"^([ \t]*)>>> ?(.*)$")
_EXCEPTION = re.compile(r"^\s*([A-Za-z_][\w.]*)(?::.*)?$")


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def _lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for line in text.split("\n"):
        lines.append(_Line(line, start))
        start += len(line) + 1
    return lines


def doctests(about: DescribedFunction) -> tuple[list[Reading], list[tuple[int, int]]]:
    """Doctest examples, and the spans of text that are theirs.

    Names that earlier lines assign or import are put into later expressions; a call without output
    between them (which may change its argument) is kept by wrapping both into one expression.
    """
    lines = _lines(about.text)
    readings: list[Reading] = []
    taken: list[tuple[int, int]] = []
    block = _Block()
    index = 0
    while index < len(lines):
        match = _PROMPT.match(lines[index].text)
        if match is None:
            index += 1
            continue
        first, indent = index, match[1]
        source = [match[2]]
        index += 1
        while index < len(lines) and re.match(r"[ \t]*\.\.\.( |$)", lines[index].text):
            source.append(re.sub(r"^[ \t]*\.\.\. ?", "", lines[index].text))
            index += 1
        want: list[str] = []
        while index < len(lines):
            text = lines[index].text
            over = not text.strip() or text.strip() in ('"""', "'''")
            if over or _PROMPT.match(text) or len(want) > 40:
                break
            if want and _complete(want) and not want[0].lstrip().startswith("Traceback"):
                break
            want.append(text.removeprefix(indent))
            index += 1
        span = (lines[first].start, lines[index - 1].end)
        found = list(_example("\n".join(source), want, block, about, span))
        if found or want or block.steps:
            used = span if found or not want else (span[0], lines[first + len(source) - 1].end)
            taken.append(used)
        readings += found
    return readings, taken


def _complete(want: list[str]) -> bool:
    """Return whether the output read so far is a whole value, so that prose after it is not part of
    it."""
    try:
        read("\n".join(want))
    except NotLiteral:
        return False
    return True


class _Block:
    """State that earlier examples of the text left: names, and expressions run for their effect."""

    def __init__(self) -> None:
        self.names: dict[str, ast.expr] = {}
        self.steps: list[ast.expr] = []

    def wrap(self, node: ast.expr) -> ast.expr:
        """The expression with its names put in: (lambda x: (step, node)[-1])(value)."""
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & set(self.names)
        steps = [s for s in self.steps if any(_uses(s, name) for name in used)]
        if not used:
            return node
        if not steps:
            return _Inline(self.names).visit(copy.deepcopy(node))  # type: ignore[no-any-return]
        names = [name for name in self.names if any(_uses(s, name) for s in [node, *steps])]
        body = ast.Subscript(
            ast.Tuple([*steps, node], ast.Load()), ast.Constant(len(steps)), ast.Load()
        )
        spec = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
        return ast.Call(ast.Lambda(spec, body), [self.names[name] for name in names], [])


class _Inline(ast.NodeTransformer):
    def __init__(self, names: dict[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copy.deepcopy(self.names.get(node.id, node))


def _uses(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(node))


def _example(
    source: str, want: list[str], block: _Block, about: DescribedFunction, span: tuple[int, int]
) -> Iterator[Reading]:
    body = try_parse_statements(source)
    if body is None or not body or re.search(r"#\s*doctest:.*\+SKIP", source):
        return
    *before, last = body
    for statement in before:
        _remember(statement, block)
    if isinstance(last, ast.Assert):
        yield from assertion(last, about, span, kind="doctest")
        return
    if not isinstance(last, ast.Expr):
        _remember(last, block)
        return
    node = last.value
    printed = isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    if printed and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        node = node.args[0]
    node = block.wrap(node)
    if not mentions(node, about.name):
        return
    if not want:
        if isinstance(node, ast.Compare):
            yield from assertion(ast.Assert(node), about, span, kind="doctest")
        elif not printed and _none_is_meant(about):
            yield Reading(invocation(node, about.entry_point), None, "doctest", span, formal=True)
        if isinstance(node, ast.Call):
            block.steps.append(last.value)
        return
    if want[0].strip().startswith("Traceback"):
        names = [_EXCEPTION.match(line) for line in want[1:] if not line.startswith((" ", "\t"))]
        exceptions = [match[1] for match in names if match and match[1] != "..."]
        if exceptions:
            call = invocation(node, about.entry_point)
            raised = exceptions[-1].rsplit(".", 1)[-1]
            yield Reading(call, None, "doctest", span, raises=raised, formal=True)
        return
    yield from _output(node, want, printed, about, span)


def _output(
    node: ast.expr, want: list[str], printed: bool, about: DescribedFunction, span: tuple[int, int]
) -> Iterator[Reading]:
    output = "\n".join(want).strip()
    if isinstance(node, ast.Compare) and output in ("True", "true"):
        yield from assertion(ast.Assert(node), about, span, kind="doctest")
        return
    try:
        value = read(output, loose=True)
    except NotLiteral:
        if "..." in output:  # doctest's ellipsis stands for anything
            return
        whole = re.fullmatch(r"[A-Za-z_][\w.]*\(.*\)", output)
        if printed and "\n" not in output:
            call = Expression(f"str({ast.unparse(node)})")
            yield Reading(call, output, "doctest", span, formal=True)
        elif whole and not printed:
            call = Expression(f"repr({ast.unparse(node)})")
            yield Reading(call, output, "doctest", span, formal=True)
        return
    if printed and not isinstance(value, (bool, type(None), list, dict, tuple, set)):
        call = Expression(f"str({ast.unparse(node)})")
        yield Reading(call, output, "doctest", span, formal=True)
        return
    yield Reading(invocation(node, about.entry_point), value, "doctest", span, formal=True)


def _none_is_meant(about: DescribedFunction) -> bool:
    """A doctest without output returned None; many authors only forgot the output, though."""
    annotated = about.returns is not None and re.search("None|Optional", ast.unparse(about.returns))
    return bool(annotated) or "None" in about.text


def _remember(statement: ast.stmt, block: _Block) -> None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            block.names[target.id] = block.wrap(statement.value)
            return
    if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        for alias in statement.names:
            source = f"__import__({statement.module!r}, fromlist=['x']).{alias.name}"
            if alias.name != "*":
                block.names[alias.asname or alias.name] = parse_expression(source)
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.asname or "." not in alias.name:
                source = f"__import__({alias.name!r}, fromlist=['x'])"
                block.names[alias.asname or alias.name] = parse_expression(source)
    elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        block.names.pop(statement.name, None)
    if isinstance(statement, ast.Expr):
        block.steps.append(statement.value)


def assertion(
    node: ast.Assert, about: DescribedFunction, span: tuple[int, int], *, kind: Kind
) -> Iterator[Reading]:
    """The reading of an assert: call == value, or the whole condition as an expression."""
    test = node.test
    if not mentions(test, about.name):
        return

    def reading(side: ast.expr, expected: Any) -> Reading:
        return Reading(invocation(side, about.entry_point), expected, kind, span, formal=True)

    match test:
        case ast.BoolOp(op=ast.And(), values=parts):
            for part in parts:
                yield from assertion(ast.Assert(part), about, span, kind=kind)
            return
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            for side, other in ((left, right), (right, left)):
                try:
                    if mentions(side, about.name):
                        yield reading(side, read_literal(other))
                        return
                except NotLiteral:
                    continue
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as operand):
            yield _truth(operand, False, about, span, kind)
            return
        case ast.Call() if _is_own(test, about):
            yield _truth(test, True, about, span, kind)
            return
        case ast.Call(func=func, args=[left, right]) if _last_name(func) in ("isclose", "allclose"):
            close = _close(test, left, right)
            if close is not None:
                yield Reading(Expression(close), True, kind, span, formal=True)
            return
    if isinstance(test, (ast.Compare, ast.Call, ast.UnaryOp, ast.BoolOp)):
        yield Reading(Expression(ast.unparse(test)), True, kind, span, formal=True)


def _truth(
    node: ast.Call, expected: bool, about: DescribedFunction, span: tuple[int, int], kind: Kind
) -> Reading:
    """`assert f(x)` asks for a true value, which need not be `True`."""
    boolean = about.returns is not None and ast.unparse(about.returns) == "bool"
    source = f"bool({ast.unparse(node)})"
    call = invocation(node, about.entry_point) if boolean else Expression(source)
    return Reading(call, expected, kind, span, formal=True)


def _is_own(node: ast.expr, about: DescribedFunction) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == about.entry_point


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rsplit(".", 1)[-1]


def _close(test: ast.Call, left: ast.expr, right: ast.expr) -> str | None:
    """`math.isclose(a, b, …)` without needing the module `math` in the program."""
    try:
        options = {k.arg: float(read_literal(k.value)) for k in test.keywords}
    except (NotLiteral, TypeError, ValueError):
        return None
    numpy = _last_name(test.func) == "allclose" or ast.unparse(test.func).startswith(("np", "num"))
    relative = options.get("rtol", 1e-5) if numpy else options.get("rel_tol", 1e-9)
    absolute = options.get("atol", 1e-8) if numpy else options.get("abs_tol", 0.0)
    a, b = ast.unparse(left), ast.unparse(right)
    return f"abs(({a}) - ({b})) <= max({relative!r} * abs({b}), {absolute!r})"


# -- values in a text ------------------------------------------------------------------------------


def read(text: str, *, loose: bool = False) -> Any:
    """The value that `text` writes. `loose`: also ``true``, ``null`` as in other languages.

    Raises `NotLiteral` for what `refute.source.literals` does not read.
    """
    return parse_literal(_one_line(text.strip()), names=LOOSE_NAMES if loose else None)


def _one_line(text: str) -> str:
    """Line breaks become escapes in strings (a docstring arrives evaluated), blanks elsewhere."""
    if "\n" not in text:
        return text
    parts, start = [], 0
    for match in STRING.finditer(text):
        literal = match[0]
        if literal.lstrip("rbRB")[:3] not in ("'''", '"""'):
            literal = literal.replace("\n", "\\n")
        parts += [text[start : match.start()].replace("\n", " "), literal]
        start = match.end()
    return "".join([*parts, text[start:].replace("\n", " ")])


_DEEPEST = 200  # as Python's own parser


def closing(text: str, start: int) -> int | None:
    """The offset just past the bracket that closes the one at `start`.

    None if it never closes, or only around brackets that are nested deeper than any value's: a text
    of nothing but opening ones is read once, not once for each.
    """
    stack: list[str] = []
    position = start
    while position < len(text):
        char = text[position]
        if char in "'\"":
            match = STRING.match(text, position)
            if match is None:
                return None
            position = match.end()
            continue
        if char in _PAIRS:
            if len(stack) >= _DEEPEST:
                return None
            stack.append(_PAIRS[char])
        elif char in ")]}":
            if not stack or stack.pop() != char:
                return None
            if not stack:
                return position + 1
        position += 1
    return None
