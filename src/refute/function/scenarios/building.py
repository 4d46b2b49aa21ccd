"""Expressions for values of a type: literals, library objects, and instances of the package.

What an expression makes is only known once the sandbox has run it; what never works is dropped by
whoever asks (`proposing`). Deterministic; shortest and most ordinary values first.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from refute.core.combinators import in_turn
from refute.function.scenarios.described import (
    KEYWORD_ONLY,
    KEYWORDS,
    POSITIONAL_ONLY,
    VARIADIC,
    ClassInfo,
    Described,
    Parameter,
    Signature,
    TypeHint,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """An expression as a user would write it."""

    source: str
    imports: tuple[tuple[str, str], ...] = ()
    """(name, ``module:qualname`` or ``module``) of what it uses that the module does not define."""
    setup: tuple[str, ...] = ()
    """Statements that must run before it."""


def plain(*sources: str) -> tuple[Piece, ...]:
    """Pieces that need nothing."""
    return tuple(map(Piece, sources))


def joined(pieces: Iterable[Piece]) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the imports and statements that several pieces need together, each once."""
    imports: dict[tuple[str, str], None] = {}
    setup: dict[str, None] = {}
    for piece in pieces:
        imports |= dict.fromkeys(piece.imports)
        setup |= dict.fromkeys(piece.setup)
    return tuple(imports), tuple(setup)


class Namer:
    """Gives each thing that is imported a name of its own, the same each time."""

    def __init__(self, module: str, taken: Iterable[str]) -> None:
        """`module`: the one under test, whose own names need no import. `taken`: names that must
        go on meaning what they mean there."""
        self.module = module
        self._taken = set(taken) | set(dir(builtins)) | set(keyword.kwlist)
        self._names: dict[str, str] = {}

    def free(self, name: str) -> str:
        """A name for a variable, as close to this one as what is taken allows."""
        while name in self._taken:
            name += "_"
        return name

    def claim(self, imports: Iterable[tuple[str, str]]) -> bool:
        """Take names for what they mean elsewhere; False where one means something else here."""
        pairs = [(name, place) for name, place in imports]
        if any(name in self._taken and self._names.get(place) != name for name, place in pairs):
            return False
        self._taken |= {name for name, _ in pairs}
        self._names |= {place: name for name, place in pairs}
        return True

    def module_named(self, name: str) -> Piece:
        """The piece that stands for a module of the standard library, by its own name."""
        return Piece(name, ((name, name),))

    def name(self, place: str) -> Piece:
        """The piece that stands for ``module:qualname``."""
        module, _, qualname = place.partition(":")
        first, _, rest = qualname.partition(".")
        if module == self.module:
            return Piece(qualname)
        if module == "builtins":
            return Piece(qualname)
        root = f"{module}:{first}"
        if root not in self._names:
            name = first
            if name in self._taken:
                name = f"{module.rpartition('.')[2].strip('_') or 'other'}_{first}"
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            self._names[root] = name
        name = self._names[root]
        return Piece(f"{name}.{rest}" if rest else name, ((name, root),))


# -- ordinary values of the language's and the library's types -------------------------------------

LIBRARY: dict[str, tuple[str, ...]] = {
    "datetime:datetime": (
        "datetime.datetime(2024, 2, 29, 12, 30, 45)",
        "datetime.datetime(1999, 12, 31, 23, 59, 59, 999999)",
        "datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)",
    ),
    "datetime:date": ("datetime.date(2024, 2, 29)", "datetime.date(1999, 12, 31)"),
    "datetime:time": ("datetime.time(12, 30)", "datetime.time(0, 0, 1, 5)"),
    "datetime:timedelta": (
        "datetime.timedelta(days=1, seconds=30)", "datetime.timedelta(0)",
        "datetime.timedelta(hours=5, minutes=3)", "datetime.timedelta(days=-2)",
        "datetime.timedelta(days=400)", "datetime.timedelta(days=36525)",
        "datetime.timedelta(microseconds=1500)", "datetime.timedelta(days=45, minutes=1)",
        "datetime.timedelta(days=100000000)", "datetime.timedelta(seconds=59, milliseconds=999)",
    ),
    "datetime:tzinfo": ("datetime.timezone.utc",),
    "datetime:timezone": ("datetime.timezone.utc",),
    "decimal:Decimal": ('decimal.Decimal("1.25")', "decimal.Decimal(0)", 'decimal.Decimal("-3")'),
    "fractions:Fraction": ("fractions.Fraction(1, 3)", "fractions.Fraction(-5, 2)"),
    "pathlib:Path": ('pathlib.Path("a/b.txt")', 'pathlib.Path(".")', "pathlib.Path()"),
    "pathlib:PurePath": ('pathlib.PurePath("a/b.txt")',),
    "pathlib:PurePosixPath": ('pathlib.PurePosixPath("a/b.txt")',),
    "os:PathLike": ('pathlib.Path("a/b.txt")',),
    "uuid:UUID": ("uuid.UUID(int=5)",),
    "re:Pattern": ('re.compile("a+")', 're.compile(r"(\\w+) (\\d+)")', 're.compile("")'),
    "typing:Pattern": ('re.compile("a+")', 're.compile(r"(\\w+) (\\d+)")'),
    "re:Match": ('re.match("(a)(b)?", "abc")',),
    "io:StringIO": ('io.StringIO("one\\ntwo\\n")', "io.StringIO()"),
    "io:BytesIO": ('io.BytesIO(b"one\\ntwo\\n")', "io.BytesIO()"),
    "io:TextIOWrapper": ('io.StringIO("one\\ntwo\\n")',),
    "typing:TextIO": ('io.StringIO("one\\ntwo\\n")', "io.StringIO()"),
    "typing:IO": ('io.StringIO("one\\ntwo\\n")', 'io.BytesIO(b"one\\ntwo\\n")'),
    "typing:BinaryIO": ('io.BytesIO(b"one\\ntwo\\n")', "io.BytesIO()"),
    "collections:OrderedDict": ("collections.OrderedDict(a=1, b=2)", "collections.OrderedDict()"),
    "collections:defaultdict": ("collections.defaultdict(list)",),
    "collections:Counter": ('collections.Counter("abca")', "collections.Counter()"),
    "collections:deque": ("collections.deque([1, 2, 3])", "collections.deque()"),
    "types:SimpleNamespace": ("types.SimpleNamespace(a=1)",),
    "types:ModuleType": ("math",),
    "builtins:range": ("range(3)", "range(0)"),
    "builtins:bytearray": ('bytearray(b"abc")', "bytearray()"),
    "builtins:memoryview": ('memoryview(b"abc")',),
    "builtins:slice": ("slice(1, 3)", "slice(None)"),
    "builtins:object": ('"abc"', "1", "None", "[1]", "object()"),
    "builtins:type": ("int", "str", "dict"),
    "builtins:complex": ("1+2j", "0j"),
    "argparse:Namespace": ("argparse.Namespace(a=1)",),
    "argparse:ArgumentParser": ("argparse.ArgumentParser()",),
    "logging:Logger": ('logging.getLogger("a")',),
    "builtins:BaseException": ('ValueError("abc")', "KeyError(1)", "Exception()"),
    "numpy:ndarray": ("numpy.array([1, 2, 3])", "numpy.array([[1.5, 2], [3, 4]])"),
}  # fmt: skip
LISTS = frozenset(
    f"{home}:{name}"
    for home in ("builtins", "collections.abc", "typing")
    for name in (
        "list", "List", "Sequence", "MutableSequence", "Iterable", "Collection", "Container",
        "Sized", "Reversible",
    )
)  # fmt: skip
ITERATORS = frozenset({"collections.abc:Iterator", "collections.abc:Generator"})
SETS = frozenset(
    f"{home}:{name}"
    for home in ("builtins", "collections.abc", "typing")
    for name in ("set", "frozenset", "Set", "MutableSet")
)
MAPPINGS = frozenset(
    f"{home}:{name}"
    for home in ("builtins", "collections.abc", "typing")
    for name in ("dict", "Mapping", "MutableMapping", "Dict")
)
_PLAIN_TYPES = frozenset(f"builtins:{one}" for one in ("bytes", "str", "int", "float", "tuple"))


def library_places(name: str) -> list[str]:
    """The types of the language and the library that have a bare name: `bytes`, `timedelta`."""
    plain = (f"{home}:{name}" for home in ("builtins", "collections.abc"))
    known = [place for place in plain if place in LISTS | SETS | MAPPINGS | _PLAIN_TYPES]
    return known[:1] or [place for place in LIBRARY if place.partition(":")[2] == name]


# -- expressions for types -------------------------------------------------------------------------


DEEPEST = 3
MOST = 24
"""Expressions for one type."""

Constants = tuple[tuple[str, ...], tuple[str, ...]]
"""Sources of the numbers and of the texts that the code under test mentions."""

_ANY = plain(
    "1", '"abc"', "[1, 2, 3]", "None", "0", '""', "[]", '{"a": 1}', "2.5", "(1, 2)", "True",
    "1000000", "-3", '"12"', "12345.678", 'b"caf\\xc3\\xa9"',
)  # fmt: skip
_ITEMS = plain("1", '"abc"', "[1, 2, 3]", "0", '("a", "b")', '("ab", "")')
"""Of collections of which nobody says what is in them; pairs are often taken apart."""
_CALLABLES = plain("str", "len", "bool", "abs", "lambda *args: args[0] if args else None", "repr")
_FACTORY = ("from_", "parse", "create", "make", "of", "new", "build", "load")


class Builder:
    """Makes expressions for the types of one described module."""

    def __init__(
        self,
        described: Described,
        namer: Namer,
        constants: Constants = ((), ()),
        instances: Mapping[str, Sequence[Piece]] | None = None,
    ) -> None:
        """`instances`: how objects of a class were made elsewhere, by the class's id."""
        self.described = described
        self._given = {
            place: [one for one in pieces if namer.claim(one.imports)]
            for place, pieces in (instances or {}).items()
        }
        self.namer = namer
        self.constants = constants
        self._numbers, self._texts = constants
        self._known: dict[tuple[str, int], tuple[Piece, ...]] = {}

    def of_type(self, hint: TypeHint, depth: int = DEEPEST) -> tuple[Piece, ...]:
        """Up to `MOST` expressions for a type, the most ordinary first; () where none is known."""
        key = repr(hint), depth
        if key not in self._known:
            self._known[key] = ()  # a type that is made of itself: without that way
            distinct = {piece.source: piece for piece in self._of(hint, depth)}
            self._known[key] = tuple(islice(distinct.values(), MOST))
        return self._known[key]

    def _of(self, hint: TypeHint, depth: int) -> Iterable[Piece]:
        match hint:
            case ("none",):
                return plain("None")
            case ("literal", values):
                return plain(*map(repr, values))
            case ("union", kinds):
                return in_turn([self.of_type(tuple(kind), depth) for kind in kinds])
            case ("callable",):
                return _CALLABLES
            case ("type", inner):
                return self._classes(tuple(inner))
            case ("keys", fields):
                return self._record(fields, depth)
            case ("class", place, arguments):
                return self._of_class(str(place), [tuple(one) for one in arguments], depth)
            case ("unknown", text):
                return self._by_name(str(text), depth)
        return self._any()

    def _any(self) -> tuple[Piece, ...]:
        """For what may be of any type: ordinary values, and soon what the code mentions."""
        mentioned = plain(*self._texts[:4], *self._numbers[:2])
        return (*_ANY[:2], *mentioned, *_ANY[2:])

    def _of_class(self, place: str, arguments: list[TypeHint], depth: int) -> Iterable[Piece]:
        simple = self._simple(place)
        if simple is not None:
            return simple
        if place in LIBRARY:
            return self._library(place)
        if place in ("collections.abc:Callable", "builtins:function", "types:FunctionType"):
            return _CALLABLES
        if depth <= 0:
            return ()
        inner = [one for one in arguments if one != ("many",)]
        element = self.of_type(inner[0], depth - 1) if inner else _ITEMS
        if place in ("builtins:tuple", "typing:Tuple"):
            if inner and ("many",) not in arguments:
                return self._tuples([self.of_type(one, depth - 1) for one in inner])
            return _collected("({},)", "()", element)
        if place in LISTS:
            return _collected("[{}]", "[]", element)
        if place in ITERATORS:
            return _collected("iter([{}])", "iter([])", element)
        if place in SETS:
            name = "frozenset" if place.endswith(":frozenset") else "set"
            return _collected(f"{name}([{{}}])", f"{name}()", element)
        if place in MAPPINGS:
            keys = self.of_type(inner[0], depth - 1) if inner else plain('"a"', '"b"')
            values = self.of_type(inner[1], depth - 1) if len(inner) > 1 else _ANY[:3]
            return _mappings(keys, values)
        info = self.described.classes.get(place)
        if info is None:
            return ()
        return self.instances(info, depth)

    def _simple(self, place: str) -> tuple[Piece, ...] | None:
        if place == "builtins:int":
            return plain(
                "1", "0", "2", "-1", "3", "10", *self._numbers[:10], "100", "-7", "255", "1000000",
                "1000000000000000000",
            )  # fmt: skip
        if place in ("builtins:float", "numbers:Number", "numbers:Real"):
            return plain(
                "1.5", "0.0", "-2.5", "3.0", *self._numbers[:6], "0.001", "1000000.0", "0.999",
                "1e21", 'float("inf")', 'float("nan")', 'float("-inf")',
            )  # fmt: skip
        if place == "builtins:bool":
            return plain("True", "False")
        if place in ("builtins:str", "typing:Text"):
            return plain(
                '"abc"', '"a"', '""', *self._texts[:10], '"Hello World"', '"12"', '"one\\ntwo\\n"',
                '"see https://example.com/a?b=1 or me@example.com"', '"2024-02-29T12:30:45Z"',
                '"caf\u00e9 \u0414\u043e"', '" a-b_c.d/e, "', *self._texts[10:20],
            )  # fmt: skip
        if place == "builtins:bytes":
            return plain('b"abc"', 'b""', 'b"a b"', 'b"caf\\xe9 \\xff"')
        if place == "builtins:NoneType":
            return plain("None")
        return None

    def _library(self, place: str) -> tuple[Piece, ...]:
        pieces = []
        for source in LIBRARY[place]:
            root = source.partition(".")[0]
            needs = root.isidentifier() and ("." in source or root == "math")
            piece = self.namer.module_named(root) if needs else None
            pieces.append(Piece(source, piece.imports if piece else ()))
        return tuple(pieces)

    def _tuples(self, places: list[tuple[Piece, ...]]) -> Iterator[Piece]:
        if not all(places):
            return
        for index in range(max(map(len, places))):
            row = [pieces[index % len(pieces)] for pieces in places]
            imports, setup = joined(row)
            inner = ", ".join(piece.source for piece in row)
            yield Piece(f"({inner},)" if len(row) == 1 else f"({inner})", imports, setup)

    def _record(self, fields: dict[str, TypeHint], depth: int) -> Iterator[Piece]:
        columns = [(key, self.of_type(tuple(hint), depth - 1)) for key, hint in fields.items()]
        if depth <= 0 or not all(pieces for _, pieces in columns):
            return
        for index in range(3):
            row = [(key, pieces[index % len(pieces)]) for key, pieces in columns]
            imports, setup = joined(piece for _, piece in row)
            inner = ", ".join(f"{key!r}: {piece.source}" for key, piece in row)
            yield Piece(f"{{{inner}}}", imports, setup)

    def _classes(self, hint: TypeHint) -> Iterable[Piece]:
        match hint:
            case ("class", place, _) if place in self.described.classes:
                info = self.described.classes[place]
                return [self.namer.name(one) for one in (place, *info.subclasses[:4])]
            case ("class", place, _):
                return [self.namer.name(str(place))]
        return plain("int", "str", "dict")

    def named(self, text: str) -> tuple[str, ...]:
        """The classes that an annotation may mean that names nothing at run time."""
        return self.described.places.get(text.partition("[")[0].rpartition(".")[2], ())

    def _by_name(self, text: str, depth: int) -> Iterable[Piece]:
        places = self.named(text)
        if not places:
            return _ANY  # an alias, for the type checker alone
        return in_turn([self.of_type(("class", place, []), depth) for place in places])

    # -- instances of the package's classes --------------------------------------------------------

    def instances(self, info: ClassInfo, depth: int = DEEPEST) -> Iterable[Piece]:
        """Ways to an instance: members, factories, the constructor, subclasses."""
        if info.members:
            name = self.namer.name(info.id)
            return [Piece(f"{name.source}.{one}", name.imports) for one in info.members]
        if depth <= 0:
            return ()
        ways: list[Iterable[Piece]] = [self._given.get(info.id, ())]
        if not info.abstract and not info.protocol and info.make is not None:
            ways.append(self.calls(self.namer.name(info.id), info.make, depth, 6))
        for label, method in info.methods.items():
            if method.kind in ("class", "static") and self._gives(method, info, label):
                whole = self.namer.name(f"{info.id}.{label}")
                ways.append(self.calls(whole, method, depth, 3))
        below = [
            self.described.classes[one]
            for one in info.subclasses[:6]
            if one in self.described.classes
        ]
        if info.abstract or info.protocol or info.make is None or info.make.parameters is None:
            ways += [self.instances(one, depth - 1) for one in below]
        if info.protocol:
            ways += [self.instances(one, depth - 1) for one in self.having(info.attributes)[:3]]
        return in_turn(ways)

    def _gives(self, method: Signature, info: ClassInfo, name: str) -> bool:
        """Return whether a class's own function seems to return its instances."""
        match method.returns:
            case ("unknown", text):
                return str(text).rpartition(".")[2] in ("Self", info.id.rpartition(":")[2])
            case ("class", place, _):
                return bool(place == info.id)
            case ("any",):
                return method.kind == "class" and name.startswith(_FACTORY)
        return False

    def having(self, attributes: Iterable[str]) -> list[ClassInfo]:
        """The classes that have all of some attributes, as far as classes show them."""
        wanted = {one for one in attributes if not one.startswith("__")}
        if not wanted:
            return []
        found = [
            one
            for one in self.described.classes.values()
            if wanted <= one.attributes and not one.protocol and not one.exception
        ]
        return sorted(found, key=lambda one: (one.abstract, len(one.attributes), one.id))

    def calls(self, name: Piece, signature: Signature, depth: int, most: int) -> Iterator[Piece]:
        """Calls of something: with what is required, then with one option each, then with all."""
        if signature.parameters is None:
            yield Piece(f"{name.source}()", name.imports)
            return
        required = signature.required
        columns = {one.name: self.of_type(one.type, depth - 1) for one in signature.parameters}
        if not all(columns[one.name] for one in required):
            return
        options = [
            one
            for one in signature.parameters
            if one.optional and columns[one.name] and one.kind not in (VARIADIC, KEYWORDS)
        ]
        variadic = [
            one for one in signature.parameters if one.kind == VARIADIC and columns[one.name]
        ]
        for index in range(most):
            row = [(one, _at(columns[one.name], index)) for one in required]
            if index and options:
                option = options[(index - 1) % len(options)]
                row.append((option, _other(columns[option.name], option, index)))
            if variadic and index % 2:
                row.append((variadic[0], _at(columns[variadic[0].name], index)))
            yield call_of(name, row, signature)


def call_of(name: Piece, row: Sequence[tuple[Parameter, Piece]], signature: Signature) -> Piece:
    """The call with these arguments, by keyword where positions do not reach."""
    imports, setup = joined([name, *(piece for _, piece in row)])
    given = {one.name: piece.source for one, piece in row}
    parts: list[str] = []
    gap = False
    for one in signature.parameters or ():
        if one.name not in given:
            gap = gap or one.kind != KEYWORD_ONLY
        elif one.kind == VARIADIC:
            parts += [] if gap else [given[one.name]]
            gap = True
        elif one.kind == KEYWORDS:
            continue
        elif one.kind == KEYWORD_ONLY or (gap and one.kind != POSITIONAL_ONLY):
            parts.append(f"{one.name}={given[one.name]}")
        elif not gap:
            parts.append(given[one.name])
    return Piece(f"{name.source}({', '.join(parts)})", imports, setup)


def _at(pieces: Sequence[Piece], index: int) -> Piece:
    return pieces[index % len(pieces)]


def _other(pieces: Sequence[Piece], option: Parameter, index: int) -> Piece:
    """A value that is not the option's default."""
    differing = [one for one in pieces if one.source not in (repr(option.default), "None")]
    return _at(differing or pieces, index)


def _collected(pattern: str, empty: str, element: Sequence[Piece]) -> Iterator[Piece]:
    """A collection of one, of none, of a few, of equal ones."""
    if not element:
        return
    rows = [element[:1], (), element[:2], element[1:4], (*element[:1], *element[:2]), element[4:6]]
    for row in rows:
        imports, setup = joined(row)
        inner = ", ".join(piece.source for piece in row)
        yield Piece(pattern.format(inner) if row else empty, imports, setup)


def _mappings(keys: Sequence[Piece], values: Sequence[Piece]) -> Iterator[Piece]:
    if not keys or not values:
        return
    for size in (1, 0, 2, 3):
        pairs = list(zip(keys[:size], chain(values, values, values), strict=False))
        imports, setup = joined(piece for pair in pairs for piece in pair)
        inner = ", ".join(f"{key.source}: {value.source}" for key, value in pairs)
        yield Piece(f"{{{inner}}}", imports, setup)
