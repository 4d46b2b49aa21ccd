"""A call as people write it: `cart.add("a", 2)`, `len(cart)`, `cart["a"]`, `Cart(tax=0.2)`."""

from __future__ import annotations

from collections.abc import Sequence
from keyword import iskeyword
from typing import Any

from refute.recording.describing import Describer
from refute.recording.guarding import Signature
from refute.recording.recipes import Imported, Part, Parts, Unbuildable

_FUNCTIONS = {
    "__len__": "len", "__str__": "str", "__repr__": "repr", "__bool__": "bool", "__hash__": "hash",
    "__int__": "int", "__float__": "float", "__abs__": "abs", "__iter__": "iter",
    "__next__": "next", "__reversed__": "reversed", "__bytes__": "bytes", "__round__": "round",
    "__format__": "format",
}  # fmt: skip
_OPERATORS = {
    "__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=",
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//",
    "__mod__": "%", "__pow__": "**", "__and__": "&", "__or__": "|", "__xor__": "^",
    "__lshift__": "<<", "__rshift__": ">>", "__matmul__": "@",
}  # fmt: skip
_SIGNS = {"__neg__": "-", "__pos__": "+", "__invert__": "~"}
_OF_OPERATOR = {
    "__setitem__": "setitem", "__delitem__": "delitem", "__index__": "index", "__iadd__": "iadd",
}  # fmt: skip


def special(name: str, receiver: Part, values: Sequence[Parts]) -> Parts:
    """A call of a special method. Raises `Unbuildable` where nobody writes one like it."""
    if name in _FUNCTIONS:
        return (_FUNCTIONS[name] + "(", receiver, *_after(values), ")")
    if name in _SIGNS:
        return (_SIGNS[name], receiver)
    if name in _OF_OPERATOR:
        return (Imported("operator", _OF_OPERATOR[name]), "(", receiver, *_after(values), ")")
    if len(values) == 1:
        if name in _OPERATORS:
            return (receiver, f" {_OPERATORS[name]} ", *values[0])
        if name == "__radd__":
            return (*values[0], " + ", receiver)
        if name == "__getitem__":
            return (receiver, "[", *values[0], "]")
        if name == "__contains__":
            return (*values[0], " in ", receiver)
    raise Unbuildable("a special method called in a special way")


def _after(values: Sequence[Parts]) -> list[Part]:
    return [part for value in values for part in (", ", *value)]


def arguments(
    describe: Describer,
    signature: Signature,
    values: Sequence[Any],
    defaults: tuple[Any, ...],
    keyword_defaults: dict[str, Any],
    *,
    skip: int,
) -> Parts:
    """The arguments between the parentheses; those that are the default's object are left out.

    `values`: as a guard is given them, in the order of the definition. `skip`: how many of the
    first are not written (the receiver). Raises `Unbuildable`.
    """
    names = signature.positional
    position = len(names)
    rest: tuple[Any, ...] = values[position] if signature.rest else ()
    position += signature.rest
    only = values[position : position + len(signature.keyword_only)]
    extra: dict[str, Any] = dict(values[-1]) if signature.keyword else {}
    first_default = len(names) - len(defaults)
    by_name = False
    written: list[Parts] = []
    for number, (name, value) in enumerate(zip(names, values)):
        if number < skip:
            continue
        optional = number >= max(first_default, signature.positional_only)
        if not rest and optional and value is defaults[number - first_default]:
            by_name = True
        elif by_name:
            written.append((name + "=", *describe(value)))
        else:
            written.append(describe(value))
    written += [describe(value) for value in rest]
    for name, value in zip(signature.keyword_only, only):
        if value is not keyword_defaults.get(name, written):
            written.append((name + "=", *describe(value)))
    for name, value in extra.items():
        if type(name) is not str or not name.isidentifier() or iskeyword(name):
            raise Unbuildable("a keyword that is no name")
        written.append((name + "=", *describe(value)))
    parts: list[Part] = []
    for number, each in enumerate(written):
        parts += [", "] * bool(number)
        parts += each
    return tuple(parts)
