"""Mutants of functions: which there are, and a sample in which no line takes the whole budget."""

from __future__ import annotations

import ast
import builtins
import math
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, takewhile

from refute.core.combinators import in_turn
from refute.diffing.definitions import Definition
from refute.diffing.modules import Module
from refute.issue.observed_calls import Call
from refute.recording.replaying import beside
from refute.source.syntax import Function, first_line, parse_module

_COMPARE: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
_TOKENS: dict[type[ast.AST], str] = {
    ast.Lt: r"<", ast.LtE: r"<=", ast.Gt: r">", ast.GtE: r">=", ast.Eq: r"==", ast.NotEq: r"!=",
    ast.In: r"\bin\b", ast.NotIn: r"\bnot\s+in\b", ast.Is: r"\bis\b", ast.IsNot: r"\bis\s+not\b",
    ast.And: r"\band\b", ast.Or: r"\bor\b",
    ast.Add: r"\+", ast.Sub: r"-", ast.Mult: r"\*", ast.Div: r"/", ast.FloorDiv: r"//",
    ast.Mod: r"%", ast.Pow: r"\*\*", ast.BitAnd: r"&", ast.BitOr: r"\|", ast.BitXor: r"\^",
    ast.LShift: r"<<", ast.RShift: r">>",
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "*",
    ast.Pow: "*", ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "&", ast.LShift: ">>",
    ast.RShift: "<<",
}  # fmt: skip
_SAYS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "log"})
_LONGEST_TEXT = 60


@dataclass(frozen=True, slots=True)
class Edit:
    """One change: bytes [start, end) of the file become others."""

    operator: str
    """Its name: ROR."""
    start: int
    end: int
    new: bytes
    line: int
    """First line (1-based)."""
    reached_by: tuple[int, int]
    """A test that executes a line from the first to the last of these executes the statement."""

    def into(self, text: bytes) -> bytes:
        """The text with the change."""
        return text[: self.start] + self.new + text[self.end :]


def edits_of(text: bytes, node: Function) -> Iterator[Edit]:
    """Every edit of a function, in the order of its lines. Not looked into: its docstring,
    annotations, decorators and defaults, f-strings, and what only words an exception or a log."""
    yield from _Edits(text).block(_without_docstring(node.body))


def edit_of(text: str, function: Function, node: ast.expr, new: str) -> Edit | None:
    """Another text for a part of a function; None where the part takes several lines."""
    edits = _Edits(text.encode())
    edits.reached = (function.lineno, function.end_lineno or function.lineno)
    return next(edits.whole(new, node, new), None)


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    first = body[0] if body else None
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if told else body


class _Edits:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.starts = [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]
        self.reached = (0, 0)

    def span(self, node: ast.stmt | ast.expr) -> tuple[int, int]:
        end_line, end_column = node.end_lineno or 0, node.end_col_offset or 0
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[
            end_line - 1
        ] + end_column

    def edit(self, operator: str, start: int, end: int, new: str, line: int) -> Iterator[Edit]:
        """The edit, with as many line ends as before; none where that cannot be."""
        data = new.encode()
        lost = self.text[start:end].count(b"\n") - data.count(b"\n")
        if lost and new not in ("pass", "raise"):
            return  # inside of an expression no line may be added
        yield Edit(operator, start, end, data + b"\n" * lost, line, self.reached)

    def whole(self, operator: str, node: ast.stmt | ast.expr, new: str) -> Iterator[Edit]:
        yield from self.edit(operator, *self.span(node), new, node.lineno)

    def between(
        self, operator: str, left: ast.expr, right: ast.expr, old: ast.AST, new: str
    ) -> Iterator[Edit]:
        """A binary operator's token exchanged."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.text[start:end].decode()
        found = None if "#" in gap else re.search(_TOKENS[type(old)], gap)
        if found:
            line = left.end_lineno or left.lineno
            line += gap[: found.start()].count("\n")
            first, last = (len(gap[:at].encode()) for at in found.span())
            yield from self.edit(operator, start + first, start + last, new, line)

    # -- statements --------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> Iterator[Edit]:
        for statement in body:
            yield from self.statement(statement)

    def statement(self, node: ast.stmt) -> Iterator[Edit]:
        if isinstance(node, Function | ast.ClassDef):
            yield from self.block(_without_docstring(node.body))
            return
        self.reached = (node.lineno, _header_end(node))
        yield from self.own(node)
        if _only_says(node):
            return
        for part in _expressions(node):
            yield from self.expression(part)
        for name in ("body", "orelse", "finalbody"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                yield from self.block(inner)
        if isinstance(node, ast.Try | ast.TryStar):
            for handler in node.handlers:
                yield from self.handler(handler)
        if isinstance(node, ast.Match):
            for case in node.cases:
                yield from self.block(case.body)

    def handler(self, node: ast.ExceptHandler) -> Iterator[Edit]:
        first = node.body[0]
        if not isinstance(first, ast.Raise) and not hasattr(first, "body"):
            self.reached = (first.lineno, _header_end(first))
            yield from self.whole("EHD", first, "raise")
        yield from self.block(node.body)

    def own(self, node: ast.stmt) -> Iterator[Edit]:
        match node:
            case ast.If(test=test) | ast.While(test=test):
                yield from self.negated(test)
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield from self.whole("RVR", value, "None")
            case ast.Break():
                yield from self.whole("BCR", node, "continue")
            case ast.Continue():
                yield from self.whole("BCR", node, "break")
            case ast.AugAssign(target=target, op=op, value=value):
                if not _is_text(value):
                    new = _ARITHMETIC.get(type(op))
                    if new is not None:
                        yield from self.between("ASR", target, value, op, new)
                yield from self.whole("SDL", node, "pass")
            case ast.Raise() | ast.Delete() | ast.Assert():
                yield from self.whole("SDL", node, "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
                yield from self.whole("SDL", node, "pass")
            case ast.Expr(value=ast.Call() | ast.Await()) if not _only_says(node):
                yield from self.whole("SDL", node, "pass")

    # -- expressions -------------------------------------------------------------------------------

    def negated(self, test: ast.expr) -> Iterator[Edit]:
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return  # ROR does that
        if isinstance(test, ast.UnaryOp | ast.Constant):
            return
        start, end = self.span(test)
        text = self.text[start:end].decode()
        yield from self.edit("COI", start, end, f"not ({text})", test.lineno)

    def expression(self, top: ast.expr) -> Iterator[Edit]:
        left: list[ast.AST] = [top]
        while left:
            node = left.pop()
            if isinstance(node, ast.JoinedStr):
                continue  # before 3.12 what is inside has no place
            if isinstance(node, ast.expr):
                yield from self.one(node)
            left += reversed(list(ast.iter_child_nodes(node)))

    def one(self, node: ast.expr) -> Iterator[Edit]:
        match node:
            case ast.Compare():
                sides = [node.left, *node.comparators]
                for place, op in enumerate(node.ops):
                    for new in _COMPARE[type(op)]:
                        yield from self.between("ROR", sides[place], sides[place + 1], op, new)
            case ast.BinOp(left=one, op=op, right=other) if type(op) in _ARITHMETIC:
                if not (_is_text(one) or _is_text(other)):
                    yield from self.between("AOR", one, other, op, _ARITHMETIC[type(op)])
            case ast.BoolOp(op=op, values=[one, other, *more]) if not more:
                new = "or" if isinstance(op, ast.And) else "and"
                yield from self.between("LCR", one, other, op, new)
            case ast.IfExp(test=test):
                yield from self.negated(test)
            case ast.UnaryOp(op=ast.Not() | ast.USub() as op, operand=operand):
                name = "COD" if isinstance(op, ast.Not) else "AOD"
                start, end = self.span(node)[0], self.span(operand)[0]
                if b"(" not in self.text[start:end]:
                    yield from self.edit(name, start, end, "", node.lineno)
            case ast.Constant():
                for text in _other_constants(node.value):
                    yield from self.whole("CRP", node, text)
            case ast.Slice(lower=lower, upper=upper):
                for bound in (lower, upper):
                    if bound is not None:
                        yield from self.whole("SIR", bound, "")


def _header_end(node: ast.stmt) -> int:
    """The last line of a statement without its blocks."""
    blocks = [getattr(node, name, None) for name in ("body", "cases")]
    firsts = [block[0] for block in blocks if isinstance(block, list) and block]
    if firsts and hasattr(firsts[0], "lineno"):
        return max(node.lineno, int(firsts[0].lineno) - 1)
    return node.lineno if firsts else node.end_lineno or node.lineno


def _expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """A statement's own expressions: not those of its blocks, no annotation."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "type_params"):
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.expr):
                yield one
            elif isinstance(one, ast.withitem):
                yield one.context_expr
    if isinstance(node, ast.Match):
        yield from (case.guard for case in node.cases if case.guard is not None)


def _only_says(node: ast.stmt) -> bool:
    """Return whether a statement only words something: an error, an assertion, a log, a warning."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        return isinstance(called, ast.Attribute) and called.attr in _SAYS
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _is_text(node: ast.expr) -> bool:
    """Return whether an operand is a text: everybody would see at once that it cannot be
    subtracted from or divided."""
    if isinstance(node, ast.JoinedStr | ast.List | ast.Tuple):
        return True
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


def _other_constants(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int):
        yield str(value + 1)
        if value > 0:
            yield str(value - 1)
    elif isinstance(value, float):
        yield repr(value + 1.0)
    elif isinstance(value, str) and len(value) <= _LONGEST_TEXT:
        yield repr(f"{value}x" if value else "x")


PER_LINE = 3
"""Mutants of one line, however many there could be."""


@dataclass(frozen=True, slots=True, eq=False)
class Mutant:
    """A function with one small change."""

    module: Module
    qualname: str
    node: Function
    """The function as it is."""
    edit: Edit
    tests: frozenset[str] = frozenset()
    """Names of the tests that make the call that it is for."""

    @property
    def file(self) -> str:
        """Path in the tree."""
        return self.module.path

    @property
    def line(self) -> int:
        """Return the line where the change begins (1-based)."""
        return self.edit.line

    @property
    def text(self) -> str:
        """The whole module with the change."""
        return self.edit.into(self.module.text.encode()).decode()

    @property
    def shown(self) -> tuple[str, str]:
        """The changed line before and after, without its indent."""
        at = self.line - 1
        texts = (self.module.text, self.text)
        old, new = (text.split("\n")[at].strip() for text in texts)
        return old, new


def mutants_of(
    module: Module, definition: Definition, lines: frozenset[int] | None = None
) -> list[Mutant]:
    """The mutants of a function; `lines`: only of statements that begin there."""
    data = module.text.encode()
    found = []
    for node in definition.nodes:
        for edit in edits_of(data, node):
            first, last = edit.reached_by
            if lines is not None and lines.isdisjoint(range(first, last + 1)):
                continue
            found.append(Mutant(module, definition.qualname, node, edit))
    return found


def _is_python(mutant: Mutant) -> bool:
    """Return whether the function with the change parses, and is another one."""
    node = mutant.node
    lines = slice(first_line(node) - 1, node.end_lineno)
    try:
        old, new = (
            _dumped("\n".join(text.split("\n")[lines]), node.col_offset > 0)
            for text in (mutant.module.text, mutant.text)
        )
    except SyntaxError:
        return False
    return old != new


@lru_cache(maxsize=4)
def _dumped(source: str, indented: bool) -> str:
    """Kept, since each mutant of a function is compared with the same text."""
    # what an indented text continues at the margin would be no block
    return ast.dump(parse_module(f"if 1:\n{source}" if indented else source))


def sampled(mutants: Iterable[Mutant], most: int, seed: int, end: float = math.inf) -> list[Mutant]:
    """At most `most` of the mutants that are Python, `PER_LINE` of a line.

    Of each line one, then of each a second one, by an operator that it has not had; in one order
    for a seed. `end`: when the time is up (`time.monotonic`); none is drawn after it.
    """
    rng = random.Random(seed)
    by_line: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for one in mutants:
        by_line[one.file, one.line].append(one)
    lines = [_mixed(ones, rng)[:PER_LINE] for ones in by_line.values()]
    rng.shuffle(lines)
    in_time = takewhile(lambda _: time.monotonic() <= end, in_turn(lines))
    return list(islice(filter(_is_python, in_time), most))


def _mixed(ones: list[Mutant], rng: random.Random) -> list[Mutant]:
    """The mutants of a line, each operator once before any comes again."""
    by_operator: dict[str, list[Mutant]] = defaultdict(list)
    for one in ones:
        by_operator[one.edit.operator].append(one)
    groups = list(by_operator.values())
    rng.shuffle(groups)
    for group in groups:
        rng.shuffle(group)
    return [*in_turn(groups)]


# -- other outcomes of a call ----------------------------------------------------------------------

MOST_OF_A_CALL = 12


def mutants_of_call(
    module: Module, functions: Mapping[str, Function], call: Call, tests: frozenset[str]
) -> list[Mutant]:
    """The mutants of a call that tests make; none where the module has several functions that it
    may be of."""
    nodes = [node for name, node in functions.items()
             if name.rpartition(".")[2] == call.function.rpartition(".")[2]
             and [*call.given] == _parameters(node)]  # fmt: skip
    if len(nodes) != 1:
        return []
    (node,) = nodes
    first = node.body[0]
    data, number = module.text.encode().split(b"\n"), first_line(first)
    line = data[number - 1]
    start = sum(len(part) + 1 for part in data[: number - 1])
    indent = line[: len(line) - len(line.lstrip())].decode()
    if number <= node.lineno:
        return []  # all in one line
    asked = f"if __import__('refute_inside').given(locals()) == {dict(call.given)!r}: "
    shown = ", ".join(f"{name}={text}"[:60] for name, text in call.given.items())
    found = []
    for told, statement in islice(other_outcomes(call), MOST_OF_A_CALL):
        new = f"{indent}{asked}{statement}\n".encode()
        operator = f"{call.function}({shown}) {told}"
        lines = node.lineno, node.end_lineno or node.lineno
        edit = Edit(operator, start, start, new, number, lines)
        found.append(Mutant(module, call.function, node, edit, tests))
    return found


def _parameters(node: Function) -> list[str]:
    given = node.args
    plain = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [*plain, *(one.arg for one in (given.vararg, given.kwarg) if one is not None)]


def other_outcomes(call: Call) -> Iterator[tuple[str, str]]:
    """Other outcomes of a call: in words, and as a statement."""
    if call.raised:
        yield "returns None", "return None"
        kind = getattr(builtins, call.outcome.partition("(")[0], None)
        parents = kind.__mro__[:3] if isinstance(kind, type) else ()
        for error in dict.fromkeys((*parents, LookupError, ValueError, Exception)):
            if issubclass(error, Exception):
                told = f"{error.__name__}('something else')"
                yield f"raises {told}", f"raise {told}"
        return
    try:
        value = ast.literal_eval(call.outcome)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        yield "returns None", "return None"
        yield "returns 0", "return 0"
        return
    for other in (0, "x") if value is None else beside(value):
        if other != value:
            yield f"returns {other!r}"[:80], f"return {other!r}"
    yield "raises", "raise SystemError('something else')"
