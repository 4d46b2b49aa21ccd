"""Read the examples of a task's text: doctests as calls, and those that HumanEval's prompts tell in
words: `f(1) == 2`, `f(1) ➞ 2`, "f(1) should return 2", "for k = 3 the result should be 5"; and the
asserts of MBPP's code. Nothing is executed.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from refute.core.problems import Call, DoctestSession, Expression, Invocation, Trust, UnitTest, Want
from refute.function.examples.scripts import DoctestStep, slice_of, steps_of
from refute.function.examples.subject import (
    DescribedFunction,
    called_as,
    crosses,
    invocation,
    subject,
)
from refute.sandbox.equality import exception_name
from refute.source.literals import (
    LOOSE_NAMES,
    STRING,
    NotLiteral,
    closing,
    parse_literal,
    read_call,
    read_literal,
)
from refute.source.syntax import bound_names, parse_expression, try_parse, try_parse_statements

MAX_TEXT = 200_000
"""Longer descriptions are read up to this many characters."""
_BUILTINS = frozenset(dir(builtins))

Kind = Literal["doctest", "assert", "equation", "arrow", "prose"]
"""The form in which an example is written."""


_MODULES = frozenset(
    {"collections", "datetime", "decimal", "fractions", "functools", "itertools", "math",
     "operator", "re", "statistics", "string"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """One example as a reader found it, before screening."""

    call: Invocation
    expected: Any
    kind: Kind
    span: tuple[int, int]
    raises: str | None = None
    formal: bool = False
    """Stated in code (doctest, assert, ==), not in words."""


def grounded(readings: Sequence[Reading], about: DescribedFunction) -> list[Reading]:
    """Readings whose names all exist: builtins, names of the module, a few standard modules.

    A call through its module (`mod.f(1)`) becomes a call of the function itself, a module that the
    program did not import becomes ``__import__('math')``.
    """
    kept = []
    for reading in readings:
        if not isinstance(reading.call, Expression):
            if not isinstance(reading.call, DoctestSession) or _runs(reading.call, about):
                kept.append(reading)
            continue
        try:
            node = parse_expression(reading.call.source)
        except SyntaxError:
            continue
        fixed = _Completer(about).visit(node)
        if not _free_names(fixed) - _BUILTINS - about.names - {about.entry_point}:
            kept.append(replace(reading, call=invocation(fixed, about.entry_point)))
    return kept


def _runs(session: DoctestSession, about: DescribedFunction) -> bool:
    """Return whether each name of a session is bound, and what it imports is Python's own."""
    known = _BUILTINS | about.names | {about.name}
    for step in session.steps:
        tree = try_parse(step)
        for node in ast.walk(tree) if tree is not None else ():
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] not in sys.stdlib_module_names for name in names):
                return False
        if tree is None or _free_names(tree) - known:
            return False
        known |= bound_names(tree)
    return True


class _Completer(ast.NodeTransformer):
    def __init__(self, about: DescribedFunction) -> None:
        self.about = about

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        foreign = (
            isinstance(node.value, ast.Name) and node.value.id not in self.about.names
        ) or ast.unparse(node.value).startswith("__import__(")
        if foreign and node.attr == self.about.name and not self.about.method:
            return ast.Name(node.attr, ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in _MODULES and node.id not in self.about.names:
            return ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant(node.id)], [])
        return node


def _free_names(node: ast.AST) -> set[str]:
    bound = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    bound |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
    return {one.id for one in names if isinstance(one.ctx, ast.Load)} - bound


def to_test(reading: Reading, about: DescribedFunction, *, where: str) -> UnitTest:
    """The reading as a unit test, trusted as far as its kind deserves."""
    return UnitTest(
        reading.call,
        reading.expected,
        reading.raises,
        Trust.STATED if reading.formal else Trust.WORDED,
        f"{where} line {about.line(reading.span[0])}",
        reading.span,
        0.99 if reading.formal else 0.95,
    )


def overlaps(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    """Return whether `span` shares a character with one of `taken`."""
    return any(span[0] < end and start < span[1] for start, end in taken)


_QUOTES = re.compile(r"(?m)^[ \t]*(?:\"\"\"|''')[ \t]*$")


def doctests(about: DescribedFunction) -> tuple[list[Reading], list[tuple[int, int]]]:
    """Doctest examples that name the function, and the spans of text that are theirs.

    An example that hangs on no other and only calls the function with plain values is that call;
    the others stay sessions.
    """
    blank = _QUOTES.sub(lambda found: " " * len(found[0]), about.text)
    try:
        examples = doctest.DocTestParser().get_examples(blank)
    except ValueError:  # inconsistent blanks, an unknown directive
        return [], []
    run = [one for one in examples if not one.options.get(doctest.SKIP)]
    named = called_as(about.entry_point)
    steps = [*steps_of(run, named, 0, own=True)]
    starts = [0, *(found.end() for found in re.finditer("\n", about.text)), len(about.text)]
    readings: list[Reading] = []
    taken: list[tuple[int, int]] = []
    for index, (example, step) in enumerate(zip(run, steps, strict=True)):
        wanted = _output_of(example)
        size = example.source.count("\n") + wanted.count("\n")
        span = (starts[example.lineno], starts[min(example.lineno + size, len(starts) - 1)])
        taken.append(span)
        if step.depends:
            readings += _read(step, wanted, slice_of(steps, index), steps, about, span)
    return readings, taken


def _output_of(example: doctest.Example) -> str:
    """The output that an example wants, without the prose that follows a whole value."""
    lines = example.want.splitlines(keepends=True)
    for size in range(1, len(lines)) if example.exc_msg is None else ():
        try:
            read("".join(lines[:size]))
        except NotLiteral:
            continue
        return "".join(lines[:size])
    return example.want


def _read(
    step: DoctestStep, wanted: str, needed: list[int], steps: Sequence[DoctestStep],
    about: DescribedFunction, span: tuple[int, int],
) -> Iterator[Reading]:  # fmt: skip
    body = try_parse_statements(step.source) or []
    raised = step.want.raised
    match body:
        case [ast.Assert() as node] if len(needed) == 1:
            yield from assertion(node, about, span, kind="doctest")
            return
        case [ast.Expr(value=ast.Compare() as node)] if len(needed) == 1 and not raised:
            if wanted.strip() in ("", "True", "true"):
                yield from assertion(ast.Assert(node), about, span, kind="doctest")
                return
        case [ast.Expr(value=node)] if len(needed) == 1 and raised:
            kind = exception_name(raised)
            call = invocation(node, about.entry_point)
            yield Reading(call, None, "doctest", span, raises=kind, formal=True)
            return
        case [ast.Expr(value=node)] if len(needed) == 1 and wanted:
            try:
                value = read(wanted, loose=True)
            except NotLiteral:
                pass
            else:
                call = invocation(node, about.entry_point)
                yield Reading(call, value, "doctest", span, formal=True)
                return
    if body and (raised or (wanted and "..." not in wanted)):  # dots stand for anything
        sources = tuple(steps[place].source for place in needed)
        want = Want(wanted, raised, step.want.options)
        yield Reading(DoctestSession(sources), want, "doctest", span, formal=True)


def assertion(
    node: ast.Assert, about: DescribedFunction, span: tuple[int, int], *, kind: Kind
) -> Iterator[Reading]:
    """The reading of an assert: call == value, or the whole condition as an expression."""
    test = node.test
    if not _mentions(test, about.name):
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
                    if _mentions(side, about.name):
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


def _mentions(node: ast.AST, name: str) -> bool:
    """Return whether the syntax tree calls something of this name (as a function or as a
    method)."""
    return any(
        isinstance(one, ast.Call)
        and (
            (isinstance(one.func, ast.Name) and one.func.id == name)
            or (isinstance(one.func, ast.Attribute) and one.func.attr == name)
        )
        for one in ast.walk(node)
    )


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


_VERB = r"(?:returns?|gives?|outputs?|yields?|equals?|evaluates to|produces?|prints?|be|is)"
_RELATION = re.compile(
    r"\s*(?:"
    r"(?P<formal>==(?!>))"
    r"|(?P<arrow>#?\s*(?:==>|=>|-->|->|—>|→|➞|⇒|➔|⟶|⟹|>>>?))"
    r"|(?P<equals>=(?![=>]))"
    r"|(?P<words>,?\s*(?:#|//)?\s*(?:(?:it|which|that|this)\s+)?"
    r"(?:(?:should|will|must|would|shall|can)\s+)?(?:(?:then|just|have)\s+)?"
    rf"{_VERB}(?:\s+(?:returned|equal to|the (?:value|string|list|number|integer|tuple)))?\s*:?)"
    r"(?=[\s'\"\[({:-])"
    r")\s*"
)
_CLEAN_END = re.compile(
    r"[ \t]*(?:$|\n|#|//|;|\)|\(|[.,:](?=\s|$)"
    r"|(?:and|or|because|since|as|while|but|for|when|if|where)\b)"
)
"""Pattern of what may follow a value that ends there."""
_NAMED = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w*)\s*(?:=(?![=>])|:)\s*")
_SCALAR = re.compile(
    rf"{STRING.pattern}|[-+]?(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?(?!\.?\w)"
    r"|(?:True|False|None|true|false|TRUE|FALSE|null|none)\b",
    re.S,
)
_BETWEEN = re.compile(r"\s*(?:,|;|and|\n)?\s*(?:and\s+)?")
_RESULT = re.compile(
    r"(?:(?:the\s+|expected\s+)*(?:output|result|answer|return value|function)\s+)"
    r"(?:(?:should|will|must|would|shall)\s+)?"
    r"(?:be|is|are|returns?|outputs?|gives?|equals?|yields?)\b(?:\s+(?:returned|equal to))?"
    r"\s*[=:]?\s*|\b(?:return|output|result|answer)\s*[=:]?\s*",
    re.I,
)
_PARAGRAPH = re.compile(r"\n[ \t]*\n|[.!?]\s+[A-Z]")
_NOT_ARGUMENT = re.compile(r"results?|outputs?|returns?|expected|answer|explanation|note", re.I)
_FURTHER = re.compile(r"\s*,?\s*(?:and|or|nor|but|unless)\b")
_MOST_UNCLOSED = 100


def prompt_examples(
    description: str, entry_point: str, *, code: str | None = None
) -> list[UnitTest]:
    """Return the examples of a task's text, in its order, then hints: asserts beside its code.

    Their trust: `STATED` for doctests and ``f(x) == y``, `WORDED` for other forms, `HINT` for
    asserts of the code and for examples that contradict one another. Never raises for odd text.
    """
    about = subject(description[:MAX_TEXT], entry_point, code)
    readings, taken = doctests(about)
    readings = grounded(readings, about)
    for reader in (_prompts_called, _named):
        found = list(reader(about, taken))
        # `tri(4) = 3` on the way to `tri(3) = [1, 3, 2, 8]` explains, and is no example
        last = type(found[-1].expected) if found else None
        found = [one for one in found if one.kind != "equation" or type(one.expected) is last]
        readings += found
        taken += [one.span for one in found]
    readings.sort(key=lambda one: one.span)
    tests = [to_test(one, about, where="description") for one in readings]
    return contradictions_marked([*tests, *_hints(code or "", about)])


def _hints(code: str, about: DescribedFunction) -> Iterator[UnitTest]:
    """The asserts at the top level of a task's code."""
    tree = try_parse(code)
    lines = replace(about, text=code, plain=code)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.Assert):
            start = sum(map(len, code.splitlines(keepends=True)[: node.lineno - 1]))
            found = list(assertion(node, about, (start, start + 1), kind="assert"))
            for one in grounded(found, about):
                test = to_test(one, lines, where="code")
                yield replace(test, trust=Trust.HINT, confidence=0.7)


# -- calls -----------------------------------------------------------------------------------------


def _prompts_called(
    about: DescribedFunction, taken: Sequence[tuple[int, int]]
) -> Iterator[Reading]:
    """Examples that call the function by its name."""
    text, unclosed = about.plain, 0
    for match in re.finditer(rf"(?<![\w.]){re.escape(about.name)}[ ]?\(", text):
        start, opening = match.start(), match.end() - 1
        end = closing(text, opening)
        unclosed += end is None
        if unclosed > _MOST_UNCLOSED:
            return  # no prose, and each of them is looked for to the end of the text
        if end is None or overlaps((start, end), taken) or about.method:
            continue
        call, found = _call(about, text[opening:end]), _outcome(text, end)
        if call is not None and found is not None:
            value, kind, formal = found
            yield Reading(call, value.value, kind, (start, value.end), formal=formal)


def _call(about: DescribedFunction, arguments: str) -> Invocation | None:
    """The call with these parenthesised arguments; None where they are not all literals."""
    body = try_parse_statements("f" + arguments.replace("\n", " "))
    if not body or not isinstance(body[0], ast.Expr) or not isinstance(body[0].value, ast.Call):
        return None
    node = body[0].value
    if not about.fits(len(node.args) + len(node.keywords)):
        return None
    try:
        return read_call(node, "f", literal=lambda arg: _argument(arg, about))
    except NotLiteral:
        given = (one for arg in node.args for one in ast.walk(arg))
        named = any(isinstance(one, (ast.Name, ast.Starred)) for one in given)
        return None if named else Expression(f"{about.entry_point}{arguments}")


def _argument(node: ast.expr, about: DescribedFunction) -> Any:
    """A literal, or a bare word where the text says that the first parameter is a string."""
    known = about.parameters or ("",)
    textual = re.search(rf"\bstring {known[0]}\b", about.plain)
    if textual and isinstance(node, ast.Name) and node.id not in known:
        return node.id
    return read_literal(node, names=LOOSE_NAMES)


def _outcome(text: str, end: int) -> tuple[_Value, Kind, bool] | None:
    """The value that is said to come of a call that ends there, the form, whether it is formal."""
    relation = _RELATION.match(text, end)
    if relation is None:
        return None
    group = relation.lastgroup
    if group == "words" and re.match(r"\s*\n\s*\n", text[end:]):
        return None
    value = _value(text, relation.end())
    if value is None or not _CLEAN_END.match(text, value.end):
        return None
    kind: Kind = "equation" if group == "equals" else "arrow"
    return value, kind, group == "formal"


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any
    end: int
    """The offset just past it."""


def _value(text: str, start: int) -> _Value | None:
    """The value that begins at `start`, after blanks."""
    while text[start : start + 1] in (" ", "\t"):
        start += 1
    scalar = _SCALAR.match(text, start)
    end = closing(text, start) if scalar is None else scalar.end()
    if end is None or text[start : start + 1] == ")":
        return None
    try:
        value = read(text[start:end], loose=True)
    except NotLiteral:
        return None
    # `("c")` may be a one-tuple without its comma
    return _Value(value, end) if text[start] != "(" or isinstance(value, tuple) else None


# -- named arguments -------------------------------------------------------------------------------


def _named(about: DescribedFunction, taken: Sequence[tuple[int, int]]) -> Iterator[Reading]:
    """`For num = 4 the output should be 5`, `lst = [1, 2], k = 3: the result is 5`."""
    text, position = about.plain, 0
    known = about.parameters or ()
    while match := _NAMED.search(text, position):
        position = match.end()
        given, end = _assignments(text, match.start())
        # "if x = 1 and y is negative"
        first = (*given,)[:1]
        if first not in (known[:1], ("Input",)) or _FURTHER.match(text, end):
            continue
        value = _result_after(text, end)
        span = (match.start(), value.end if value is not None else end)
        if value is not None and about.fits(len(given)) and not overlaps(span, taken):
            position = value.end
            yield Reading(Call((*given.values(),)), value.value, "prose", span)


def _assignments(text: str, start: int) -> tuple[dict[str, Any], int]:
    """Named values from `start` on, and the offset past the last."""
    found: dict[str, Any] = {}
    position = start
    while True:
        gap = _BETWEEN.match(text, position) if found else None
        match = _NAMED.match(text, gap.end() if gap else position)
        value = _value(text, match.end()) if match is not None else None
        if match is None or value is None or _NOT_ARGUMENT.fullmatch(match[1]):
            return found, position
        found[match[1]] = value.value
        position = value.end


def _result_after(text: str, start: int) -> _Value | None:
    """The value said to come out, within the same paragraph."""
    stop = _PARAGRAPH.search(text, start)
    for match in _RESULT.finditer(text, start, stop.start() + 1 if stop else len(text)):
        value = _value(text, match.end())
        if value is not None and _CLEAN_END.match(text, value.end):
            return value
    return None


MAX_TEXT = 200_000
"""Longer descriptions are read up to this many characters."""


def contradictions_marked(tests: Sequence[UnitTest]) -> list[UnitTest]:
    """One test a call: repeats go; tests that contradict each other become hints that say so.

    Tests that the sandbox cannot run or judge (`crosses`) go, too.
    """
    groups: dict[str, list[UnitTest]] = {}
    for test in filter(crosses, tests):
        groups.setdefault(repr(test.call), []).append(test)
    result = []
    for group in groups.values():
        distinct = list({_stated(test): test for test in reversed(group)}.values())[::-1]
        certain = [test for test in distinct if test.trust < Trust.HINT]
        if len(distinct) == 1:
            result.append(min(group, key=lambda test: test.trust))
        elif len(certain) == 1:  # a hint from the code does not cast doubt on a stated example
            result += certain
        else:
            result += [
                replace(
                    test,
                    trust=Trust.HINT,
                    confidence=0.4,
                    source=f"{test.source} (contradicted by {_other(test, distinct).source})",
                )
                for test in distinct
            ]
    return result


def _stated(test: UnitTest) -> str:
    if test.raises is not None:
        return f"raises {test.raises}"
    value = test.expected
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return f"number {float(value)!r}" if number and abs(value) < 2**53 else repr(value)


def _other(test: UnitTest, group: Sequence[UnitTest]) -> UnitTest:
    return next(other for other in group if other is not test)
