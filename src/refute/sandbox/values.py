"""The codec by which values cross the sandbox's border: data only, never pickled, never executed.

This file is also loaded by path inside the sandbox, so it imports the standard library only and
nothing of `refute`.

An encoding is one tag byte and a body:

- ``M``: the body is `marshal` version 2 of a value made only of the plain types None, bool, int,
  float, complex, str, bytes, list, tuple, dict, set and frozenset, exactly (no subclasses).
  Version 2 has no back references, so equal plain values have equal bytes up to the order of sets
  and dictionaries.
- ``X``: the body is `marshal` version 2 of a node ``(kind, payload)``, where containers hold
  nodes. Kinds: ``v`` plain value; ``l t s f d`` list, tuple, set, frozenset, dict (subclasses too:
  a namedtuple compares as a tuple, a Counter as a dict; items are read by the base class, so an
  override cannot lie); ``bytearray``, ``range``, ``Decimal``, ``Fraction``, ``datetime``,
  ``date``, ``time``, ``timedelta``, ``deque``, ``ndarray``; ``iter`` an iterator or generator, its
  first `MAX_ITEMS` items; ``opaque`` anything else whose whole state is seen: type name, a bounded
  `repr`, and its attributes (of ``__dict__`` and slots; for a few types of the standard library
  and for pandas' frames, series and indices what says as much); ``cut`` what is not encoded: a
  function, a nest too deep, an object of unknown state.
- ``I``: as ``X``, of a value that is not encoded as a whole: with a ``cut``, or an iterator that
  has more items. It equals nothing, itself included.

The encoder runs inside the sandbox next to hostile code and may be made to lie about the value of
the program that it runs in, never about another. `decoding` reads the bytes on the trusted side.
"""

from __future__ import annotations

import marshal
import struct
import sys
from typing import Any

__all__ = [
    "Incomplete",
    "Iterated",
    "MalformedValue",
    "NDArray",
    "Opaque",
    "Unencodable",
    "encode",
]

MAX_DEPTH = 150  # in plain Python recursion on both sides, whatever calls them
MAX_ITEMS = 10_000
MAX_REPR = 2_000
MAX_FRACTION_BITS = 20_000  # reducing one takes quadratic time
MAX_ATTRIBUTES = 1_000
TOO_LARGE = "too large"
"""The type's name of what stands for an encoding that is not kept (`digest`)."""

_ATOMS = frozenset({type(None), bool, int, float, complex, str, bytes})
_SEQUENCES = frozenset({list, tuple, set, frozenset})


class MalformedValue(ValueError):
    """The bytes are not an encoding of any value."""


class Unencodable(TypeError):
    """The value has no faithful encoding, so it cannot be an argument or an expected output."""


class _Record:
    """A tiny value class; this module must stay cheap to import, so no dataclasses."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *parts: Any) -> None:
        for name, part in zip(self.__slots__, parts):  # noqa: B905 (Python 3.8)
            object.__setattr__(self, name, part)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key()  # the default one sets attributes

    def __hash__(self) -> int:
        return hash((type(self).__name__, repr(self._key())))


class NDArray(_Record):
    """A numpy array: `dtype` by name, `shape`, and its items `data` as nested plain lists."""

    __slots__ = ("data", "dtype", "shape")
    data: Any
    dtype: str
    shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f"array({self.data!r}, dtype={self.dtype!r})"


class Iterated(_Record):
    """An iterator or generator: its type's name, the items it gave, and whether more were left."""

    __slots__ = ("items", "more", "type")
    items: tuple[Any, ...]
    more: bool
    type: str

    def __eq__(self, other: object) -> bool:
        return not self.more and super().__eq__(other)

    __hash__ = _Record.__hash__

    def __repr__(self) -> str:
        inner = ", ".join(map(repr, self.items[:20]))
        dots = ", ..." if self.more or len(self.items) > 20 else ""
        return f"<{self.type} of {inner}{dots}>"


class Opaque(_Record):
    """A value of another type: the type's name, a bounded `repr`, and its attributes.

    Two opaque values are equal when all three are: for grading that is the best that can be said
    about, for example, two instances of a class that the program itself defines.
    """

    __slots__ = ("attributes", "repr", "type")
    attributes: tuple[tuple[str, Any], ...]
    repr: str
    type: str

    def __repr__(self) -> str:
        return self.repr or f"<{self.type}>"


class Incomplete(_Record):
    """A value that was not encoded as a whole: a function, an object of unknown state, a deep nest.

    It equals nothing, itself included: nobody can say whether two of these are the same.
    """

    __slots__ = ("repr", "type")
    repr: str
    type: str

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = _Record.__hash__

    def __repr__(self) -> str:
        return self.repr or f"<{self.type}>"


# -- encoding --------------------------------------------------------------------------------------


def is_plain(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Whether `value` consists only of the plain types, exactly, nested at most `depth` deep."""
    kind = type(value)
    if kind in _ATOMS:
        return True
    if kind in _SEQUENCES:
        kinds = set(map(type, value))
    elif kind is dict:
        kinds = set(map(type, value.values()))
        kinds.update(map(type, value))
    else:
        return False
    if kinds <= _ATOMS:
        return True
    if depth <= 0:
        return False
    depth -= 1
    if kind is dict:
        return all(is_plain(k, depth) and is_plain(v, depth) for k, v in value.items())
    return all(is_plain(item, depth) for item in value)


def encode(value: Any, *, strict: bool = False) -> bytes:
    """Encode `value`; with `strict`, raise `Unencodable` where that would not be faithful."""
    if is_plain(value):
        return b"M" + marshal.dumps(value, 2)
    encoder = _Encoder(strict)
    tree = encoder.node(value, MAX_DEPTH)
    return (b"X" if encoder.complete else b"I") + marshal.dumps(tree, 2)


def node(value: Any, *, strict: bool = False) -> tuple[Any, ...]:
    """The tagged form of a value (see the module's docstring). Raises as `encode`."""
    return _Encoder(strict).node(value, MAX_DEPTH)


def observed(value: Any, *, spare: bool) -> tuple[Any, ...]:
    """As `node`, for whoever compares what calls did: an instance that can be called is told by its
    attributes like any other. `spare`: no iterator is used up, so that what the value does next is
    what it would have done; one that cannot be copied is cut."""
    encoder = _Encoder(False)
    encoder.watched, encoder.spare = True, spare
    return encoder.node(value, MAX_DEPTH)


def crosses(value: Any) -> bool:
    """Whether a value can be given to the sandbox as it is: an argument, or an expected output."""
    try:
        encode(value, strict=True)
    except (Unencodable, ValueError):  # or nested deeper than marshal goes
        return False
    return True


def is_complete(data: bytes) -> bool:
    """Whether an encoding says all about its value, so that equal ones mean equal values."""
    return data[:1] != b"I"


def digest(data: bytes) -> bytes:
    """An encoding that stands for one too large to be kept: equal for equal ones."""
    import hashlib

    text = f"<{len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}>"
    if not is_complete(data):
        return b"I" + marshal.dumps(("cut", TOO_LARGE, text), 2)
    return b"X" + marshal.dumps(("opaque", TOO_LARGE, text, []), 2)


class _Encoder:
    """One value on its way to nodes. `complete`: nothing of it was left out so far."""

    __slots__ = ("complete", "path", "spare", "strict", "watched")

    def __init__(self, strict: bool) -> None:
        self.strict = strict
        self.watched = self.spare = False
        self.complete = True
        self.path: dict[int, int] = {}  # instances that hold the one in hand, and how deep

    def node(self, value: Any, depth: int) -> tuple[Any, ...]:
        kind = type(value)
        if kind in _ATOMS:
            return ("v", value)
        if depth <= 0:
            return self.cut(kind, "...", "nested too deeply or cyclic")
        inner = depth - 1
        # bool cannot be subclassed; the conversions by base class cannot be overridden
        if issubclass(kind, int):
            return ("v", int.__index__(value))
        if issubclass(kind, float):
            return ("v", float.__float__(value))
        if issubclass(kind, complex):
            return ("v", complex(complex.real.__get__(value), complex.imag.__get__(value)))
        if issubclass(kind, str):
            return ("v", str.__getitem__(value, slice(None)))
        if issubclass(kind, bytes):
            return ("v", bytes.__getitem__(value, slice(None)))
        for base, tag in ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "f")):
            if issubclass(kind, base):
                items = base.__iter__(value)
                return (tag, [self.node(item, inner) for item in items])
        if issubclass(kind, dict):
            pairs = dict.items(value)
            return ("d", [(self.node(k, inner), self.node(v, inner)) for k, v in pairs])
        if kind is bytearray:
            return ("bytearray", bytes(value))
        if kind is range:
            return ("range", (value.start, value.stop, value.step))
        special = self.library_type(kind, value, inner)
        if special is not None:
            return special
        if self.strict:
            raise Unencodable(f"a value of type {kind.__name__} cannot cross into the sandbox")
        if issubclass(kind, _Record):
            return self.record(value, inner)
        if hasattr(kind, "__next__") and not hasattr(kind, "fileno"):  # a file shows its rest only
            if not self.spare:
                return self.iterator(kind, value, inner)
            copy = _copied(kind, value)
            if copy is not None:
                return self.iterator(kind, copy, inner)
        return self.instance(kind, value, inner)

    def cut(self, kind: type, text: str, reason: str) -> tuple[Any, ...]:
        """The place of something that is not encoded: it equals nothing."""
        if self.strict:
            raise Unencodable(reason)
        self.complete = False
        return ("cut", kind.__name__, text)

    def parts(self, kind: type, text: str, parts: Any, depth: int) -> tuple[Any, ...]:
        """A value that `parts`, pairs of a name and a value, say all about."""
        return ("opaque", kind.__name__, text, [(str(k), self.node(v, depth)) for k, v in parts])

    def library_type(self, kind: type, value: Any, depth: int) -> tuple[Any, ...] | None:
        """Types of modules that are imported only if the program imported them."""
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name in ("decimal.Decimal", "datetime.datetime", "datetime.date", "datetime.time"):
            return (kind.__name__, str(value) if kind.__name__ == "Decimal" else value.isoformat())
        if name == "fractions.Fraction":
            pair = (value.numerator, value.denominator)
            if max(pair[0].bit_length(), pair[1].bit_length()) <= MAX_FRACTION_BITS:
                return ("Fraction", pair)
            if not self.strict:
                return self.parts(kind, "<long>", [("n", pair[0]), ("d", pair[1])], depth)
        if name == "datetime.timedelta":
            return ("timedelta", (value.days, value.seconds, value.microseconds))
        if name == "collections.deque":
            return ("deque", ([self.node(item, depth) for item in value], value.maxlen))
        if name in ("collections.UserDict", "collections.UserList", "collections.UserString"):
            return self.node(value.data, depth)
        if name in ("builtins.dict_keys", "builtins.odict_keys"):
            return ("s", [self.node(item, depth) for item in value])
        numpy = sys.modules.get("numpy")
        if numpy is not None and issubclass(kind, numpy.ndarray):
            data = value.tolist()
            return ("ndarray", (self.node(data, depth), str(value.dtype), tuple(value.shape)))
        if numpy is not None and issubclass(kind, numpy.generic):
            return self.numpy_scalar(kind, value, depth)
        pandas = sys.modules.get("pandas")
        if pandas is not None and kind.__module__.partition(".")[0] == "pandas":
            return self.pandas_value(pandas, kind, value, depth)
        return None

    def pandas_value(
        self, pandas: Any, kind: type, value: Any, depth: int
    ) -> tuple[Any, ...] | None:
        """Frames, series and indices by labels, types and items; moments and what is missing by
        their text, which says all."""
        if kind.__name__ in ("Timestamp", "Timedelta", "Period", "Interval", "NaTType", "NAType"):
            return self.parts(kind, repr(value), (), depth)
        frame = issubclass(kind, pandas.DataFrame)
        if not frame and not issubclass(kind, (pandas.Series, pandas.Index)):
            return None
        if value.size > MAX_ITEMS:
            return self.cut(kind, f"<{kind.__name__} of {value.size} items>", "too many items")
        parts: list[tuple[str, Any]]  # by names that no attribute has: they are what is seen of it
        if frame:
            columns = [value.iloc[:, at] for at in range(value.shape[1])]
            parts = [("column labels", value.columns), ("row labels", value.index)]
            parts += [("column types", [str(one.dtype) for one in columns])]
            parts += [("all items", [list(one) for one in columns])]
        else:
            parts = [("its name", value.name), ("item type", str(value.dtype))]
            parts += [("all items", list(value))]
            if issubclass(kind, pandas.Series):
                parts.append(("row labels", value.index))
            elif value.nlevels > 1:
                parts.append(("level names", list(value.names)))
        return self.parts(kind, repr(value)[:MAX_REPR], parts, depth)

    def numpy_scalar(self, kind: type, value: Any, depth: int) -> tuple[Any, ...]:
        """The Python number; a text where Python has none that says the same."""
        plain = value.item()
        if hasattr(plain, "dtype"):  # long doubles stay what they are
            short = complex(value) if value.dtype.kind == "c" else float(value)
            if abs(short) != float("inf") or abs(value) == abs(value) * 2:
                return ("v", short)
            return self.parts(kind, repr(value), (), depth)
        if value.dtype.kind in "mM" and type(plain) in (int, type(None)):
            return self.parts(kind, f"{value.dtype} {value}", (), depth)  # a unit, or NaT
        return self.node(plain, depth)

    def record(self, value: Any, depth: int) -> tuple[Any, ...]:
        """What `decode` gave for an output, as it was."""
        if type(value) is NDArray:
            return ("ndarray", (self.node(value.data, depth), value.dtype, value.shape))
        if type(value) is Iterated:
            self.complete = self.complete and not value.more
            items = [self.node(item, depth) for item in value.items]
            return ("iter", value.type, items, value.more)
        if type(value) is Opaque:
            attributes = [(name, self.node(item, depth)) for name, item in value.attributes]
            return ("opaque", value.type, value.repr, attributes)
        self.complete = False
        return ("cut", value.type, value.repr)

    def iterator(self, kind: type, value: Any, depth: int) -> tuple[Any, ...]:
        items: list[Any] = []
        more = True
        for _ in range(MAX_ITEMS + 1):
            try:
                item = next(value)
            except StopIteration:
                more = False
                break
            items.append(self.node(item, depth))
        if more:
            self.complete = False
        return ("iter", kind.__name__, items[:MAX_ITEMS], more)

    def instance(self, kind: type, value: Any, depth: int) -> tuple[Any, ...]:
        """Anything else: type, repr and state; cut where not all of its state is seen."""
        try:
            text = str(repr(value))
        except Exception:
            text = ""
        if " at 0x" in text:  # the default repr names an address, which is no part of the value
            text = f"<{kind.__name__}>"
        told = _told_by_repr(kind, value)
        if told and 0 < len(text) <= MAX_REPR:
            return self.parts(kind, text, (), depth)
        text = text[:MAX_REPR]
        above = self.path.get(id(value))
        if above is not None:
            return self.parts(kind, f"<the {kind.__name__} {above - depth} above>", (), depth)
        try:
            state = None if told else _library_parts(kind, value)
            if state is None and not told and (self.watched or not callable(value)):
                state = _attributes(kind, value)
        except Exception:
            state = None
        if not state or len(state) > MAX_ATTRIBUTES:
            return self.cut(kind, text, "not all of its state can be seen")
        self.path[id(value)] = depth
        try:
            return self.parts(kind, text, state, depth)
        finally:
            del self.path[id(value)]


def _copied(kind: type, value: Any) -> Any:
    """A copy of an iterator over a container of Python's own; None of any other, whose copy may
    share what it draws from."""
    if kind not in _COPIED:
        return None
    made, arguments, *state = value.__reduce__()
    copy = made(*arguments)
    if state:
        copy.__setstate__(state[0])
    return copy


_HELD: tuple[Any, ...] = (
    [], (), "", "\xe9\u1234", b"", bytearray(), range(1), range(1 << 99), set(), {},
    {}.values(), {}.items(),
)  # fmt: skip
_COPIED = frozenset([type(reversed([])), *(type(iter(one)) for one in _HELD)])


def _told_by_repr(kind: type, value: Any) -> bool:
    """Whether a value of the standard library is told from others of its type by its repr.

    Classes and functions of the standard library are: their name is theirs alone. Those of the
    program are not: two of a name may do different things.
    """
    if kind.__module__.partition(".")[0] in ("pathlib", "ipaddress", "uuid", "zoneinfo"):
        return True
    if kind in (type(...), type(NotImplemented)):
        return True
    if isinstance(value, type) or kind is type(len):
        owner = getattr(value, "__module__", None)
        module = sys.modules.get(owner) if type(owner) is str else None
        known = owner in sys.stdlib_module_names
        return known and vars(module).get(value.__name__) is value
    return False


def _library_parts(kind: type, value: Any) -> list[tuple[str, Any]] | None:
    """What says all about a value of the standard library whose attributes do not."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    names = _PARTS.get(name)
    if names is not None:
        return [(part, getattr(value, part)) for part in names]
    if name == "re.Match":
        own = ("string", "pos", "endpos", "regs")
        return [("pattern", value.re), *((part, getattr(value, part)) for part in own)]
    if name == "array.array":
        return [("typecode", value.typecode), ("items", value.tolist())]
    if name == "builtins.memoryview":
        return [("format", value.format), ("shape", value.shape), ("bytes", value.tobytes())]
    if name in ("builtins.mappingproxy", "builtins.dict_items", "builtins.odict_items"):
        return [("items", dict(value))]
    if name in ("builtins.dict_values", "builtins.odict_values"):
        return [("items", list(value))]
    if name in ("_io.StringIO", "_io.BytesIO"):
        return [("content", value.getvalue()), ("position", value.tell())]
    if name == "datetime.timezone":
        return [("offset", value.utcoffset(None)), ("name", value.tzname(None))]
    enum = sys.modules.get("enum")
    if enum is not None and issubclass(kind, enum.Enum):
        return [("name", value._name_), ("value", value._value_)]
    return None


_PARTS = {"re.Pattern": ("pattern", "flags"), "builtins.slice": ("start", "stop", "step")}


def _attributes(kind: type, value: Any) -> list[tuple[str, Any]] | None:
    """Every attribute of an instance by name; None where it may hold more than they show."""
    found: list[tuple[str, Any]] = []
    exception = issubclass(kind, BaseException)
    pointer, size = struct.calcsize("P"), object.__basicsize__
    for base in kind.__mro__:
        if base in (object, BaseException) or not (exception or "__slots__" in vars(base)):
            continue
        for name, member in vars(base).items():
            if type(member) is _Member:
                size += pointer
                try:
                    found.append((name, member.__get__(value)))
                except AttributeError:  # never set
                    continue
    if kind.__dictoffset__:
        fields = _own_dictionary(kind, value)
        if type(fields) is not dict:
            return None
        found += fields.items()
        size += 0 if kind.__flags__ & _MANAGED_DICT else pointer
    size += pointer if kind.__weakrefoffset__ > 0 else 0
    if exception:
        found.append(("args", value.args))
    elif kind.__itemsize__ or kind.__basicsize__ > size:
        return None  # it is made in C, or of something that is
    return sorted(found, key=lambda pair: str(pair[0]))


def _own_dictionary(kind: type, value: Any) -> Any:
    """The instance's dictionary itself, whatever the class says it is; None where it hides it."""
    for base in reversed(kind.__mro__):
        slot: Any = vars(base).get("__dict__")
        if type(slot) is _GetSet or type(slot) is _Member:
            return slot.__get__(value)
    return None


_Member = type(_Encoder.__dict__["strict"])
_GetSet = type(vars(MalformedValue)["__weakref__"])
_MANAGED_DICT = 1 << 4  # Py_TPFLAGS_MANAGED_DICT: the dictionary lies in front of the object


# -- nodes (trusted side; also used on trusted data inside the sandbox) ----------------------------


def from_node(tree: Any, depth: int = MAX_DEPTH) -> Any:
    """Build the value of a node. Raises ValueError or TypeError on anything that is not one."""
    if depth < 0:
        raise MalformedValue("nested too deeply")
    if type(tree) is not tuple or not tree or type(tree[0]) is not str:
        raise MalformedValue("not a node")
    kind, inner = tree[0], depth - 1
    if kind == "opaque":
        _, name, text, attributes = tree
        pairs = tuple((printable(str(k)), from_node(v, inner)) for k, v in attributes)
        return Opaque(pairs, printable(str(text)), printable(str(name)))
    if kind == "cut":
        _, name, text = tree
        return Incomplete(printable(_exactly(text, str)), printable(_exactly(name, str)))
    if kind == "iter":
        _, name, items, more = tree
        return Iterated(tuple(from_node(i, inner) for i in items), bool(more), printable(str(name)))
    _, payload = tree
    if kind == "v":
        return payload
    if kind in ("l", "t", "s", "f"):
        items = [from_node(item, inner) for item in payload]
        return BUILDERS[_CODES[kind]](items)
    if kind == "d":
        return mapping_of([(from_node(k, inner), from_node(v, inner)) for k, v in payload])
    if kind == "bytearray":
        return bytearray(_exactly(payload, bytes))
    if kind == "range":
        return range(*(_exactly(part, int) for part in payload))
    return _from_library_node(kind, payload, inner)


def printable(text: str) -> str:
    """The text with what a terminal would obey (escape sequences, ...) written out; lines stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def _from_library_node(kind: str, payload: Any, depth: int) -> Any:
    if kind == "Decimal":
        from decimal import Decimal

        return Decimal(_exactly(payload, str))
    if kind == "Fraction":
        from fractions import Fraction

        parts = [_exactly(part, int) for part in payload]
        if max(part.bit_length() for part in parts) > MAX_FRACTION_BITS:
            raise MalformedValue("fraction too long")
        return Fraction(*parts)
    if kind in ("datetime", "date", "time", "timedelta"):
        import datetime

        if kind == "timedelta":
            return datetime.timedelta(*(_exactly(part, int) for part in payload))
        return getattr(datetime, kind).fromisoformat(_exactly(payload, str))
    if kind == "deque":
        from collections import deque

        items, maxlen = payload
        return deque([from_node(item, depth) for item in items], maxlen)
    if kind == "ndarray":
        data, dtype, shape = payload
        sizes = tuple(_exactly(n, int) for n in shape)
        return NDArray(from_node(data, depth), _exactly(dtype, str), sizes)
    raise MalformedValue(f"unknown kind {kind[:40]!r}")


def _exactly(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise MalformedValue(f"{kind.__name__} expected")
    return value


def _spread(items: list[Any]) -> list[Any]:
    """Refuse items made to share a hash: a set of 100,000 of those takes hours to build."""
    if len(items) > 100 and 8 * len(set(map(hash, items))) < len(items):
        raise MalformedValue("too many items with the same hash")
    return items


def mapping_of(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    _spread([key for key, _ in pairs])
    return dict(pairs)


def _set(items: list[Any]) -> set[Any]:
    return set(_spread(items))


def _frozenset(items: list[Any]) -> frozenset[Any]:
    return frozenset(_spread(items))


BUILDERS: dict[bytes, Any] = {b"[": list, b"(": tuple, b"<": _set, b">": _frozenset}
_CODES = {"l": b"[", "t": b"(", "s": b"<", "f": b">"}
