"""The pytest files that hunt writes: golden text, and they really fail and pass."""

from __future__ import annotations

import ast
import doctest
import math
import re
import subprocess
import sys
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, DoctestSession, Expression, Trust, UnitTest, Want
from refute.function.contract import FailingTest, Finding
from refute.function.target import open_target
from refute.function.testfile import render
from refute.sandbox import Killed, Outcome, Raised, Returned, TimedOut
from refute.sandbox.values import Incomplete, Iterated, NDArray, encode

CODE = """\
class Bad(Exception):
    pass


def f(*args, **kwargs):
    return WRONG
"""


def failing(call: Any, expected: Any = None, actual: Outcome | None = None, **more: Any) -> Any:
    test = UnitTest(call, expected, source=more.pop("source", "description line 3"), **more)
    return FailingTest(test, actual or Returned(encode(None)))


def page(tmp_path: Path, *tests: Any, code: str = CODE, findings: Any = ()) -> str:
    (tmp_path / "lib").mkdir(exist_ok=True)
    (tmp_path / "lib" / "mod.py").write_text(code)
    module = open_target(f"{tmp_path / 'lib' / 'mod.py'}::f")
    return render(module, [("f", tests, findings)], path=tmp_path / "test_mod.py")


def test_a_method_is_called_on_its_class(tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_text("class Cart:\n    @staticmethod\n    def of(n): return n\n")
    module = open_target(f"{tmp_path / 'mod.py'}::Cart.of")
    session = UnitTest(DoctestSession(("cart = Cart()\n", "cart.of(2)\n")), Want("3\n"))
    tests = [failing(Call((1,)), 2), FailingTest(session, Returned(encode(("2\n", None, False))))]
    text = render(module, [("Cart.of", tests, ())], path=tmp_path / "test_mod.py")
    assert "\nCart = _module.Cart\n" in text
    assert "def test_Cart_of_1() -> None:" in text
    assert "    assert Cart.of(1) == 2\n" in text
    assert "    cart = Cart()\n    assert cart.of(2) == 3\n" in text


def test_golden_file(tmp_path: Path) -> None:
    text = page(
        tmp_path,
        failing(Call((1, "a"), {"k": [2]}), 3),
        failing(Call((0,)), raises="ValueError", actual=Returned(encode(1.5))),
        failing(
            Call((2,)), 0.1, TimedOut(), trust=Trust.PREDICTED, confidence=0.876, source="search"
        ),
        failing(Expression("f(f(1))"), True, Raised("Bad", "no\nway")),
        findings=[Finding(Call(([],)), "crash", Raised("IndexError", "x"), "raises IndexError")],
    )
    assert (
        text
        == '''\
"""Unit tests that mod.py fails (f), found by refute."""

import contextlib
import importlib.util
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

_path = Path(__file__).resolve().parent / "lib/mod.py"
_spec = importlib.util.spec_from_file_location("refuted_mod", _path)
assert _spec is not None and _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
sys.modules["refuted_mod"] = _module  # dataclasses and pickle look the module up there
_spec.loader.exec_module(_module)
f = _module.f


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Fail instead of hanging (where the platform has interval timers)."""

    def stop(*_: object) -> None:
        pytest.fail(f"not done after {seconds} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_f_1() -> None:
    # from description line 3
    # now: None
    assert f(1, "a", k=[2]) == 3


def test_f_2() -> None:
    # from description line 3
    # now: 1.5
    with pytest.raises(ValueError):
        f(0)


def test_f_3() -> None:
    # predicted (search), confidence 0.88
    # now: does not end
    with _within(5.0):
        assert f(2) == pytest.approx(0.1, rel=1e-7, abs=1e-6)


def test_f_4() -> None:
    # from description line 3
    # now: raises Bad: no way
    assert f(f(1)) is True


def test_f_5() -> None:
    # no oracle: only that the call ends without this
    # now: raises IndexError: x
    f([])
'''
    )


def run_pytest(path: Path) -> dict[str, int]:
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", path.name]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1].replace(",", "").split()
    pairs = pairwise(last)
    return {word: int(n) for n, word in pairs if n.isdigit()} or {done.stdout: 0}


VALUES: list[Any] = [
    None,
    True,
    7,
    0.1 + 0.2,
    math.inf,
    math.nan,
    [0.5, math.nan],
    [[math.nan], 1],
    (1,),
    {1, "a"},
    frozenset({2}),
    b"\x00\xff",
    {"k": [1.5, {"x": (None,)}]},
    "quotes ' \" and \n lines",
    Decimal("1.10"),
    range(3),
    ["word" * 10] * 5,
]


@pytest.mark.parametrize("wanted", ["right", "wrong"])
def test_every_value_fails_on_wrong_code_and_passes_on_right(tmp_path: Path, wanted: str) -> None:
    code = (
        "from decimal import Decimal\n"
        "import math\n"
        "inf, nan = math.inf, math.nan\n\n\n"
        f"def f(n, *args):\n    return {'VALUES[n]' if wanted == 'right' else repr('other')}\n\n\n"
        f"VALUES = {VALUES!r}\n"
    )
    tests = [failing(Call((at, value)), value) for at, value in enumerate(VALUES)]
    (tmp_path / "test_mod.py").write_text(page(tmp_path, *tests, code=code))
    result = "passed" if wanted == "right" else "failed"
    assert run_pytest(tmp_path / "test_mod.py") == {result: len(VALUES)}


def test_numpy_iterators_exceptions_and_long_calls(tmp_path: Path) -> None:
    code = """\
import numpy


class Bad(Exception):
    pass


def f(kind, *args):
    if kind == "array":
        return numpy.array([[1.0, 2.0]]) + 1e-9
    if kind == "ints":
        return args[0] + 1
    if kind == "endless":
        return iter(int, 1)
    if kind == "bad":
        raise Bad
    if kind == "foreign":
        raise type("Foreign", (Exception,), {})
    return len(args)
"""
    array = NDArray([[1.0, 2.0]], "float64", (1, 2))
    tests = [
        failing(Call(("array",)), array),
        failing(Call(("ints", NDArray([1], "int64", (1,)))), NDArray([2], "int64", (1,))),
        failing(Call(("endless",)), Iterated((0, 0), True, "iterator")),
        failing(Call(("bad",)), raises="Bad"),
        failing(Call(("foreign",)), raises="Foreign"),
        failing(Call(("long", *range(50)), {}), 50),
        failing(Call(("opaque",)), Incomplete("<X>", "X")),
        failing(Call(("crash",)), 0, Killed("signal 11")),
    ]
    text = page(tmp_path, *tests, code=code)
    (tmp_path / "test_mod.py").write_text(text)
    assert "# test_f_7 is not written: the X has no Python source" in text
    assert run_pytest(tmp_path / "test_mod.py") == {"passed": 6, "skipped": 1}


def test_names_and_types_are_no_code(tmp_path: Path) -> None:
    """What a docstring or a file name says never ends up outside its quotes."""
    attack = 'int64"); open("owned", "w") # '
    tests = [failing(Call((NDArray([1], attack, (1,)),)), 0)]
    path = tmp_path / 'a"""\nopen("owned")\n"""\\.py'
    path.write_text("def f(x):\n    return 1\n")
    module = open_target(f"{path}::f")
    text = render(module, [("f", tests, ())], path=tmp_path / "test_mod.py")
    called = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    assert "open" not in {getattr(node.func, "id", "") for node in called}
    assert not list(tmp_path.glob("owned"))


def test_a_hanging_test_fails_in_time(tmp_path: Path) -> None:
    code = "def f():\n    while True:\n        pass\n"
    text = page(tmp_path, failing(Call(), 1, TimedOut()), code=code)
    (tmp_path / "test_mod.py").write_text(text.replace("_within(5.0)", "_within(0.2)"))
    assert run_pytest(tmp_path / "test_mod.py") == {"failed": 1}


SESSION_CODE = """\
import json
LIMIT = 3
def f(x, y=1):
    if x is None:
        raise ValueError("no x")
    return x + y
def greet(name):
    print("Hello,", name)
"""
RIGHT = {
    "value": ">>> f(2)\n3",
    "state": ">>> d = {'a': 1}\n>>> d['a'] = f(4)\n>>> d\n{'a': 5}",
    "printed": ">>> print(3, f(2))\n3 3",
    "loop": ">>> for i in range(2):\n...     print(f(i))\n1\n2",
    "raised": ">>> f(None)\nTraceback (most recent call last):\n    ...\nValueError: no x",
    "raised_lax": ">>> f(None) # doctest: +IGNORE_EXCEPTION_DETAIL\n"
    "Traceback (most recent call last):\n    ...\nValueError: another",
    "ellipsis": ">>> [f(i) for i in range(30)] # doctest: +ELLIPSIS\n[1, 2, ..., 30]",
    "file": ">>> with open('a.txt', 'w') as g:\n...     _n = g.write('x' * f(1))\n"
    ">>> len(open('a.txt').read())\n2",
    "module_name": ">>> LIMIT = 5\n>>> f(LIMIT)\n6",
    "underscore": ">>> f(1)\n2\n>>> f(_)\n3",
    "text": ">>> f('a', '\\\\n')\n'a\\\\n'",
    "blank_line": ">>> print(f('a', '\\n\\nb'))\na\n<BLANKLINE>\nb",
    "nothing": ">>> x = f(1)\n>>> greet and None",
    "class": ">>> class A(int):\n...     def __repr__(self): return 'A'\n>>> [A(f(1))]\n[A]",
}


def failing_session(text: str) -> FailingTest:
    examples = doctest.DocTestParser().get_examples(text)
    options = 0
    for flag, on in examples[-1].options.items():
        options |= flag if on else 0
    want = Want(examples[-1].want, examples[-1].exc_msg, options)
    test = UnitTest(
        DoctestSession(tuple(one.source for one in examples)), want, source="doctest line 1"
    )
    return FailingTest(test, Returned(encode(("", None, False))))


def outcomes(folder: Path, file: Path, source: str) -> dict[str, str]:
    file.write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", file.name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found = re.findall(r"^(PASSED|FAILED) \S+::(\w+)", done.stdout, re.M)
    assert found, done.stdout
    return {name: verdict for verdict, name in found}


@pytest.mark.parametrize("package", [False, True])
def test_the_file_passes_where_doctest_does(tmp_path: Path, package: bool) -> None:
    folder = tmp_path / "shop" if package else tmp_path
    folder.mkdir(exist_ok=True)
    if package:
        (folder / "__init__.py").write_text("from shop.text import f\n")
    (folder / "text.py").write_text(SESSION_CODE)
    module = open_target(f"{folder / 'text.py'}::f")
    found = [(name, [failing_session(text)], ()) for name, text in RIGHT.items()]
    path = tmp_path / "test_it.py"
    source = render(module, found, path=path)
    got = outcomes(tmp_path, path, source)
    assert got == {f"test_{name}_1": "PASSED" for name in RIGHT}, source
    wrong = SESSION_CODE.replace("x + y", "y").replace("Hello", "Bye").replace('"no x"', '"yes"')
    (folder / "text.py").write_text(wrong)
    got = outcomes(tmp_path, path, source)
    tolerant = {"test_raised_lax_1", "test_nothing_1", "test_class_1"}
    assert {name for name, verdict in got.items() if verdict == "PASSED"} == tolerant, source
