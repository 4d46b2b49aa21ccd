"""Types of the language and its library, by their ids, and ordinary values of them as source."""

from __future__ import annotations

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
