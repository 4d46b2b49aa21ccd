"""Objects that lie about what they are: seen by their state all the same, as `refute diff` asks."""

from __future__ import annotations

import sys

import pytest

from refute.core.problems import Scenario
from refute.function.scenarios.observation import Observation, observe, same_value
from refute.sandbox import Program
from refute.sandbox.local import LocalSandbox

BODIES = {
    "eq": "__eq__ = lambda self, other: True\n__hash__ = None",
    "class": "__class__ = property(lambda self: int)",
    "getattribute": "__getattribute__ = lambda self, name: 0",
    "getattribute raises": "def __getattribute__(self, name): raise SystemExit",
    "dict": "__dict__ = property(lambda self: {})",
    "slot": "__slots__ = ('n',)",
    "property": "n = property(lambda self: 0, lambda self, n: self.__dict__.update(n=n))",
    "reduce": "__reduce__ = lambda self: (int, ())\n__reduce_ex__ = lambda self, p: (int, ())",
    "reduce acts": "def __reduce__(self): return __import__('os').system, ('touch flag',)",
    "copy": "__copy__ = __deepcopy__ = lambda self, memo=0: 0",
    "repr": "__repr__ = lambda self: 'Liar'",
    "len and bool": "__len__ = lambda self: 1 << 62\n__bool__ = lambda self: 1 / 0",
    "iterator": "__iter__ = lambda self: self\ndef __next__(self): raise StopIteration",
    "dataclass": "__dataclass_fields__ = {}\n__attrs_attrs__ = _fields = ()",
    "member of an enum": "name = _name_ = 'A'\nvalue = _value_ = 1",
}
NAMED = {
    "decimal.Decimal": "__str__ = lambda self: '0'",
    "datetime.datetime": "isoformat = lambda self: '2020-01-01T00:00:00'",
    "collections.deque": "maxlen = None\n__iter__ = lambda self: iter(())",
    "collections.UserDict": "data = 0",
    "io.StringIO": "getvalue = lambda self: ''\ntell = lambda self: 0",
    "numpy.ndarray": "tolist = lambda self: 0\ndtype = 'int'\nshape = ()",
}
METACLASSES = {
    "eq": "__eq__ = lambda cls, other: True\n__hash__ = type.__hash__",
    "hash": "__eq__ = lambda cls, other: other is int\n__hash__ = lambda cls: hash(int)",
    "getattribute": "def __getattribute__(cls, name):\n"
    "    fakes = {'__name__': 'int', '__mro__': (int, object), '__flags__': 0}\n"
    "    return fakes[name] if name in fakes else type.__getattribute__(cls, name)",
    "mro": "__mro__ = property(lambda cls: (object,))\nmro = lambda cls: [cls, object]",
    "instances": "__instancecheck__ = __subclasscheck__ = lambda cls, other: True",
}
BUILTIN = {
    "int": "__new__ = lambda cls, n: int.__new__(cls, 0)\ndef __init__(self, n): self.n = n",
    "int by items": "__new__ = lambda cls, n: int.__new__(cls, n)\n__index__ = lambda self: 0",
    "str": "__new__ = lambda cls, n: str.__new__(cls, 'a' * n)\n__str__ = lambda self: ''",
    "list": "def __init__(self, n): list.append(self, n)\n__iter__ = lambda self: iter(())",
    "list in itself": "def __init__(self, n): self += [self, n]; self.me = self",
    "tuple": "__new__ = lambda cls, n: tuple.__new__(cls, [n])\n__iter__ = lambda self: iter(())",
    "dict": "def __init__(self, n): self.n = n",
    "dict by items": "def __init__(self, n): dict.update(self, n=n)\nitems = lambda self: []",
    "Exception": "def __init__(self, n): self.n = n\nargs = ()\n__str__ = lambda self: ''",
}


def indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


def code() -> tuple[str, dict[str, str]]:
    """A module of all liars, and what each one's class is called."""
    init = "def __init__(self, n): object.__setattr__(self, 'n', n)\n"
    parts, names = [], {}

    def add(kind: str, base: str, body: str, end: str = "") -> None:
        names[kind] = f"Liar{len(names)}"
        parts.append(f"class {names[kind]}({base}):\n{indented(body)}{end.format(names[kind])}")

    for kind, body in BODIES.items():
        add(kind, "object", init + body)
    for kind, body in NAMED.items():
        module, _, own = kind.partition(".")
        said = f"{{0}}.__module__ = {module!r}\n{{0}}.__qualname__ = {{0}}.__name__ = {own!r}\n"
        add(f"called {kind}", "object", init + body, said)
    for at, (kind, body) in enumerate(METACLASSES.items()):
        parts.append(f"class Meta{at}(type):\n{indented(body)}")
        add(f"metaclass: {kind}", f"metaclass=Meta{at}", init)
    for kind, body in BUILTIN.items():
        add(f"subclass of {kind}", kind.partition(" ")[0], body)
    return "\n".join(parts), names


TEXT, NAMES = code()
SEEN_SINCE = {"dict": (3, 11)}
"""What only `object.__getstate__` shows."""


@pytest.fixture(scope="module")
def seen() -> dict[str, list[Observation]]:
    """What is seen of two liars of each kind that are alike, and of one that is not."""
    asked = [Scenario(f"{name}({n})") for name in NAMES.values() for n in (1, 1, 2)]
    with LocalSandbox() as box:
        found = observe(box, Program(TEXT, NAMES["eq"]), asked)
    return {name: found[3 * at : 3 * at + 3] for at, name in enumerate(NAMES)}


@pytest.mark.parametrize("kind", NAMES)
def test_a_liar_is_told_by_its_state(kind: str, seen: dict[str, list[Observation]]) -> None:
    if sys.version_info < SEEN_SINCE.get(kind, (3, 8)):
        pytest.skip("nothing shows its state")
    one, same, other = seen[kind]
    assert one.kind == "returned"
    assert one.comparable
    assert same_value(one.value, same.value)
    assert not same_value(one.value, other.value)


def test_a_change_of_what_says_that_it_is_an_int_is_seen() -> None:
    text = (
        "class Liar:\n    n = 0\n    __class__ = property(lambda self: int)\n"
        "    def put(self, n):\n        self.n = n\n"
    )
    with LocalSandbox() as box:
        [found] = observe(box, Program(text, "Liar"), [Scenario("it.put(3)", ("it = Liar()",))])
    [(name, before, after)] = found.changed
    assert name == "self"
    assert not same_value(before, after)
