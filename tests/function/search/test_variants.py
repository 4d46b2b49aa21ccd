"""Candidates as variants of a loaded module do what the edited module does."""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Sequence

import pytest

from refute.core.problems import Call, UnitTest
from refute.function.search.mutants import singles
from refute.function.search.trial import Trial
from refute.function.search.variants import compiled
from refute.sandbox import Outcome
from refute.sandbox.local import LocalSandbox

MODULE = '''
"""Doc."""
from __future__ import annotations
import functools, contextlib

LIMIT = 3
TABLE = {"twice": None}

def noted(f):
    TABLE[f.__name__] = f
    @functools.wraps(f)
    def inner(*a):
        return f(*a)
    return inner

@noted
def twice(x, by=2):
    """Doc."""
    return x * by

@functools.lru_cache(None)
def cached(x):
    return twice(x) + 1

class Base:
    def go(self, x):
        return x + 1

class Shape(Base):
    __size = 4
    @property
    def size(self):
        return self.__size + LIMIT
    @staticmethod
    def plain(x):
        return x - 1
    @classmethod
    def made(cls, x):
        return cls().go(x)
    def go(self, x):
        return super().go(x) + self.size

if LIMIT > 2:
    def chosen(x):
        return x + 10
else:
    def chosen(x):
        return x - 10

def at_import(x):
    return x + 5
START = at_import(1)

@contextlib.contextmanager
def inside(x):
    yield x * 3

def key(x, by=lambda v: v + 1):
    return by(x)

def f(x):
    total = 0
    for name in TABLE:
        total += TABLE[name](x) if TABLE[name] else 0
    with inside(x) as y:
        total += y
    total += cached(x) + Shape.made(x) + Shape.plain(x) + chosen(x) + at_import(x) + key(x)
    return total + START
'''


def trial(code: str, box: LocalSandbox, most: int | None = 10_000) -> Trial:
    tests = (UnitTest(Call(args=(1,)), 0), UnitTest(Call(args=(7,)), 0))
    return Trial(code, "f", tests, box, time.monotonic() + 100, most)


def ended(outcomes: Sequence[Outcome]) -> list[Outcome | str]:
    """How an endless recursion ends depends on what fuel the import left."""
    words = ("StopIteration", "RecursionError")
    return ["endless" if any(word in repr(o) for word in words) else o for o in outcomes]


def test_every_edit_of_a_module_with_everything(box: LocalSandbox) -> None:
    one = trial(MODULE, box)
    one.survey()
    edits = [(edit,) for edit in singles(one.focus, one.facts(""), lambda stmts: 0.0)][:700]
    pairs = [((first[0], second[0])) for first, second in zip(edits, edits[150:], strict=False)]
    pairs = [(a, b) for a, b in pairs if {id(s) for s in a.stmts}.isdisjoint(map(id, b.stmts))]
    candidates = [*edits, *pairs[:60]]
    programs = [one.program(candidate) for candidate in candidates]
    as_variants = [p for p in programs if p is not None and p.setup is not None]
    assert len(as_variants) > 400
    assert any(p.setup is None for p in programs if p is not None)
    fast = {id(r.edits): ended(r.outcomes) for r in one.run((c, 0.0) for c in candidates)}
    one._variants = None
    assert all(p.setup is None for e in edits[:50] if (p := one.program(e)) is not None)
    slow = {id(r.edits): ended(r.outcomes) for r in one.run((c, 0.0) for c in candidates)}
    assert fast == slow
    assert len({repr(row) for row in fast.values()}) > 50


STATE = [
    "CACHE = {}\ndef f(x):\n    CACHE[x] = 1\n    return len(CACHE)",
    "N = 0\ndef f(x):\n    global N\n    N += 1\n    return N",
    "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)",
    "class C:\n    n = 0\n    def go(self):\n        C.n += 1\n        return C.n\n"
    "def f(x): return C().go()",
    "class C:\n    def __init__(self): self.n = 0\n    def go(self):\n        self.n += 1\n"
    "        return self.n\nONE = C()\ndef f(x): return ONE.go()",
    "def memo(g):\n    kept = {}\n    def inner(x):\n        if x not in kept:\n"
    "            kept[x] = g(x)\n        return len(kept)\n    return inner\n"
    "@memo\ndef f(x): return x",
    "def g():\n    setattr(g, 'n', 1)\ndef f(x):\n    return g()",
]
NO_STATE = [
    "TABLE = {1: 2}\nimport re\nWORD = re.compile('a')\n"
    "def f(x):\n    out = []\n    out.append(TABLE.get(x))\n    return WORD.match('a') and out",
    "import functools\n@functools.lru_cache\ndef g(x): return x\ndef f(x): return g(x)",
    "class C:\n    def __init__(self): self.items = []\n    def add(self, x):\n"
    "        self.items.append(x)\n        self.last = x\ndef f(x):\n    c = C()\n    c.add(x)\n"
    "    return c.items",
]


@pytest.mark.parametrize("code", STATE)
def test_a_module_that_keeps_state_is_loaded_anew(code: str, box: LocalSandbox) -> None:
    one = trial(code, box)
    one.survey()
    program = one.program(())
    assert program.setup is None


@pytest.mark.parametrize("code", NO_STATE)
def test_a_module_that_keeps_none_is_loaded_once(code: str, box: LocalSandbox) -> None:
    one = trial(code, box)
    one.survey()
    program = one.program(())
    assert program.setup is not None


def test_what_would_break_the_compiler_is_not_given_to_it() -> None:
    tree = ast.parse("def f(xs):\n    return [y for x in xs if (y := x)]\n")
    assert compiled(tree, walrus=True) is not None
    for target in (ast.Name("y", ast.Load()), ast.Constant(1)):
        [walrus] = [node for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)]
        walrus.target = ast.copy_location(target, walrus)  # type: ignore[assignment]
        assert compiled(tree, walrus=True) is None


def test_a_node_inside_of_itself_is_no_program() -> None:
    """Two edits made it so; a walk through it never ends."""
    call = ast.parse("f(x)", mode="eval").body
    assert isinstance(call, ast.Call)
    call.args = [call]
    assert compiled(ast.Module([ast.Expr(call)], []), walrus=True) is None


CODE = "def f(x, y):\n    return [x + y * 2 for x in range(y) if x > 3 and y]"


class _Gone:
    """A sandbox whose every run fails."""

    takes_code = True

    def run_variants(self, *_: object) -> None:
        """See `Sandbox.run_variants`."""
        raise OSError("gone")


def test_what_the_sandbox_raises_is_raised() -> None:
    one = Trial(CODE, "f", (UnitTest(Call(args=(1, 2)), 3),), _Gone(), 0.0, 10_000)  # type: ignore[arg-type]
    edits = singles(one.focus, one.facts(""), lambda stmts: 0.0)
    before = set(threading.enumerate())
    with pytest.raises(OSError, match="gone"):
        list(one.run(((edit,), edit.weight) for edit in edits[:400]))
    assert set(threading.enumerate()) <= before, "no thread of the search is left"
