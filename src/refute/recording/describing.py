"""Values as recipes of source: literals, containers, what is found by name, what fields rebuild.

No code of a project runs for it: exact types of Python's own are read with their own methods,
everything else through `looking`.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import decimal
import enum
import fractions
import functools
import io
import itertools
import math
import operator
import pathlib
import re
import types
import uuid
from collections.abc import Callable
from typing import Any

from refute.recording.looking import MISSING, fields, find, global_name, lookup, module_of, qualname
from refute.recording.rebuilding import constructor_fields
from refute.recording.recipes import Entry, Event, Imported, Part, Parts, Unbuildable

_MOST_VALUES = 150
_DEEPEST = 6
_LONGEST_TEXT = 2_000
_MOST_BITS = 4_096

_EXACT = (bool, int, type(None), type(Ellipsis))
_PLAIN = frozenset(map(id, _EXACT))
_BUILTINS = {id(value): name for name, value in vars(builtins).items() if name.isidentifier()}


class Describer:
    """Makes recipes. `tracked` gives the entry of an object whose construction was seen; `home` is
    the module whose function is called, where sentinels (`_MISSING = object()`) are looked for."""

    def __init__(self, tracked: Callable[[Any], Entry | None], tick: Callable[[], int]) -> None:
        self._tracked = tracked
        self._tick = tick
        self.home = ""

    def __call__(self, value: Any) -> Parts:
        """The recipe of a value as it is now. Raises `Unbuildable`."""
        writing = _Writing(self._tracked, self._tick, self.home)
        writing.value(value, 0)
        return tuple(writing.out)

    def receiver(self, value: Any) -> Entry:
        """The object as one that has a name of its own. Raises `Unbuildable`."""
        entry = self._tracked(value)
        if entry is not None and not entry.dead:
            return entry
        parts = self(value)
        if len(parts) == 1 and type(parts[0]) is Entry:
            return parts[0]
        entry = Entry(qualname(type(value)).rpartition(".")[2], self._tick(), named=True)
        entry.events.append(Event(entry.tick, parts))
        return entry


class _Writing:
    """One value being written; `out` holds its parts."""

    def __init__(
        self, tracked: Callable[[Any], Entry | None], tick: Callable[[], int], home: str
    ) -> None:
        self.out: list[Part] = []
        self.tracked, self.tick, self.home = tracked, tick, home
        self.left = _MOST_VALUES

    def value(self, value: Any, depth: int) -> None:
        kind = type(value)
        self.left -= 1
        if self.left < 0 or depth > _DEEPEST:
            raise Unbuildable("too large")
        if id(kind) in _PLAIN:
            if kind is int and value.bit_length() > _MOST_BITS:
                raise Unbuildable("too large")
            self.out.append(repr(value))
            return
        write = _WRITERS.get(id(kind))
        if write is not None:
            write(self, value, depth)
        else:
            self.other(value, kind, depth)

    def items(self, values: Any, depth: int) -> None:
        """Values with commas between."""
        for number, item in enumerate(values):
            if number:
                self.out.append(", ")
            self.value(item, depth + 1)

    def call(self, function: Part, values: Any, depth: int, named: Any = ()) -> None:
        """A call of `function` with values, and with (name, value) pairs after them."""
        self.out.append(function)
        self.arguments(values, depth, named)

    def arguments(self, values: Any, depth: int, named: Any) -> None:
        self.out.append("(")
        self.items(values, depth)
        first = not len(values)
        for name, value in named:
            self.out.append("{}{}=".format("" if first else ", ", name))
            self.value(value, depth + 1)
            first = False
        self.out.append(")")

    def reference(self, module: str, path: str, value: Any) -> None:
        """A class or a function by the name under which it is found again."""
        if _BUILTINS.get(id(value)) is not None:
            self.out.append(_BUILTINS[id(value)])
            return
        if type(module) is not str or type(path) is not str or module == "__main__":
            raise Unbuildable("not found by its name")
        if "<" in path:
            raise Unbuildable("a local function or class")
        found = find(module, path)
        if type(found) in (staticmethod, classmethod):
            found = found.__func__
        if found is not value or not all(map(str.isidentifier, path.split("."))):
            raise Unbuildable("not found by its name")
        first, _, rest = path.partition(".")
        self.out.append(Imported(module, first))
        if rest:
            self.out.append("." + rest)

    def other(self, value: Any, kind: type, depth: int) -> None:
        """A class, a member of an enum, or an object of a class that is not Python's own."""
        if issubclass(kind, type):
            self.reference(module_of(value), qualname(value), value)
        elif issubclass(type(kind), enum.EnumMeta):
            self.member(value, kind)
        elif issubclass(kind, types.ModuleType):
            raise Unbuildable("a module that is not plain")
        else:
            self.object(value, kind, depth)

    def member(self, value: Any, kind: type) -> None:
        held = fields(value)
        name, number = held.get("_name_"), held.get("_value_")
        self.reference(module_of(kind), qualname(kind), kind)
        if type(name) is str and name.isidentifier():
            self.out.append("." + name)
        elif issubclass(kind, enum.Flag) and type(number) is int:
            self.out.append(f"({number!r})")
        else:
            raise Unbuildable("an enum member without a name")

    def object(self, value: Any, kind: type, depth: int) -> None:
        entry = self.tracked(value)
        rebuilt = constructor_fields(value, kind)
        if rebuilt is None and entry is not None:
            if entry.dead is not None:
                raise Unbuildable(entry.dead)
            self.out.append(entry)
            return
        if rebuilt is None:
            iterator = lookup(kind, "__next__") is not MISSING
            raise Unbuildable("an iterator" if iterator else "construction not seen")
        positional, named = rebuilt
        self.reference(module_of(kind), qualname(kind), kind)
        self.arguments(positional, depth, named)


def _number(writing: _Writing, value: Any, depth: int) -> None:
    if math.isfinite(value):
        writing.out.append(repr(value))
    else:
        writing.out.append(f"float({repr(value)!r})")


def _complex(writing: _Writing, value: complex, depth: int) -> None:
    writing.call("complex", (value.real, value.imag), depth)


def _text(writing: _Writing, value: Any, depth: int) -> None:
    if len(value) > _LONGEST_TEXT:
        raise Unbuildable("too large")
    writing.out.append(repr(value))


def _sequence(opening: str, closing: str, empty: str) -> Callable[[_Writing, Any, int], None]:
    def write(writing: _Writing, value: Any, depth: int) -> None:
        if not len(value):
            writing.out.append(empty)
            return
        writing.out.append(opening)
        writing.items(value, depth)
        writing.out.append(",)" if opening == "(" and len(value) == 1 else closing)

    return write


def _dict(writing: _Writing, value: Any, depth: int) -> None:
    writing.out.append("{")
    for number, (key, item) in enumerate(dict.items(value)):
        if number:
            writing.out.append(", ")
        writing.value(key, depth + 1)
        writing.out.append(": ")
        writing.value(item, depth + 1)
    writing.out.append("}")


def _of(module: str, name: str, arguments: Callable[[Any], Any]) -> Callable[..., None]:
    """A writer of `name(*arguments(value))`."""

    def write(writing: _Writing, value: Any, depth: int) -> None:
        writing.call(Imported(module, name) if module else name, arguments(value), depth)

    return write


def _deque(writing: _Writing, value: Any, depth: int) -> None:
    named = [] if value.maxlen is None else [("maxlen", value.maxlen)]
    writing.call(Imported("collections", "deque"), (list(value),), depth, named)


def _datetime(writing: _Writing, value: Any, depth: int) -> None:
    parts = [value.year, value.month, value.day, value.hour, value.minute]
    parts += [value.second, value.microsecond]
    _timed(writing, "datetime", parts, value, depth)


def _time(writing: _Writing, value: Any, depth: int) -> None:
    parts = (value.hour, value.minute, value.second, value.microsecond)
    _timed(writing, "time", parts, value, depth)


def _timed(writing: _Writing, name: str, parts: Any, value: Any, depth: int) -> None:
    named = [("tzinfo", value.tzinfo)] if value.tzinfo is not None else []
    named += [("fold", 1)] if value.fold else []
    writing.call(Imported("datetime", name), parts, depth, named)


def _timezone(writing: _Writing, value: Any, depth: int) -> None:
    if value is datetime.UTC:
        writing.out += [Imported("datetime", "timezone"), ".utc"]
    else:
        writing.call(Imported("datetime", "timezone"), value.__getinitargs__(), depth)


def _pattern(writing: _Writing, value: Any, depth: int) -> None:
    default = int(re.UNICODE) if type(value.pattern) is str else 0
    flags = value.flags & ~default
    writing.out += [Imported("re"), ".compile"]
    writing.arguments((value.pattern, flags) if flags else (value.pattern,), depth, ())


def _stream(name: str) -> Callable[..., None]:
    """A stream in memory; one that is not at its beginning is brought there by `seek`."""

    def write(writing: _Writing, value: Any, depth: int) -> None:
        try:
            content, position = value.getvalue(), value.tell()
        except ValueError:
            raise Unbuildable("a closed stream") from None
        inner = _Writing(writing.tracked, writing.tick, writing.home)
        inner.call(Imported("io", name), (content,), depth)
        entry = Entry("stream", writing.tick())
        entry.events.append(Event(entry.tick, tuple(inner.out)))
        if position:
            seek: Parts = (entry, f".seek({position})")
            entry.events.append(Event(writing.tick(), seek))
        writing.out.append(entry)

    return write


def _function(writing: _Writing, value: Any, depth: int) -> None:
    writing.reference(value.__module__, value.__qualname__, value)


def _builtin(writing: _Writing, value: Any, depth: int) -> None:
    home = value.__self__
    if home is None or type(home) is types.ModuleType:
        writing.reference(value.__module__, value.__qualname__, value)
    else:
        raise Unbuildable("a bound method")


def _method(writing: _Writing, value: Any, depth: int) -> None:
    receiver, function = value.__self__, value.__func__
    name = getattr(function, "__name__", None) if type(function) is types.FunctionType else None
    kind = receiver if issubclass(type(receiver), type) else type(receiver)
    held = lookup(kind, name) if type(name) is str else MISSING
    if type(held) is classmethod:
        held = held.__func__
    if held is not function or name is None or not name.isidentifier():
        raise Unbuildable("a bound method")
    writing.value(receiver, depth + 1)
    writing.out.append("." + name)


def _module(writing: _Writing, value: Any, depth: int) -> None:
    name = vars(value).get("__name__")
    if type(name) is not str or name == "__main__" or find(name, "__name__") is not name:
        raise Unbuildable("not found by its name")
    writing.out.append(Imported(name))


def _partial(writing: _Writing, value: Any, depth: int) -> None:
    named = list(value.keywords.items())
    if vars(value) or not all(type(key) is str and key.isidentifier() for key, _ in named):
        raise Unbuildable("a partial with more than arguments")
    writing.call(Imported("functools", "partial"), (value.func, *value.args), depth, named)


def _reduced(name: str) -> Callable[..., None]:
    return _of("operator", name, lambda value: value.__reduce__()[1])


def _namespace(writing: _Writing, value: Any, depth: int) -> None:
    named = list(vars(value).items())
    if not all(type(key) is str and key.isidentifier() for key, _ in named):
        raise Unbuildable("not found by its name")
    writing.call(Imported("types", "SimpleNamespace"), (), depth, named)


def _sentinel(writing: _Writing, value: Any, depth: int) -> None:
    """A plain object says nothing but that it is itself."""
    name = global_name(writing.home, value)
    if name is None:
        raise Unbuildable("an object without content")
    writing.out.append(Imported(writing.home, name))


def _not_implemented(writing: _Writing, value: Any, depth: int) -> None:
    writing.out.append("NotImplemented")


def _iterator(writing: _Writing, value: Any, depth: int) -> None:
    raise Unbuildable("an iterator")


_frozen = _of("", "frozenset", lambda value: (set(value),) if value else ())
_PATHS: dict[type, str] = {type(pathlib.Path()): "Path", pathlib.PurePosixPath: "PurePosixPath"}

_WRITTEN: dict[type, Callable[..., None]] = {
    float: _number,
    complex: _complex,
    str: _text,
    bytes: _text,
    bytearray: _of("", "bytearray", lambda value: (bytes(value),)),
    list: _sequence("[", "]", "[]"),
    tuple: _sequence("(", ")", "()"),
    set: _sequence("{", "}", "set()"),
    frozenset: _frozen,
    dict: _dict,
    range: _of("", "range", lambda value: (value.start, value.stop, value.step)),
    slice: _of("", "slice", lambda value: (value.start, value.stop, value.step)),
    object: _sentinel,
    type(NotImplemented): _not_implemented,
    decimal.Decimal: _of("decimal", "Decimal", lambda value: (str(value),)),
    fractions.Fraction: _of(
        "fractions", "Fraction", lambda value: (value.numerator, value.denominator)
    ),
    datetime.date: _of("datetime", "date", lambda value: (value.year, value.month, value.day)),
    datetime.datetime: _datetime,
    datetime.time: _time,
    datetime.timedelta: _of(
        "datetime", "timedelta", lambda value: (value.days, value.seconds, value.microseconds)
    ),
    datetime.timezone: _timezone,
    uuid.UUID: _of("uuid", "UUID", lambda value: (str(value),)),
    re.Pattern: _pattern,
    collections.deque: _deque,
    collections.Counter: _of("collections", "Counter", lambda value: (dict(dict.items(value)),)),
    collections.OrderedDict: _of(
        "collections", "OrderedDict", lambda value: (list(collections.OrderedDict.items(value)),)
    ),
    collections.defaultdict: _of(
        "collections",
        "defaultdict",
        lambda value: (value.default_factory, dict(dict.items(value))),
    ),
    types.SimpleNamespace: _namespace,
    io.StringIO: _stream("StringIO"),
    io.BytesIO: _stream("BytesIO"),
    types.FunctionType: _function,
    types.BuiltinFunctionType: _builtin,
    types.MethodType: _method,
    types.ModuleType: _module,
    functools.partial: _partial,
    operator.itemgetter: _reduced("itemgetter"),
    operator.attrgetter: _reduced("attrgetter"),
    types.GeneratorType: _iterator,
    itertools.count: _iterator,
    **{kind: _of("pathlib", name, lambda value: (str(value),)) for kind, name in _PATHS.items()},
}
_WRITERS = {id(kind): write for kind, write in _WRITTEN.items()}
"""By the id of the type: to hash a class may run code of its metaclass."""


def shape_of(value: Any, depth: int = 0) -> Any:
    """What kind of value it is, roughly and quickly: its type, its sign, whether it is empty, and
    the same of the first item. Two calls with the same shapes probably take the same way."""
    kind = type(value)
    if kind is int:
        return (value > 0) - (value < 0)
    if kind is str or kind is bytes:
        return id(kind), min(len(value), 2)
    if (kind is list or kind is tuple) and depth < 2:
        return id(kind), min(len(value), 2), shape_of(value[0], depth + 1) if value else None
    if kind is dict or kind is set or kind is frozenset:
        return id(kind), min(len(value), 2)
    return (id(kind), value) if kind is bool else id(kind)
