"""Data shared by the readers of examples: the text, the function's parameters and names, the
readings."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from refute.core.problems import Call, Expression, Invocation, UnitTest
from refute.sandbox import values
from refute.source.literals import NotLiteral, read_call
from refute.source.syntax import bound_names, find_function, takes_self, try_parse


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


_STRAIGHT = str.maketrans(
    {"‘": "'", "’": "'", "“": '"', "”": '"', "`": " ", "\u00a0": " ", "\t": " "}
)


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


def crosses(test: UnitTest) -> bool:
    """Return whether the test can be run and judged in the sandbox: an array of numpy, say,
    cannot."""
    if isinstance(test.call, Call) and not values.crosses((test.call.args, dict(test.call.kwargs))):
        return False
    return values.is_complete(values.encode(test.expected))
