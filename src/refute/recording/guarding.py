"""A module's code with a guard at the beginning of each function: `if guard.on: guard.hit((a, b))`.

The functions stay what they are: the same objects, names, lines, tracebacks and depth of the stack,
and a guard that is off costs one look at an attribute. No name is added anywhere: the guard itself
stands among the constants of the code. (A profile function slows every call of the process; a
wrapper is one frame more, which `warnings` with `stacklevel` and `sys._getframe` see.)
"""

from __future__ import annotations

import ast
import types
import warnings
from collections.abc import Callable
from typing import Any, Union

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Definition = Union[ast.FunctionDef, ast.AsyncFunctionDef]
_MARK = "\0refute guard "

_WRITTEN_AS_CALLS = {
    "__init__", "__new__", "__call__", "__len__", "__str__", "__repr__", "__bool__", "__hash__",
    "__int__", "__float__", "__abs__", "__neg__", "__pos__", "__invert__", "__iter__", "__next__",
    "__reversed__", "__bytes__", "__index__", "__round__", "__getitem__", "__setitem__",
    "__delitem__", "__contains__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
    "__add__", "__radd__", "__iadd__", "__sub__", "__mul__", "__truediv__", "__floordiv__",
    "__mod__", "__pow__", "__and__", "__or__", "__xor__", "__lshift__", "__rshift__",
    "__matmul__", "__format__",
}  # fmt: skip
"""Special methods that have a form of being called which people write."""


class Signature:
    """What a definition says: its dotted path in the module, its parameters, whether it can change
    its receiver."""

    __slots__ = (
        "keyword", "keyword_only", "owner", "path", "positional", "positional_only", "pure", "rest",
    )  # fmt: skip

    def __init__(self, owner: str, node: _Definition) -> None:
        arguments = node.args
        self.owner = owner
        self.path = f"{owner}.{node.name}" if owner else node.name
        self.positional = [arg.arg for arg in [*arguments.posonlyargs, *arguments.args]]
        self.positional_only = len(arguments.posonlyargs)
        self.rest = arguments.vararg is not None
        self.keyword_only = [arg.arg for arg in arguments.kwonlyargs]
        self.keyword = arguments.kwarg is not None
        self.pure = _leaves_alone(node)

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


def _leaves_alone(node: _Definition) -> bool:
    """Whether a method surely changes nothing of its receiver: it stores into no attribute or item,
    calls no method of the receiver or of what the receiver holds, and hands it to nobody."""
    if not node.args.args:
        return True
    receiver = node.args.args[0].arg
    for part in ast.walk(node):
        if isinstance(part, (ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load):
            return False
        if isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)):
            return False
        if isinstance(part, ast.Call):
            given = [*part.args, *(keyword.value for keyword in part.keywords), part.func]
            if not isinstance(part.func, ast.Name):
                home: Any = part.func
                while isinstance(home, (ast.Attribute, ast.Subscript)):
                    home = home.value
                if not isinstance(home, ast.Constant):
                    return False
            if any(isinstance(one, ast.Name) and one.id == receiver for one in given):
                return False
    return True


def guarded_code(
    source: str | bytes, file: str, guard: Callable[[Signature], Any]
) -> types.CodeType:
    """The code of a module whose functions and methods ask their guard first.

    `guard` makes the guard of a function. Functions within functions have none. Raises what
    `compile` does.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source, file)
        guards: dict[str, Any] = {}
        for owner, node in _definitions(tree.body, ""):
            name = node.name
            if name[:2] == name[-2:] == "__" and name not in _WRITTEN_AS_CALLS:
                continue
            mark = _MARK + str(len(guards))
            guards[mark] = guard(Signature(owner, node))
            _insert(node, mark)
        code = compile(tree, file, "exec", dont_inherit=True)
    return _with_guards(code, guards)


def _definitions(body: list[ast.stmt], owner: str) -> Any:
    for node in body:
        if isinstance(node, _Function):
            yield owner, node
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{owner}.{node.name}".strip("."))
        elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for part in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(node, part, ()):
                    if isinstance(inner, ast.ExceptHandler):
                        yield from _definitions(inner.body, owner)
                    else:
                        yield from _definitions([inner], owner)


def _insert(node: _Definition, mark: str) -> None:
    documented = ast.get_docstring(node, clean=False) is not None
    at = 1 if documented else 0
    place: ast.AST = node.body[at] if at < len(node.body) else node.body[-1]
    arguments = node.args
    names = [arg.arg for arg in [*arguments.posonlyargs, *arguments.args]]
    names += [arg.arg for arg in (arguments.vararg,) if arg is not None]
    names += [arg.arg for arg in arguments.kwonlyargs]
    names += [arg.arg for arg in (arguments.kwarg,) if arg is not None]
    values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())

    def of_guard(name: str) -> ast.Attribute:
        return ast.Attribute(ast.Constant(mark, kind=None), name, ast.Load())

    call = ast.Expr(ast.Call(of_guard("hit"), [values], []))
    check = ast.If(of_guard("on"), [call], [])
    for part in ast.walk(check):
        if "lineno" in part._attributes:
            line = getattr(place, "lineno", 1)
            decorators = getattr(place, "decorator_list", ())
            part.lineno = min([line, *(one.lineno for one in decorators)])  # type: ignore[attr-defined]
            part.col_offset = 0  # type: ignore[attr-defined]
            part.end_lineno = part.lineno  # type: ignore[attr-defined]
            part.end_col_offset = 0  # type: ignore[attr-defined]
    node.body.insert(at, check)


def _with_guards(code: types.CodeType, guards: dict[str, Any]) -> types.CodeType:
    """The code with guards in the place of their marks, in all code within it."""
    constants = [
        _with_guards(each, guards)
        if type(each) is types.CodeType
        else guards.get(each, each)
        if type(each) is str
        else each
        for each in code.co_consts
    ]
    return code.replace(co_consts=tuple(constants))


def swap_code(module: types.ModuleType, code: types.CodeType) -> None:
    """Give the functions of a module that is loaded already their guarded code."""
    found = {(each.co_name, each.co_firstlineno): each for each in _codes(code)}
    file = getattr(module, "__file__", None)
    for function in _functions(vars(module), 0):
        old = function.__code__
        new = found.get((old.co_name, old.co_firstlineno))
        same = new is not None and new.co_freevars == old.co_freevars
        if same and new is not None and old.co_filename == file:
            function.__code__ = new


def _codes(code: types.CodeType) -> Any:
    for each in code.co_consts:
        if type(each) is types.CodeType:
            yield each
            yield from _codes(each)


def _functions(members: Any, depth: int) -> Any:
    for member in list(members.values()):
        inner: Any | None = member
        if type(member) in (staticmethod, classmethod):
            inner = member.__func__
        if type(member) is property:
            for part in (member.fget, member.fset, member.fdel):
                if type(part) is types.FunctionType:
                    yield part
        elif type(member) is type and depth < 3:
            yield from _functions(vars(member), depth + 1)
        while type(inner) is types.FunctionType:
            yield inner
            inner = vars(inner).get("__wrapped__")
