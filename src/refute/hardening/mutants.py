"""Mutants of functions: which there are, and a sample in which no line takes the whole budget."""

from __future__ import annotations

import ast
import builtins
import math
import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, takewhile

from refute.core.combinators import in_turn
from refute.diffing.definitions import Definition, statements
from refute.diffing.modules import Module
from refute.issue.observed_calls import Call
from refute.recording.replaying import beside
from refute.source.syntax import Function, first_line, parse_module

_COMPARE: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
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
    """Every edit of a function, statement by statement. Not looked into: docstrings, annotations,
    decorators and defaults, f-strings, and what only words an exception or a log."""
    for one, _ in statements(node.body):
        match one:
            case ast.ExceptHandler(body=[first, *_]):
                if not isinstance(first, ast.Raise) and not hasattr(first, "body"):
                    yield _edit("EHD", text, first, "raise", _header(first))
            case ast.match_case(guard=guard):
                if guard is not None:
                    yield from _within(text, ast.Expr(guard), _header(guard))
            case ast.stmt() if not isinstance(one, Function | ast.ClassDef):
                reached = _header(one)
                for operator, place, new in _of_statement(one):
                    yield _edit(operator, text, place, new, reached)
                if not _only_says(one):
                    yield from _within(text, one, reached)


def _within(text: bytes, node: ast.AST, reached: tuple[int, int]) -> Iterator[Edit]:
    """The edits of a statement's expressions."""
    for part in _parts(node):
        for operator, other in _of_expression(part):
            yield _edit(operator, text, part, ast.unparse(other), reached)


def edit_of(text: str, function: Function, node: ast.expr, new: str) -> Edit:
    """Another text for a part of a function."""
    lines = function.lineno, function.end_lineno or function.lineno
    return _edit(new, text.encode(), node, new, lines)


@lru_cache(maxsize=4)
def _starts(text: bytes) -> list[int]:
    return [0, *accumulate(len(line) for line in text.splitlines(keepends=True))]


def _edit(
    operator: str, text: bytes, node: ast.stmt | ast.expr, new: str, reached: tuple[int, int]
) -> Edit:
    """A part of a text exchanged, with as many line ends as before."""
    starts, end_line = _starts(text), node.end_lineno or node.lineno
    start = starts[node.lineno - 1] + node.col_offset
    end = starts[end_line - 1] + (node.end_col_offset or 0)
    if lost := (end_line - node.lineno) * "\n":
        inside = isinstance(node, ast.expr) and not isinstance(node, ast.Slice)
        new = f"({new}{lost})" if inside else new + lost
    return Edit(operator, start, end, new.encode(), node.lineno, reached)


def _of_statement(node: ast.stmt) -> Iterator[tuple[str, ast.stmt | ast.expr, str]]:
    """Edits of a statement as such: the operator, the part that is exchanged, and its new text."""
    match node:
        case ast.If(test=test) | ast.While(test=test) if _is_negated(test):
            yield "COI", test, f"not ({ast.unparse(test)})"
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "RVR", value, "None"
        case ast.Break():
            yield "BCR", node, "continue"
        case ast.Continue():
            yield "BCR", node, "break"
        case ast.AugAssign(target, op, value):
            if type(op) in _ARITHMETIC and not _is_text(value):
                other = ast.AugAssign(target, _ARITHMETIC[type(op)](), value)
                yield "ASR", node, ast.unparse(other)
            yield "SDL", node, "pass"
        case ast.Raise() | ast.Delete() | ast.Assert():
            yield "SDL", node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield "SDL", node, "pass"
        case ast.Expr(value=ast.Call() | ast.Await()) if not _only_says(node):
            yield "SDL", node, "pass"


def _is_negated(test: ast.expr) -> bool:
    """Return whether a test is negated: not where another operator does that."""
    single = isinstance(test, ast.Compare) and len(test.ops) == 1
    return not (single or isinstance(test, ast.UnaryOp | ast.Constant))


def _of_expression(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Edits of an expression: the operator, and what stands there then."""
    match node:
        case ast.Compare(left, ops, comparators):
            for place, op in enumerate(ops):
                for new in _COMPARE[type(op)]:
                    others = [*ops[:place], new(), *ops[place + 1 :]]
                    yield "ROR", ast.Compare(left, others, comparators)
        case ast.BinOp(one, op, other) if type(op) in _ARITHMETIC:
            if not (_is_text(one) or _is_text(other)):
                yield "AOR", ast.BinOp(one, _ARITHMETIC[type(op)](), other)
        case ast.BoolOp(op, [_, _] as values):
            yield "LCR", ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.IfExp(test, body, orelse) if _is_negated(test):
            yield "COI", ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.UnaryOp(ast.Not() | ast.USub() as op, operand):
            yield "COD" if isinstance(op, ast.Not) else "AOD", operand
        case ast.Constant(value):
            yield from (("CRP", ast.Constant(new)) for new in _other_constants(value))
        case ast.Slice(lower, upper, step):
            if lower is not None:
                yield "SIR", ast.Slice(None, upper, step)
            if upper is not None:
                yield "SIR", ast.Slice(lower, None, step)


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement, without its blocks and hints; of an f-string nothing, for
    before Python 3.12 what is inside has no place."""
    for name, value in ast.iter_fields(node):
        for one in value if isinstance(value, list) else [value]:
            if not isinstance(one, ast.AST) or name in ("annotation", "type_params"):
                continue
            if not isinstance(one, ast.stmt | ast.excepthandler | ast.match_case | ast.JoinedStr):
                if isinstance(one, ast.expr):
                    yield one
                yield from _parts(one)


def _header(node: ast.stmt | ast.expr) -> tuple[int, int]:
    """First and last line of a statement without its blocks."""
    blocks = [getattr(node, name, None) for name in ("body", "cases")]
    firsts = [block[0] for block in blocks if isinstance(block, list) and block]
    if firsts and hasattr(firsts[0], "lineno"):
        return node.lineno, max(node.lineno, int(firsts[0].lineno) - 1)
    return node.lineno, node.lineno if firsts else node.end_lineno or node.lineno


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


def _other_constants(value: object) -> Iterator[float | str]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        if value > 0:
            yield value - 1
    elif isinstance(value, float):
        yield value + 1.0
    elif isinstance(value, str) and len(value) <= _LONGEST_TEXT:
        yield f"{value}x" if value else "x"


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
