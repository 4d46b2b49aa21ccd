"""Replays a session of doctest examples as `doctest.DocTestRunner` runs them.

Loaded by path inside the sandbox: standard library only. What `doctest` does and this does alike:
one namespace (a copy of the module's globals), each example compiled as a `single` statement with
the module's future features, `sys.displayhook`, stdout taken from `sys.stdout`, an exception told
by its last line, and a failed example ends nothing. What an example wants is not known in here.
"""

from __future__ import annotations

import functools
import inspect
import io
import linecache
import os
import sys
import traceback
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Iterator, Tuple  # noqa: UP035

from refute.sandbox.cleanup import inode, remove

_FEATURES: Any = import_module("__future__")

Shown = Tuple[str, "str | None", bool]  # noqa: UP006 (Python 3.8)
"""Row of an example: what it printed; its exception's last line or None; whether it passed the
program."""


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


def runs(module: Any, steps: list[str], function: Any) -> bool:
    """Return whether running `steps` in order runs the function, a method or property as well."""
    code = _code(function)
    seen: list[str] = []

    def look(frame: Any, event: str, given: Any) -> None:
        if event == "call" and frame.f_code == code:  # equal where a module is imported twice
            seen.append(event)

    with _stage(module) as (namespace, flags):
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
