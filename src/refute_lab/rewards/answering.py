"""Runs inside the sandbox, on the program's side of `asserts`: does with it what a test asks for.

The program shares the process: what is answered is what it says. After `naming` and `crossing`, in
the same namespace; standard library only.
"""

from __future__ import annotations

import builtins
import operator
import types
from itertools import count, islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refute.sandbox.naming import find, lineage
    from refute_lab.rewards.crossing import pack, unpack

MOST_ITEMS = 10_000
_loaded: list[Any] = []


def answer(source: str, operations: list[Any]) -> list[Any]:
    """Run each operation on the program in order, in one process; return the answers."""
    module = _module(source)
    held: dict[tuple[int, int], Any] = {}

    def of(tag: str, *parts: Any) -> Any:
        if tag == "r":
            return held[parts]
        if tag == "b" and parts[0] in _BUILTINS:
            return getattr(builtins, parts[0])
        raise TypeError(tag)

    answers = []
    for at, (kind, name, packed, keywords) in enumerate(operations):
        numbers, whole = count(1), [None]

        def hold(value: Any, at: int = at, n: Any = numbers, whole: list[Any] = whole) -> Any:
            number = 0 if value is whole[0] else next(n)
            held[at, number] = value
            return _exception_class(value) or ("r", at, number)

        try:
            args = [unpack(one, of) for one in packed]
            named = {key: unpack(one, of) for key, one in keywords}
            before = [pack(one, _none) for one in args] if kind == "call" else []
            value = _done(module, kind, name, args, named)
            changed = [
                (index, after)
                for index, (old, one) in enumerate(zip(before, args))  # noqa: B905 (Python 3.8)
                for after in [pack(one, hold)]
                if old[0] in _MUTABLE and after != old
            ]
            held[at, 0] = whole[0] = value
            answers.append(("ok", pack(value, hold), changed))
        except MemoryError:
            raise
        except BaseException as error:
            answers.append(("raised", *_told(error)))
    return answers


_MUTABLE = ("l", "s", "d", "C", "O", "q", "bytearray", "array")


def _module(source: str) -> Any:
    """The program as a module, loaded once in this process."""
    if not _loaded:
        module = types.ModuleType("solution")
        _loaded.append(None)
        __import__("sys").modules["solution"] = module
        exec(compile(source, "<program>", "exec", dont_inherit=True), module.__dict__)
        _loaded[0] = module
    if _loaded[0] is None:
        raise ImportError("the program could not be loaded")
    return _loaded[0]


_BUILTINS = (
    "abs", "all", "any", "bool", "bytes", "complex", "dict", "divmod", "float", "frozenset", "int",
    "len", "list", "max", "min", "ord", "pow", "round", "set", "sorted", "str", "sum", "tuple",
)  # fmt: skip
"""Names that a test may hand to the program: nothing by which it could look at its code."""


def _done(module: Any, kind: str, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    wanted = args[1] if (kind, name) in (("do", "get"), ("do", "set")) else name
    parts = name.replace("()", "").split(".") if kind == "name" else [wanted]
    if kind != "method" and any(map(_is_inner, parts)):
        raise AttributeError(wanted)
    if kind == "name":
        try:
            for end in range(1, len(parts) + 1):
                _no_module(find(module, ".".join(parts[:end])))
            return find(module, name)
        except AttributeError:
            raise NameError(f"name {name!r} is not defined") from None
    if kind == "call":
        return args[0](*args[1:], **named)
    if (kind, name) == ("do", "get"):
        return _no_module(getattr(args[0], wanted))
    if kind == "iter":
        return list(islice(iter(args[0]), MOST_ITEMS))
    if kind == "next":
        return next(args[0])
    if kind == "method":  # of the type, as Python finds it for its operators
        if name not in ("__enter__", "__exit__"):
            raise AttributeError(name)
        return getattr(type(args[0]), name)(*args)
    return _FUNCTIONS[name](*args)


_FUNCTIONS: dict[str, Any] = {
    "set": setattr, "len": len, "str": str, "repr": repr, "bool": bool, "abs": abs,
    "isinstance": isinstance, "int": int, "float": float,
    **{name: getattr(operator, name) for name in (
        "eq", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow",
        "matmul", "and_", "or_", "xor", "neg", "getitem", "setitem", "delitem",
    )},
}  # fmt: skip


def _is_inner(name: Any) -> bool:
    """Return whether an attribute leads to the code of the program rather than to what it does."""
    return type(name) is not str or name.startswith("__") or name.endswith(("_frame", "_code"))


def _no_module(value: Any) -> Any:
    if isinstance(value, types.ModuleType):
        raise AttributeError(f"{value.__name__} is a module")
    return value


def _none(value: Any) -> tuple[Any, ...]:
    return ("r", -1, -1)


def _exception_class(value: Any) -> tuple[Any, ...] | None:
    if isinstance(value, type) and issubclass(value, BaseException):
        return ("E", lineage(value))
    return None


def _told(error: BaseException) -> tuple[Any, ...]:
    try:
        message = str(error)[:2000]
    except BaseException:
        message = ""
    return lineage(type(error)), message
