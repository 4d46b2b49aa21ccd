"""Runs scenarios and sessions of doctest examples, and tells what they showed.

Loaded by path inside the sandbox: standard library only. Of a scenario's last expression it tells
value, exception, effects, output and lines. A scenario is a few statements and an
expression over the module's names (`core.problems.Scenario`). Values are encoded where they are
seen, by the codec, which reads objects by their fields and asks none of them whether it is equal to
another. What the program does to this code is its own loss: the trusted side takes the record for
what the program said of itself.

A session runs as `doctest.DocTestRunner` runs it: one namespace (a copy of the module's globals),
each example compiled as a `single` statement with the module's future features, `sys.displayhook`,
stdout taken from `sys.stdout`, an exception told by its last line, and a failed example ends
nothing. What an example wants is not known in here.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import io
import linecache
import os
import sys
import traceback
import types
from contextlib import contextmanager
from typing import Any, Iterator, Tuple  # noqa: UP035

from refute.sandbox.cleanup import inode, remove
from refute.sandbox.states import defines, is_heap, mro_of, name_of

MOST_ITEMS = 50
"""Items that are taken of a generator or iterator, synchronous or not."""
MOST_PRINTED = 10_000
MOST_STEPS = 20_000
"""Lines that are traced in one scenario; then tracing ends, so that a loop is not slow for long."""

_ATOMS = frozenset(map(id, (type(None), bool, int, float, complex, str, bytes)))
_FIXED = (type, types.BuiltinFunctionType, types.FunctionType, types.ModuleType)
"""Of these no change can be seen: by what they are, whatever they say that they are."""


def observe(module: Any, scenario: tuple[Any, ...], filename: str, codec: Any) -> tuple[Any, ...]:
    """Run (setup, expression, imports, lines, file) in a namespace, a directory and, what is left
    of it, an environment of its own.

    Gives (kind, what, changed, printed, lines): kind "returned" with the value's node, "raised"
    with (type, names of its bases, message, whether the program was on its way), or "setup" with
    (index, type, message) where a statement before failed; `changed` has (name, node before, node
    after) for what the call was given and changed; `lines` are those of the scenario's lines that
    were executed, by the set-up too.
    `MemoryError` is the caller's: the process ends with it.
    """
    setup, expression, imports, lines, file = scenario
    printed, loop, trace = io.StringIO(), _Loop(), _Trace(file or filename, frozenset(lines))
    with _stage(f"scenario-{id(scenario):x}"), contextlib.closing(loop):
        sys.stdout = sys.stderr = printed
        namespace = dict(module.__dict__)
        for name, place in imports:
            namespace[name] = _found(place)
        for index, statement in enumerate(setup):
            try:
                with trace:
                    _execute(statement, namespace, loop)
            except MemoryError:
                raise
            except BaseException as error:
                return "setup", (index, _type_name(error), _message(error)), (), "", ()
        at = printed.tell()
        return _observed(expression, namespace, trace, filename, codec, loop, printed, at)


@contextmanager
def _stage(place: str) -> Iterator[None]:
    """A directory of that name, which goes with what was made in it; streams, what the prompt shows
    and the environment are put back afterwards."""
    before, environment = os.getcwd(), dict(os.environ)
    os.mkdir(place)
    made = inode(place)
    os.chdir(place)
    streams = sys.stdout, sys.stderr, sys.displayhook
    try:
        yield
    finally:
        sys.stdout, sys.stderr, sys.displayhook = streams
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        os.chdir(before)
        remove(place, made)


def _observed(
    expression: str, namespace: Any, trace: _Trace, filename: str, codec: Any, loop: _Loop,
    printed: Any, at: int,
) -> tuple[Any, ...]:  # fmt: skip
    given: dict[str, Any] = {}
    kind: str
    what: Any
    before: dict[str, Any] = {}
    try:
        with trace:
            code = _lifted(expression, namespace, loop, given)
        before = {name: _encoded(value, codec, spare=True) for name, value in given.items()}
        with trace:
            value = loop.settle(eval(code, namespace))
            kind, what = "returned", _node_of(value, codec, loop)
    except MemoryError:
        raise
    except BaseException as error:
        kind, what = "raised", _raised(error, filename)
    printed.seek(at)
    text = printed.read(MOST_PRINTED)
    changed = []
    for name, value in given.items():
        after = _encoded(value, codec, spare=True)
        if name in before and after != before[name]:
            changed.append((name, before[name], after))
    return kind, what, tuple(changed), text, tuple(sorted(trace.hit))


# -- the statements before, and what the expression is given ---------------------------------------


def _found(place: str) -> Any:
    """Return the object that `module:qualname` or `module` names."""
    name, _, qualname = place.partition(":")
    found: Any = importlib.import_module(name)
    for part in qualname.split(".") if qualname else ():
        found = getattr(found, part)
    return found


def _execute(statement: str, namespace: dict[str, Any], loop: _Loop) -> None:
    """Execute an assignment, or evaluate an expression; what can be awaited is."""
    tree: Any = compile(statement, "<setup>", "exec", ast.PyCF_ONLY_AST, True)
    node = tree.body[0]
    plain = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    if len(tree.body) != 1 or not (plain or isinstance(node, ast.Expr)):
        exec(compile(tree, "<setup>", "exec", 0, True), namespace)
        return
    value = loop.settle(_evaluated(node.value, namespace))
    if plain:
        namespace[node.targets[0].id] = value


def _evaluated(node: Any, namespace: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(node), "<scenario>", "eval", 0, True), namespace)


def _lifted(expression: str, namespace: dict[str, Any], loop: _Loop, given: dict[str, Any]) -> Any:
    """The expression's code, with names in the place of its outermost call's receiver and
    arguments, which are evaluated here and kept in `given` where they could change."""
    tree: Any = compile(expression, "<scenario>", "eval", ast.PyCF_ONLY_AST, True)
    call = tree.body
    if not isinstance(call, ast.Call):
        if isinstance(call, ast.Attribute):  # a property
            call.value = _kept(call.value, "self", namespace, loop, given)
        return compile(ast.fix_missing_locations(tree), "<scenario>", "eval", 0, True)
    if isinstance(call.func, ast.Attribute):
        call.func.value = _kept(call.func.value, "self", namespace, loop, given)
    for index, argument in enumerate(call.args):
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        new = _kept(inner, f"argument {index + 1}", namespace, loop, given)
        call.args[index] = ast.Starred(new, ast.Load()) if inner is not argument else new
    for keyword in call.keywords:
        label = f"argument {keyword.arg}" if keyword.arg else "keywords"
        keyword.value = _kept(keyword.value, label, namespace, loop, given)
    return compile(ast.fix_missing_locations(tree), "<scenario>", "eval", 0, True)


def _kept(
    node: Any, label: str, namespace: dict[str, Any], loop: _Loop, given: dict[str, Any]
) -> Any:
    if isinstance(node, ast.Constant):
        return node
    value = loop.settle(_evaluated(ast.fix_missing_locations(node), namespace))
    kind = type(value)
    fixed = id(kind) in _ATOMS or issubclass(kind, _FIXED)
    if not fixed and not _is_iterator(value):
        given[label] = value
    name = f"_refute_{len(namespace)}"
    namespace[name] = value
    return ast.copy_location(ast.Name(name, ast.Load()), node)


def _is_iterator(value: Any) -> bool:
    """Return whether it is one of Python's own, of which no change but its use can be seen."""
    kind = type(value)
    either = defines(kind, "__next__") or defines(kind, "__anext__")
    return either and not _is_instance(kind)


def _is_instance(kind: Any) -> bool:
    """Return whether a class is one that a program made: not one of a file either, which is a
    stream."""
    return is_heap(kind) and not defines(kind, "fileno")


# -- what came of it -------------------------------------------------------------------------------


class _Loop:
    """An event loop that exists once something is awaited, fresh for each scenario."""

    def __init__(self) -> None:
        self.loop: Any = None

    def settle(self, value: Any) -> Any:
        """Return the result of a coroutine; any other value as it is."""
        return self.run(value) if type(value) is types.CoroutineType else value

    def run(self, awaitable: Any) -> Any:
        """Run a coroutine to its end."""
        import asyncio  # costs what few programs need

        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
        return self.loop.run_until_complete(awaitable)

    def close(self) -> None:
        """End it, with what still runs in it."""
        if self.loop is None:
            return
        import asyncio

        try:
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.close()
        except Exception:
            pass
        asyncio.set_event_loop(None)


async def _items_of(value: Any, items: list[Any]) -> bool:
    async for item in value:
        if len(items) == MOST_ITEMS:
            return True
        items.append(item)
    return False


def _node_of(value: Any, codec: Any, loop: _Loop) -> Any:
    """The node of a value; of an iterator the first items, and how it went on."""
    kind = type(value)
    is_async = defines(kind, "__anext__")
    if not is_async and (not defines(kind, "__next__") or defines(kind, "fileno")):
        return _encoded(value, codec)
    own = _fields(value, codec) if _is_instance(kind) else []
    items: list[Any] = []
    more, error = False, ""
    try:
        if is_async:
            more = loop.run(_items_of(value, items))
        else:
            for item in value:
                if len(items) == MOST_ITEMS:
                    more = True
                    break
                items.append(item)
    except MemoryError:
        raise
    except BaseException as raised:
        if not own:
            raise  # a generator's way to end is what the call does
        error = _type_name(raised)
    listed = "iter", name_of(kind), [_encoded(item, codec) for item in items], more
    if not own:
        return listed
    text = f"<{name_of(kind)}>"
    return (
        "opaque",
        name_of(kind),
        text,
        [*own, ("next items", listed), ("ends with", ("v", error))],
    )


def _fields(value: Any, codec: Any) -> list[Any]:
    """The public attributes of an instance that is an iterator too, as nodes, before it is used;
    how it keeps what is left to give is its own business."""
    node = _encoded(value, codec, spare=True)
    fields = node[3] if node[0] == "opaque" else ()
    return [(name, one) for name, one in fields if not name.startswith("_")]


def _encoded(value: Any, codec: Any, spare: bool = False) -> Any:
    """The value's node (`spare`: no iterator in it is used up); where its class breaks the codec,
    that of something unknown."""
    try:
        return codec.observed(value, spare=spare)
    except MemoryError:
        raise
    except BaseException:
        return "cut", "?", ""


def _raised(error: BaseException, filename: str) -> tuple[Any, ...]:
    bases: tuple[str, ...] = ()
    try:
        bases = tuple(map(name_of, mro_of(type(error))[1:]))
    except BaseException:
        pass
    inside, trace = False, error.__traceback__
    while trace is not None:
        inside = inside or trace.tb_frame.f_code.co_filename == filename
        trace = trace.tb_next
    return _type_name(error), bases, _message(error), inside


def _type_name(error: BaseException) -> str:
    try:
        return name_of(type(error))[:200]
    except BaseException:
        return "?"


def _message(error: BaseException) -> str:
    try:
        return str.__str__(str(error))[:500]
    except BaseException:
        return ""


class _Trace:
    """Notes which of some lines of a file are executed while it is entered."""

    def __init__(self, filename: str, lines: frozenset[int]) -> None:
        self.filename = filename
        self.lines = lines
        self.hit: set[int] = set()
        self.left = MOST_STEPS

    def __enter__(self) -> None:
        if self.lines:
            sys.settrace(self._called)

    def __exit__(self, *exc: object) -> None:
        if self.lines:
            sys.settrace(None)

    def _called(self, frame: Any, event: str, arg: Any) -> Any:
        if self.left <= 0:
            sys.settrace(None)
            return None
        code = frame.f_code
        if code.co_filename != self.filename:
            return None
        if code.co_name == "<module>":
            return None
        if frame.f_lineno in self.lines:
            self.hit.add(frame.f_lineno)
        return self._line

    def _line(self, frame: Any, event: str, arg: Any) -> Any:
        if frame.f_lineno in self.lines:
            self.hit.add(frame.f_lineno)
        self.left -= 1
        return self._line if self.left > 0 and self.hit != self.lines else None


# -- sessions --------------------------------------------------------------------------------------

_FEATURES: Any = importlib.import_module("__future__")

Shown = Tuple[str, "str | None", bool]  # noqa: UP006 (Python 3.8)
"""Row of an example: what it printed; its exception's last line or None; whether it passed the
program."""


def replay(module: Any, steps: list[str], watched: int, filename: str) -> Any:
    """Run `steps` in order; what the last `watched` of them showed (one: not in a list).

    Files that they make lie in a directory of their own, which goes with them. `MemoryError` is
    the caller's: the process ends with it.
    """
    shown: list[Shown] = []
    namespace, flags = _names(module)
    with _stage(f"session-{id(namespace):x}"):
        for number, source in enumerate(steps):
            code = functools.partial(compile, source, _name(number), "single", flags, True)
            shown.append(_one(source, code, number, namespace, filename))
    return shown[-1] if watched == 1 else shown[-watched:]


def runs(module: Any, steps: list[str], function: Any) -> bool:
    """Return whether running `steps` in order runs the function, a method or property as well."""
    code = _code(function)
    seen: list[str] = []

    def look(frame: Any, event: str, given: Any) -> None:
        if event == "call" and frame.f_code == code:  # equal where a module is imported twice
            seen.append(event)

    namespace, flags = _names(module)
    with _stage(f"session-{id(namespace):x}"):
        sys.setprofile(look)
        try:
            for number, source in enumerate(steps):
                made = functools.partial(compile, source, _name(number), "single", flags, True)
                _one(source, made, number, namespace, "")
        finally:
            sys.setprofile(None)
    return bool(seen)


def _code(function: Any) -> Any:
    """The code of a function below its wrappers; of a property that of what it calls."""
    for name in ("__func__", "fget", "func", "__wrapped__"):
        inner = inspect.getattr_static(function, name, None)
        if inner is not None and callable(getattr(function, name)):
            return _code(getattr(function, name))
    return getattr(function, "__code__", None)


def _names(module: Any) -> tuple[dict[str, Any], int]:
    """A copy of the module's names, and its future features as flags."""
    namespace, flags = dict(module.__dict__), 0
    for name in _FEATURES.all_feature_names:
        feature = getattr(_FEATURES, name)
        if name in namespace and namespace[name] is feature:
            flags |= feature.compiler_flag
    return namespace, flags


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
