"""Outputs of any type: compared as a whole, or marked as not encoded as a whole and equal to none."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from refute.core.problems import Call
from refute.sandbox import Limits, Program, Returned
from refute.sandbox.equality import Expected, equal, matches
from refute.sandbox.local import LocalSandbox
from refute.sandbox.nodes import decode
from refute.sandbox.values import digest, encode

CLASSES = """
import array, collections, dataclasses, enum, functools, itertools, re, types
class Slots:
    __slots__ = ('a', '__b')
    def __init__(self, a, b): self.a = a; self.__b = b
class Below(Slots):
    __slots__ = ('c',)
class Adder:
    def __init__(self, n): self.n = n
    def __call__(self, x): return x + self.n
class Shown:
    def __init__(self, a): self.a = a
    def __repr__(self): return 'always the same'
@dataclasses.dataclass(slots=True)
class Data:
    a: int
    rest: object = None
class Kind(enum.Enum):
    A = 1
    B = 2
class Node:
    def __init__(self, value, nexts): self.value = value; self.nexts = nexts
def ring(*values):
    nodes = [Node(v, None) for v in values]
    for one, other in zip(nodes, nodes[1:] + nodes[:1]): one.nexts = other; other.previous = one
    return nodes[0]
def many(last):
    made = Shown(1)
    for i in range(150): setattr(made, f'x{i}', i)
    made.last = last
    return made
"""

WHOLE = {  # (right, wrong): told apart, and the right one equals itself
    "slots": ("Slots(1, 2)", "Slots(1, 3)"),
    "a repr that lies": ("Shown(1)", "Shown(2)"),
    "enum": ("Kind.A", "Kind.B"),
    "ring": ("ring(1, 2, 3)", "ring(1, 2, 4)"),
    "array": ("array.array('i', range(3000))", "array.array('i', [*range(2999), 7])"),
    "pattern": ("re.compile('a' * 300 + 'b')", "re.compile('a' * 300 + 'c')"),
    "values": ("{1: 2, 2: 3}.values()", "[2, 3]"),
    "function of the library": ("len", "abs"),
    "generator": ("(i for i in range(10000))", "(i for i in range(9999))"),
    "exception": ("ValueError('a')", "ValueError('b')"),
    "not a number in an instance": ("Data(1, float('nan'))", "Data(2, float('nan'))"),
    "long fraction": ("__import__('fractions').Fraction(3**20000, 2**9)", "__import__('fractions').Fraction(3**20000, 2**8)"),
    "nothing": ("None", "..."),
    "more than is kept": ("'a' * (3 << 20)", "'a' * (3 << 20) + 'b'"),
}  # fmt: skip
CUT = {  # (right, wrong): nobody can tell, so they equal nothing
    "closure": ("(lambda n: lambda x: x + n)(1)", "(lambda n: lambda x: x + n)(2)"),
    "own class": ("type('A', (), {'x': 1})", "type('A', (), {'x': 2})"),
    "no attributes": ("object()", "object()"),
    "state in C": ("__import__('random').Random(1)", "__import__('random').Random(2)"),
    "file": ("open('/dev/null')", "open('/dev/null', 'rb')"),
    "more than 1,000 attributes": ("(lambda o: o.__dict__.update((f'x{i}', i) for i in range(1500)) or o)(Shown(1))", "Shown(2)"),
    "10,001 items": ("(i for i in range(10001))", "(i for i in range(10002))"),
    "long chain": ("functools.reduce(lambda a, _: Node(1, a), range(300), 1)", "functools.reduce(lambda a, _: Node(1, a), range(300), 2)"),
    "in an attribute": ("Data(1, lambda: 1)", "Data(1, lambda: 2)"),
    "module": ("types.ModuleType('a')", "types.ModuleType('a')"),
}  # fmt: skip


def outputs(box: LocalSandbox, *expressions: str) -> list[Returned]:
    """What each expression is, each in a process of its own."""
    found = []
    for source in expressions:
        code = f"{CLASSES}\ndef f():\n    return {source}\n"
        (outcome,) = box.run(Program(code, "f"), [Call()], Limits(cpu=2.0, output=1 << 20))
        assert isinstance(outcome, Returned), outcome
        found.append(outcome)
    return found


@pytest.mark.parametrize("name", WHOLE)
def test_compared_as_a_whole(box: LocalSandbox, name: str) -> None:
    right, wrong = WHOLE[name]
    first, again, other = outputs(box, right, right, wrong)
    assert first.complete
    assert first == again
    expected = Expected(first.data)
    assert matches(again, expected)
    assert not matches(other, expected)
    assert not matches(first, Expected(other.data))
    assert equal(decode(again.data), decode(first.data))


@pytest.mark.parametrize("name", CUT)
def test_not_encoded_as_a_whole_equals_nothing(box: LocalSandbox, name: str) -> None:
    right, wrong = CUT[name]
    first, again, other = outputs(box, right, right, wrong)
    assert not first.complete
    assert first != again
    for out in (first, again, other):
        assert not matches(out, Expected(first.data))
        assert not Expected(first.data).comparable
    value = decode(first.data)
    assert not equal(value, value)
    assert not equal([value], [value])


def test_numbers_of_numpy_that_python_has_not(box: LocalSandbox) -> None:
    pytest.importorskip("numpy")
    pairs = [
        ("np.longdouble(1.5)", "np.longdouble(2.5)"),
        ("np.array([1, 2], np.longdouble)", "np.array([1, 3], np.longdouble)"),
        ("np.longdouble(2) ** 3000", "np.longdouble(2) ** 3001"),
        ("np.clongdouble(1j)", "np.clongdouble(2j)"),
        ("np.datetime64(5, 'ns')", "np.datetime64(5, 'ps')"),
        ("np.datetime64('NaT')", "None"),
    ]
    for right, wrong in pairs:
        sources = [
            f"__import__('numpy') and (lambda np: {one})(__import__('numpy'))"
            for one in (right, right, wrong)
        ]
        first, again, other = outputs(box, *sources)
        assert matches(again, Expected(first.data)), right
        assert not matches(other, Expected(first.data)), wrong


def test_one_that_is_not_kept_equals_the_one_that_is() -> None:
    large = encode(["a" * 1000])
    assert matches(Returned(digest(large)), Expected(large))
    assert matches(Returned(large), Expected(digest(large)))
    assert not matches(Returned(digest(large)), Expected(encode(["b" * 1000])))
    assert not matches(Returned(encode(["b" * 1000])), Expected(digest(large)))


def test_a_checker_that_looks_at_no_output_needs_none(box: LocalSandbox) -> None:
    found, none = outputs(box, "lambda: 1", "None")
    expected = Expected(found.data, checker="not_none")
    assert expected.comparable
    assert matches(outputs(box, "lambda: 2")[0], expected)
    assert not matches(none, expected)
