"""Values of what an answer writes: literals are read, all else is evaluated in the sandbox.

An expected output is evaluated without the names of any program: were they visible, an answer such
as ``f(3)`` would make the code under test its own judge. Each expression has a process of its own,
so that none can spoil another.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Any

from refute.core.problems import Call, Expression, Invocation
from refute.function.examples.formal import LOOSE_NAMES
from refute.function.examples.subject import DescribedFunction
from refute.function.llm.answers import WrittenOutput, source_text
from refute.function.llm.results import Output, Unreadable
from refute.sandbox import Limits, Program, Returned, values
from refute.sandbox.pool import AsyncSandbox
from refute.source.literals import NotLiteral, read_literal

_LIMITS = Limits(cpu=1.0, memory=512 << 20, output=1 << 20)
_MODULES = (
    "bisect", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq",
    "itertools", "math", "operator", "re", "string",
)  # fmt: skip
_SCENE = "\n".join(
    [
        *(f"import {name}" for name in _MODULES),
        "from collections import Counter, OrderedDict, defaultdict, deque",
        "from decimal import Decimal",
        "from fractions import Fraction",
        "from math import inf, nan",
        "def resolve(): pass",
    ]
)
"""What an expression may use without having said so. No name of a program."""


class _NoValue(Exception):
    """The expression has no value that could be handed to a program or compared."""


async def resolve_output(written: WrittenOutput | None, box: AsyncSandbox) -> Output | Unreadable:
    """The expected output that is written. Raises `SandboxUnavailable`."""
    if written is None:
        return Unreadable.NO_OUTPUT
    if written.node is None:
        return Output(raises=written.raises)
    try:
        return Output(await _value(written.node, box))
    except _NoValue:
        return Unreadable.NO_VALUE


async def resolve_call(
    call: ast.Call | None,
    about: DescribedFunction,
    box: AsyncSandbox,
    *,
    keyword_only: Collection[str] = (),
) -> Invocation | Unreadable:
    """The call that is written, with the arguments in the order of the signature.

    `keyword_only`: the parameters that have to be named. An argument that only the program's own
    names can build stays an expression. Raises `SandboxUnavailable`.
    """
    if call is None:
        return Unreadable.NO_CALL
    func = source_text(call.func)
    if about.method and func != about.entry_point:  # `Stack().push(1)`: its object is an argument
        return _expression(call, about)
    try:
        args = await _value(ast.Tuple(call.args, ast.Load()), box)
        kwargs = await _named(call, box)
    except _NoValue:
        return _expression(call, about)
    named = {name: kwargs.pop(name) for name in keyword_only if name in kwargs}
    bound = _bound(tuple(args), kwargs, about)
    return Call(bound.args, {**bound.kwargs, **named}) if isinstance(bound, Call) else bound


async def _named(call: ast.Call, box: AsyncSandbox) -> dict[str, Any]:
    keys: list[ast.expr | None] = [ast.Constant(k.arg) if k.arg else None for k in call.keywords]
    named = await _value(ast.Dict(keys, [k.value for k in call.keywords]), box)
    if not all(type(name) is str for name in named):
        raise _NoValue
    return dict(named)


def _bound(
    args: tuple[Any, ...], kwargs: dict[str, Any], about: DescribedFunction
) -> Call | Unreadable:
    """The call by position, as far as the signature is known."""
    names = about.parameters
    if names is None:
        return Call(args, kwargs)
    if not about.fits(len(args) + len(kwargs)) and len(args) == 1 and not kwargs:
        (only,) = args  # `Arguments: (1, 2)` of a function of two
        if type(only) is tuple and about.fits(len(only)):
            return Call(only)
        if type(only) is dict and set(only) <= set(names) and about.fits(len(only)):
            args, kwargs = (), only
    rest = names[len(args) :]
    if kwargs and not set(kwargs) <= set(rest) and about.fits(len(args) + len(kwargs)):
        kwargs = dict(zip(rest, kwargs.values(), strict=False))  # names of the answer's own
    in_order: list[Any] = list(args)
    for name in rest:
        if name not in kwargs:
            break
        in_order.append(kwargs.pop(name))
    if not set(kwargs) <= set(rest) or not about.fits(len(in_order) + len(kwargs)):
        return Unreadable.ARGUMENTS
    return Call(tuple(in_order), kwargs)


def _expression(call: ast.Call, about: DescribedFunction) -> Expression | Unreadable:
    """The call as an expression over the program's names, where it uses one besides the function's.

    `about.names` are those that the module binds at its top level.
    """
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    source = source_text(call)
    if source and used & (about.names - ({about.entry_point} if not about.method else set())):
        return Expression(source)
    return Unreadable.ARGUMENTS


async def _value(node: ast.expr, box: AsyncSandbox) -> Any:
    """The value of an expression that has no names of a program. Raises `_NoValue`."""
    try:
        value = read_literal(node, names=LOOSE_NAMES)
    except NotLiteral:
        value = await _evaluated(node, box)
    try:
        values.encode(value, strict=True)
    except (values.Unencodable, ValueError, RecursionError, MemoryError):
        raise _NoValue from None
    return value


async def _evaluated(node: ast.expr, box: AsyncSandbox) -> Any:
    source = source_text(node)
    if not source or isinstance(node, ast.Name):  # a bare word is prose
        raise _NoValue
    scene = _SCENE
    if "np." in source or "numpy." in source:  # importing it costs every run, so only then
        scene = f"import numpy\nimport numpy as np\n{scene}"
    [outcome] = await box.run(Program(scene, "resolve", "<answer>"), [Expression(source)], _LIMITS)
    if not isinstance(outcome, Returned):
        raise _NoValue
    try:
        return outcome.value
    except values.MalformedValue:
        raise _NoValue from None
