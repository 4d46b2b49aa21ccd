"""Data shared by the readers of examples: the text, the function's parameters and names, the
readings."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from refute.core.problems import Call, DoctestSession, Expression, Invocation, Trust, UnitTest
from refute.sandbox import values
from refute.source.literals import NotLiteral, read_call
from refute.source.syntax import bound_names, find_function, parse_expression, takes_self, try_parse


@dataclass(frozen=True, slots=True)
class CalledAs:
    """The ways in which one function is called."""

    names: frozenset[str]
    """Bare names: `total(...)`; of `Cart.__init__` the class's."""
    attribute: str
    """`cart.total(...)`, `shop.total(...)`."""
    held: str
    """Object in its module: the function itself, or the class."""
    method: bool
    operator: bool
    """A special method but the constructor: operators, loops and built-in functions call it."""


def called_as(entry_point: str) -> CalledAs:
    """Return the ways in which a function of this qualified name is called."""
    owner, _, name = entry_point.rpartition(".")
    held = owner.partition(".")[0]
    if not owner:
        return CalledAs(frozenset({name}), name, name, method=False, operator=False)
    if name in ("__init__", "__new__"):
        cls = owner.rpartition(".")[2]
        return CalledAs(frozenset({cls}), cls, held, method=True, operator=False)
    special = name.startswith("__") and name.endswith("__")
    return CalledAs(frozenset(), name, held, method=True, operator=special)


Kind = Literal["doctest", "assert", "equation", "arrow", "prose"]
"""The form in which an example is written."""

_STRAIGHT = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "`": " ", "\u00a0": " ", "\t": " "}
)
_BUILTINS = frozenset(dir(builtins))
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


@dataclass(frozen=True, slots=True)
class DescribedFunction:
    """A description, and the signature of the function it describes.

    `plain` has the length of `text`: curly quotes straightened, back-ticks blanked.
    """

    text: str
    plain: str
    entry_point: str
    parameters: tuple[str, ...] | None
    """Positional parameters; None: the signature is unknown."""
    required: int
    variadic: bool
    returns: ast.expr | None
    defined: frozenset[str]
    """Other functions of the module."""
    names: frozenset[str]
    """Everything that the module binds at its top level."""

    @property
    def name(self) -> str:
        """The name by which examples call the function."""
        return self.entry_point.rsplit(".", 1)[-1]

    @property
    def method(self) -> bool:
        """Return whether the function is a method of a class."""
        return "." in self.entry_point

    def fits(self, count: int) -> bool:
        """Return whether a call may have this many arguments."""
        if self.parameters is None:
            return True
        return self.required <= count and (self.variadic or count <= len(self.parameters))

    def line(self, offset: int) -> int:
        """The line of the text, from 1, that holds the character at `offset`."""
        return self.text.count("\n", 0, offset) + 1


def subject(description: str, entry_point: str, code: str | None) -> DescribedFunction:
    """Gather what is known; without code, or where it does not parse, the signature is unknown."""
    tree = try_parse(code) if code is not None else None
    function = find_function(tree, entry_point) if tree is not None else None
    parameters: tuple[str, ...] | None = None
    required, variadic = 0, False
    if function is not None:
        spec = function.args
        arguments = [*spec.posonlyargs, *spec.args]
        required = len(arguments) - len(spec.defaults)
        if arguments and takes_self(function, entry_point):
            arguments, required = arguments[1:], max(0, required - 1)
        parameters = tuple(arg.arg for arg in arguments)
        variadic = spec.vararg is not None
    return DescribedFunction(
        text=description,
        plain=description.translate(_STRAIGHT),
        entry_point=entry_point,
        parameters=parameters,
        required=required,
        variadic=variadic,
        returns=function.returns if function is not None else None,
        defined=frozenset(
            node.name
            for node in (tree.body if tree is not None else ())
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node is not function
        ),
        names=bound_names(tree) if tree is not None else frozenset(),
    )


def invocation(node: ast.expr, entry_point: str) -> Invocation:
    """A `Call` where the expression is one of `entry_point` on literals, else an `Expression`.

    An expression, too, where an argument is a literal and cannot cross into the sandbox as a value.
    """
    try:
        call = read_call(node, entry_point)
    except NotLiteral:
        return Expression(ast.unparse(node))
    crossing = values.crosses((call.args, dict(call.kwargs)))
    return call if crossing else Expression(ast.unparse(node))


def mentions(node: ast.AST, name: str) -> bool:
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


def crosses(test: UnitTest) -> bool:
    """Return whether the test can be run and judged in the sandbox: an array of numpy, say,
    cannot."""
    if isinstance(test.call, Call) and not values.crosses((test.call.args, dict(test.call.kwargs))):
        return False
    return values.is_complete(values.encode(test.expected))


def overlaps(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    """Return whether `span` shares a character with one of `taken`."""
    return any(span[0] < end and start < span[1] for start, end in taken)
