"""Replays a session of doctest examples as `doctest.DocTestRunner` runs them.

Loaded by path inside the sandbox: standard library only. What `doctest` does and this does alike:
one namespace (a copy of the module's globals), each example compiled as a `single` statement with
the module's future features, `sys.displayhook`, stdout taken from `sys.stdout`, an exception told
by its last line, and a failed example ends nothing. What an example wants is not known in here.

`observe` runs the same steps to see which calls of the program's function they make themselves:
with what arguments, looked at before the call, and what came of it.
"""

from __future__ import annotations

import ast
import functools
import io
import linecache
import os
import sys
import traceback
import types
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Iterator, List, Tuple  # noqa: UP035

from refute.sandbox.cleanup import inode, remove

_FEATURES: Any = import_module("__future__")

Shown = Tuple[str, "str | None", bool]  # noqa: UP006 (Python 3.8)
"""What an example printed; its exception's last line or None; whether it passed the program."""

Made = Tuple["tuple[Any, ...] | None", "dict[str, Any] | None", "tuple[str, Any] | None"]  # noqa: UP006
"""A call of the program's function: its arguments and keywords, as they were before the call, and
("returned", value) or ("raised", name of the type). None: not built-in data, or too much of it."""

MOST_CALLS = 2000
MOST_ITEMS = 10_000


def replay(module: Any, steps: list[str], watched: int, filename: str) -> Any:
    """Run `steps` in order; what the last `watched` of them showed (one: not in a list).

    Files that they make lie in a directory of their own, which goes with them. `MemoryError` is
    the caller's: the process ends with it.
    """
    shown: list[Shown] = []
    with _stage(module) as (namespace, flags):
        for number, source in enumerate(steps):
            code = functools.partial(compile, source, _name(number), "single", flags, True)
            shown.append(_one(source, code, number, namespace, filename))
    return shown[-1] if watched == 1 else shown[-watched:]


def observe(
    module: Any, steps: list[str], watched: int, filename: str, function: Any
) -> List[List[Made]]:  # noqa: UP006
    """Run `steps` in order; the calls of `function` that each of the last `watched` of them makes.

    A call counts where what is called is the function itself (see `_Watch`). The statements of a
    test function go on where one before them fails, so that one failure does not hide the rest.
    """
    seen: list[list[Made]] = []
    watch = _Watch(function)
    with _stage(module) as (namespace, flags):
        namespace[_WATCH], namespace[_GET], namespace[_ON] = watch, watch.got, _On()
        for number, source in enumerate(steps):
            watch.calls = []
            code = functools.partial(_watched, source, _name(number), flags, watch.attribute)
            _one(source, code, number, namespace, filename)
            seen.append([(one[0], one[1], one[2]) for one in watch.calls])
    return seen[-watched:]


@contextmanager
def _stage(module: Any) -> Iterator[tuple[dict[str, Any], int]]:
    """A namespace of the module's names, its future features as flags, a directory of its own."""
    namespace = dict(module.__dict__)
    flags = 0
    for name in _FEATURES.all_feature_names:
        feature = getattr(_FEATURES, name)
        if name in namespace and namespace[name] is feature:
            flags |= feature.compiler_flag
    before, directory = os.getcwd(), f"session-{id(namespace):x}"
    os.mkdir(directory)
    made = inode(directory)
    os.chdir(directory)
    streams = sys.stdout, sys.displayhook
    try:
        yield namespace, flags
    finally:
        sys.stdout, sys.displayhook = streams
        os.chdir(before)
        remove(directory, made)


def _name(number: int) -> str:
    return f"<doctest [{number}]>"


def _one(source: str, code: Any, number: int, namespace: dict[str, Any], filename: str) -> Shown:
    printed, name = io.StringIO(), _name(number)
    sys.stdout, sys.displayhook = printed, sys.__displayhook__
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    try:
        exec(code(), namespace)
    except MemoryError:
        raise
    except BaseException as error:
        return _text(printed), _last_line(error), _passes(error, filename)
    return _text(printed), None, False


def _text(printed: io.StringIO) -> str:
    """As `doctest` reads it: a last line that was not ended is ended."""
    text = printed.getvalue()
    return f"{text}\n" if text and not text.endswith("\n") else text


def _last_line(error: BaseException) -> str:
    lines = traceback.format_exception_only(type(error), error)
    return lines[-1] if isinstance(error, SyntaxError) else "".join(lines)


def _passes(error: BaseException, filename: str) -> bool:
    """Return whether the program under test was on the way of the exception, after the last line of
    an example (a callback that the example defines is the example's)."""
    inside = False
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        inside = file == filename or (inside and not file.startswith("<doctest ["))
        trace = trace.tb_next
    return inside


# -- which calls are made --------------------------------------------------------------------------

_WATCH, _GET, _ON = "_refute_watch", "_refute_get", "_refute_on"
_OF_ITS_FRAME = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec"})
"""What means something else when another function calls it."""


class _Watch:
    """Object that gives back what is to be called; calls of the function under test are noted.

    A property is called where it is read.
    """

    def __init__(self, function: Any) -> None:
        self.calls: list[list[Any]] = []
        self.attribute: str | None = None
        """Of a property: its name."""
        self.function, getter = function, _getter(function)
        if type(function) is types.MethodType:  # a classmethod
            self.function = function.__func__
        elif getter is not None:
            self.function, self.attribute = getter, getattr(getter, "__name__", None)

    def __call__(self, callee: Any) -> Any:
        first = _reaches(callee, self.function)
        if first is None:
            return callee
        return functools.partial(self._noted, callee, first)

    def got(self, held: Any) -> Any:
        """The attribute of an object, noted where it is the property."""
        name = str(self.attribute)
        for kind in (*type.mro(type(held)),):
            if name in kind.__dict__:
                if _reaches(_getter(kind.__dict__[name]), self.function) is None:
                    break
                return self._noted(lambda: getattr(held, name), ((held,), {}))
        return getattr(held, name)

    def _noted(self, callee: Any, first: Any, /, *args: Any, **keywords: Any) -> Any:
        if len(self.calls) >= MOST_CALLS:
            return callee(*args, **keywords)
        made: list[Any] = [_copied((*first[0], *args)), _copied({**first[1], **keywords}), None]
        self.calls.append(made)
        try:
            value = callee(*args, **keywords)
        except BaseException as error:
            made[2] = "raised", type(error).__name__
            raise
        kept = _copied((value,))
        made[2] = None if kept is None else ("returned", kept[0])
        return value


def _getter(value: Any) -> Any:
    """The function that a property calls; None for anything else."""
    kind = type(value)
    if issubclass(kind, property):
        return value.fget
    return value.func if issubclass(kind, functools.cached_property) else None


def _reaches(callee: Any, function: Any) -> Any:
    """(arguments, keywords) that come before those of the call where `callee` is the function; else
    None. A wrapper (also one that says so, by `__wrapped__`) is another function: what it hands on
    is its own affair. The same code twice, as where a module is imported under two names, is one.
    """
    if callee is function:
        return (), {}
    if type(callee) is functools.partial:
        inner = _reaches(callee.func, function)
        return inner and ((*inner[0], *callee.args), {**inner[1], **callee.keywords})
    if type(callee) is types.MethodType:
        inner = _reaches(callee.__func__, function)
        return inner and ((*inner[0], callee.__self__), inner[1])
    if type(function) is types.FunctionType and issubclass(type(callee), type):
        name = function.__name__  # a class is called: its constructor is
        return _reaches(getattr(callee, name), function) if name in _MAKING else None
    if type(callee) is type(function) is types.FunctionType:
        same = callee.__code__ == function.__code__ and callee.__qualname__ == function.__qualname__
        if same and not callee.__closure__ and not function.__closure__:
            return (), {}
    return None


_MAKING = ("__init__", "__new__")
_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_GROUPS = (list, tuple, set, frozenset)


class _NotData(Exception):
    """A value that is not built-in data."""


def _copied(value: Any) -> Any:
    """A copy, deep, of a group of built-in data; None where it is or holds anything else."""
    try:
        return _copy(value, [MOST_ITEMS])
    except (_NotData, RecursionError):
        return None


def _copy(value: Any, left: list[int]) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    left[0] -= len(value) + 1 if kind in (*_GROUPS, dict) else left[0] + 1
    if left[0] < 0:
        raise _NotData
    if kind is dict:
        return {_copy(key, left): _copy(held, left) for key, held in value.items()}
    return kind([_copy(held, left) for held in value])


class _On:
    """A context that what happens in it does not end."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        # pytest's own ways to end a test are no `Exception`
        known = {base.__name__ for base in type.mro(kind)} if kind is not None else set()
        return bool(known & {"Exception", "OutcomeException"}) and "MemoryError" not in known


def _watched(source: str, name: str, flags: int, attribute: str | None) -> Any:
    tree = compile(source, name, "single", flags | ast.PyCF_ONLY_AST, True)
    tree = ast.fix_missing_locations(_Watching(attribute).visit(tree))
    return compile(tree, name, "single", flags, True)


class _Watching(ast.NodeTransformer):
    """Calls go through the `_Watch`, and what reads a property of this name; the statements of test
    functions each into an `_On`."""

    def __init__(self, attribute: str | None) -> None:
        self.attribute = attribute

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        if node.attr != self.attribute or not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Call(ast.Name(_GET, ast.Load()), [node.value], []), node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if _hands_on(node):  # `assertRaises(ValueError, cart.add, -1)`
            node.args[1] = _through_watch(node.args[1])
        if not (isinstance(node.func, ast.Name) and node.func.id in _OF_ITS_FRAME):
            node.func = _through_watch(node.func)
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        self.generic_visit(node)
        if node.name.startswith("test"):
            node.body = [_going_on(one) for one in node.body]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef


def _through_watch(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(_WATCH, ast.Load()), [node], []), node)


def _hands_on(call: ast.Call) -> bool:
    """Return whether it is an assertion that calls its second argument."""
    named = isinstance(call.func, ast.Attribute) and call.func.attr in _CALLING
    return named and len(call.args) > 1


_CALLING = ("assertRaises", "raises", "assertWarns", "warns")


def _going_on(node: ast.stmt) -> ast.stmt:
    inner: list[ast.stmt] = [node]
    if isinstance(node, (ast.For, ast.With)):  # a `while` may need what ends it
        node.body = [_going_on(one) for one in node.body]
    elif isinstance(node, ast.Assert):
        values = _conjuncts(node.test)
        parts = [ast.copy_location(ast.Assert(one, None), node) for one in values]
        inner = [_going_on(part) for part in parts] if len(parts) > 1 else inner
    item = ast.withitem(ast.Name(_ON, ast.Load()), None)
    return ast.copy_location(ast.With([item], inner), node)


def _conjuncts(test: ast.expr) -> list[ast.expr]:
    both = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    return test.values if both else [test]  # type: ignore[attr-defined]
