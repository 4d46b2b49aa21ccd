"""Pieces of source for scenarios: expressions together with the names that they need."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable
from dataclasses import dataclass


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
