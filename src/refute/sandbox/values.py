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
the program that it runs in, never about another. `nodes.decode` reads bytes on the trusted side.
"""

from __future__ import annotations

import marshal
import sys
from typing import Any

from refute.sandbox.nodes import (
    BUILDERS,
    MAX_DEPTH,
    MAX_FRACTION_BITS,
    Incomplete,
    Iterated,
    MalformedValue,
    NDArray,
    Opaque,
    Record,
    Unencodable,
    from_node,
    mapping_of,
    printable,
)
from refute.sandbox.states import (
    attributes,
    base_of,
    defines,
    held,
    is_heap,
    library_parts,
    library_place,
    module_of,
    name_of,
    own_attributes,
    table_parts,
    told_by_repr,
)

__all__ = [
    "BUILDERS",
    "MAX_DEPTH",
    "Incomplete",
    "Iterated",
    "MalformedValue",
    "NDArray",
    "Opaque",
    "Unencodable",
    "encode",
    "from_node",
    "mapping_of",
    "printable",
]

MAX_ITEMS = 10_000
MAX_REPR = 2_000
MAX_ATTRIBUTES = 1_000
TOO_LARGE = "too large"
"""The type's name of what stands for an encoding that is not kept (`digest`)."""

_ATOMS = frozenset(map(id, (type(None), bool, int, float, complex, str, bytes)))
_SEQUENCES = frozenset(map(id, (list, tuple, set, frozenset)))
"""By identity: a class may call itself equal to another, with the same hash."""
_TAGGED = ((list, "l"), (tuple, "t"), (set, "s"), (frozenset, "f"))
_BUILTIN = (int, float, complex, str, bytes, list, tuple, set, frozenset, dict)


def is_plain(value: Any, depth: int = MAX_DEPTH) -> bool:
    """Return whether `value` consists only of the plain types, exactly, nested at most `depth`
    deep."""
    kind = type(value)
    if id(kind) in _ATOMS:
        return True
    if id(kind) in _SEQUENCES:
        kinds = set(map(id, map(type, value)))
    elif kind is dict:
        kinds = set(map(id, map(type, value.values())))
        kinds.update(map(id, map(type, value)))
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
    """Return whether a value can be given to the sandbox as it is: an argument, or an expected
    output."""
    try:
        encode(value, strict=True)
    except (Unencodable, ValueError):  # or nested deeper than marshal goes
        return False
    return True


def is_complete(data: bytes) -> bool:
    """Return whether an encoding says all about its value, so that equal ones mean equal values."""
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
        if id(kind) in _ATOMS:
            return ("v", value)
        if depth <= 0:
            return self.cut(kind, "...", "nested too deeply or cyclic")
        inner = depth - 1
        if self.watched and issubclass(kind, _BUILTIN):
            above = self.path.get(id(value))
            if above is not None:
                return self.parts(kind, f"<the {name_of(kind)} {above - inner} above>", (), depth)
            self.path[id(value)] = inner
            try:
                return self.with_attributes(kind, value, inner)
            finally:
                del self.path[id(value)]
        plain = self.builtin(kind, value, inner)
        if plain is not None:
            return plain
        special = self.library_type(kind, value, inner)
        if special is not None:
            return special
        if self.strict:
            raise Unencodable(f"a value of type {name_of(kind)} cannot cross into the sandbox")
        if issubclass(kind, Record):
            return self.record(value, inner)
        if defines(kind, "__next__") and not defines(kind, "fileno"):  # a file shows its rest only
            if not self.spare:
                return self.iterator(kind, value, inner)
            copy = _copied(kind, value)
            if copy is not None:
                return self.iterator(kind, copy, inner)
        return self.instance(kind, value, inner)

    def builtin(self, kind: type, value: Any, inner: int) -> tuple[Any, ...] | None:
        """A value of a builtin type or of a subclass, as the base has it; None of others."""
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
        for base, tag in _TAGGED:
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
        return None

    def with_attributes(self, kind: type, value: Any, depth: int) -> tuple[Any, ...]:
        """A value of a builtin type or of a subclass, with what an instance of that holds besides:
        the attributes of which all is seen. Members of enums are what they are by their value."""
        plain = self.builtin(kind, value, depth)
        assert plain is not None
        enum = sys.modules.get("enum")
        if not is_heap(kind) or library_place(kind) or (enum and issubclass(kind, enum.Enum)):
            return plain
        seen, whole = [], self.complete
        for name, item in own_attributes(kind, value)[:MAX_ATTRIBUTES]:
            self.complete = True
            found = self.node(item, depth)
            if self.complete:
                seen.append((str(name), found))
        self.complete = whole
        if not seen:
            return plain
        text = self.text(kind, value)[:MAX_REPR]
        return ("opaque", name_of(kind), text, [("all items", plain), *seen])

    def cut(self, kind: type, text: str, reason: str) -> tuple[Any, ...]:
        """The place of something that is not encoded: it equals nothing."""
        if self.strict:
            raise Unencodable(reason)
        self.complete = False
        return ("cut", name_of(kind), text)

    def parts(self, kind: type, text: str, parts: Any, depth: int) -> tuple[Any, ...]:
        """A value that `parts`, pairs of a name and a value, say all about."""
        return ("opaque", name_of(kind), text, [(str(k), self.node(v, depth)) for k, v in parts])

    def library_type(self, kind: type, value: Any, depth: int) -> tuple[Any, ...] | None:
        """Types of modules that are imported only if the program imported them."""
        name = library_place(kind)
        if name in ("decimal.Decimal", "datetime.datetime", "datetime.date", "datetime.time"):
            own = name.partition(".")[2]
            return (own, str(value) if own == "Decimal" else value.isoformat())
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
            base = base_of(kind, "numpy") or numpy.ndarray
            data, shape = base.tolist(value), numpy.ndarray.shape.__get__(value)
            dtype = str(numpy.ndarray.dtype.__get__(value))
            return ("ndarray", (self.node(data, depth), dtype, tuple(shape)))
        if numpy is not None and issubclass(kind, numpy.generic) and held(kind):
            return self.numpy_scalar(kind, value, depth)
        pandas = sys.modules.get("pandas")
        if pandas is not None and module_of(kind).partition(".")[0] == "pandas" and held(kind):
            return self.pandas_value(pandas, kind, value, depth)
        return None

    def pandas_value(
        self, pandas: Any, kind: type, value: Any, depth: int
    ) -> tuple[Any, ...] | None:
        """Frames, series and indices by labels, types and items; moments and what is missing by
        their text, which says all."""
        if name_of(kind) in ("Timestamp", "Timedelta", "Period", "Interval", "NaTType", "NAType"):
            return self.parts(kind, repr(value), (), depth)
        if not issubclass(kind, (pandas.DataFrame, pandas.Series, pandas.Index)):
            return None
        if value.size > MAX_ITEMS:
            return self.cut(kind, f"<{name_of(kind)} of {value.size} items>", "too many items")
        parts = table_parts(pandas, kind, value)
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
        """Encode a record again that `decode` returned for an output."""
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
        return ("iter", name_of(kind), items[:MAX_ITEMS], more)

    def instance(self, kind: type, value: Any, depth: int) -> tuple[Any, ...]:
        """Anything else: type, repr and state; cut where not all of its state is seen."""
        text = self.text(kind, value)
        told = told_by_repr(kind, value)
        if told and 0 < len(text) <= MAX_REPR:
            return self.parts(kind, text, (), depth)
        text = text[:MAX_REPR]
        above = self.path.get(id(value))
        if above is not None:
            return self.parts(kind, f"<the {name_of(kind)} {above - depth} above>", (), depth)
        try:
            state = None if told else library_parts(kind, value)
            if state is None and not told and (self.watched or not callable(value)):
                state = attributes(kind, value)
        except Exception:
            state = None
        if state is None or not (state or self.watched) or len(state) > MAX_ATTRIBUTES:
            return self.cut(kind, text, "not all of its state can be seen")
        self.path[id(value)] = depth
        try:
            return self.parts(kind, text, state, depth)
        finally:
            del self.path[id(value)]

    def text(self, kind: type, value: Any) -> str:
        """Its repr, or where that fails or names an address its type."""
        try:
            text = str(repr(value))
        except Exception:
            text = ""
        # the default repr names an address, which is no part of the value
        return f"<{name_of(kind)}>" if " at 0x" in text else text


def _copied(kind: type, value: Any) -> Any:
    """A copy of an iterator over a container of Python's own; None of any other, whose copy may
    share what it draws from."""
    if id(kind) not in _COPIED:
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
_COPIED = frozenset(map(id, (type(reversed([])), *(type(iter(one)) for one in _HELD))))
