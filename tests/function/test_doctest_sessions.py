"""Examples are replayed as sessions: red where doctest is red, never red where it is green."""

from __future__ import annotations

import doctest
import types
from pathlib import Path
from textwrap import dedent, indent

import pytest

from refute.core.problems import Call, DoctestSession, FunctionProblem, Trust, UnitTest
from refute.function.examples import understood
from refute.function.search.engine import search
from refute.sandbox import Program
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.local import LocalSandbox

ADD = "def f(x, y=1):\n{docstring}\n    return x + y\n"


def problem(docstring: str, code: str = ADD, name: str = "f") -> FunctionProblem:
    text = indent(f'r"""Text.\n\n{dedent(docstring).strip()}\n"""', "    ")
    code = code.replace("{docstring}", text)
    return FunctionProblem("t", f"Text.\n\n{dedent(docstring).strip()}", f"{name}(x)", name, code)


def verdict(
    box: LocalSandbox, one: FunctionProblem
) -> tuple[str, tuple[UnitTest, ...], tuple[str, ...]]:
    known, notes = understood(one, box=box)
    tests = tuple(t for t in known.examples or () if t.trust < Trust.HINT)
    outcomes = box.run(Program(one.code, one.entry_point), [t.call for t in tests])
    good = all(matches(o, expect_test(t)) for o, t in zip(outcomes, tests, strict=True))
    return "green" if good else "red", tests, notes


def of_doctest(one: FunctionProblem) -> str:
    module = types.ModuleType("m")
    exec(one.code, module.__dict__)
    function = getattr(module, one.entry_point)
    (test,) = doctest.DocTestFinder(recurse=False).find(function, "f", globs=module.__dict__)
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=lambda _: None)
    return "red" if runner.failures else "green"


GREEN = {
    "a call": ">>> f(2)\n3",
    "state between the lines": ">>> d = {'a': 1}\n>>> d['a'] = f(4)\n>>> d\n{'a': 5}",
    "a file": ">>> with open('a', 'w') as g:\n...     _ = g.write('x' * f(1))\n"
    ">>> len(open('a').read())\n2",
    "unpacked": ">>> a, b = f((1,), (2,))\n>>> a\n1",
    "a class of the example": ">>> class A(int):\n...     def __repr__(self): return 'A'\n"
    ">>> [A(f(1))]\n[A]",
    "an exception": ">>> f(1, None)\nTraceback (most recent call last):\n    ...\n"
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
    "ellipsis": ">>> [f(i) for i in range(30)] # doctest: +ELLIPSIS\n[1, 2, ..., 30]",
    "an assertion": ">>> assert f(1) == 2",
    "skipped": ">>> f(1) # doctest: +SKIP\n77\n>>> f(2)\n3",
    "same call, another answer": ">>> box = []\n>>> f(box, [1])\n[1]\n>>> box = [2]\n"
    ">>> f(box, [1])\n[2, 1]",
    "a future's clock": ">>> import datetime\n>>> now = f(datetime.datetime.now(), "
    "datetime.timedelta(0))\n>>> now == now\nTrue",
}
RED = {
    "a call": ">>> f(2)\n4",
    "an int for a float": ">>> f(2)\n3.0",
    "unpacked": ">>> a, b = f((1,), (2,))\n>>> b\n1",
    "printed": ">>> print(f(2))\n4",
    "a repr": ">>> import datetime\n>>> f(datetime.date(2020, 1, 1), datetime.timedelta(1))\n"
    "datetime.date(2020, 1, 3)",
    "another exception": ">>> f('1')\n2",
    "an assertion": ">>> assert f(1) == 3",
    "a comparison": ">>> f(1) == 3\nTrue",
    "mutated": ">>> xs = [1]\n>>> xs = f(xs, [2])\n>>> xs.append(3)\n>>> xs\n[1, 2]",
}


@pytest.mark.parametrize("name", GREEN)
def test_green_where_doctest_is_green(
    box: LocalSandbox, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one = problem(GREEN[name])
    assert of_doctest(one) == "green"
    colour, tests, _ = verdict(box, one)
    assert colour == "green"
    assert tests


@pytest.mark.parametrize("name", RED)
def test_red_where_doctest_is_red(box: LocalSandbox, name: str) -> None:
    one = problem(RED[name])
    assert of_doctest(one) == "red"
    assert verdict(box, one)[0] == "red"


@pytest.mark.parametrize(
    ("docstring", "reason"),
    [
        (">>> g(f(2))\n3", "a name of its own"),
        (">>> import no_such_package\n>>> no_such_package.g(f(2))\n3", "a package is missing"),
        (">>> f(open('none').read())\n3", "a file or program of its own"),
        (">>> import datetime\n>>> f(datetime.datetime.now(), datetime.timedelta(0))\n"
         "datetime.datetime(2020, 1, 1)", "from run to run"),
        (">>> f(object(), 1)\n<object object at 0x7f0000000000>", None),
        (">>> [object(), f(1)]\n[<object object at 0x7f0000000000>, 2]", "from run to run"),
        (">>> f([1], [2])\n[1,\n  2]", "layout"),
        (">>> repr([{'b': f(1), 'a': 1}])\n\"[{'a': 1, 'b': 2}]\"", None),
        (">>> print([{'b': f(1), 'a': 1}])\n[{'a': 1, 'b': 2}]", "another order"),
        (">>> print([f(1), 1])\n[1, 2]", None),
        (">>> f({'b', 'a', 'c'} and 'x' if 'a' < 'b' else 1, str(hash('a')))\n'x'", "from run"),
        (">>> print f(2)\n3", "not Python"),
        (">>> f(1, None)\nTraceback (most recent call last):\nTypeError: unsupp...", "layout"),
        (">>> f(b'', __import__('subprocess').check_output(['true']))\nb'x'", "or program"),
        (">>> f(1)\n>>> f(2)\n3", "is left out"),
        (">>> f(2)\n3\n> f(3)\n4", "another prompt"),
        (">>> import decimal\n>>> f(decimal.Decimal('1E9'), decimal.Decimal('x'))\n"
         "Traceback (most recent call last):\nInvalidOperation: bad", "layout"),
        (">>> class A:\n...     def __repr__(self): return '<A of 3>'\n>>> [A(), f(1)][0]\n<A...>",
         "layout"),
    ],
)  # fmt: skip
def test_what_says_nothing_about_the_function_is_counted_and_not_believed(
    box: LocalSandbox, docstring: str, reason: str | None
) -> None:
    one = problem(docstring)
    assert of_doctest(one) == "red"
    colour, _, notes = verdict(box, one)
    assert colour == ("red" if reason is None else "green")
    assert [reason in note for note in notes if reason] == [True] * (reason is not None)


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("os.path.expanduser('~/x')", "'/home/peter/x'"),
        ("datetime.date.today().year - 2000", "13"),
        ("time.time() > 1e9 and time.ctime()", "'Thu Jan  1 01:00:00 1970'"),
        ("input() == 'y'", "True"),
        ("getpass.getuser()", "'peter'"),
    ],
)
def test_what_the_surroundings_decide_makes_nothing_red(
    box: LocalSandbox, body: str, shown: str
) -> None:
    modules = "import datetime, getpass, os, shutil, time"
    one = problem(f">>> f()\n{shown}", f"{modules}\ndef f():\n{{docstring}}\n    return {body}\n")
    assert of_doctest(one) == "red"
    colour, tests, (note,) = verdict(box, one)
    assert (colour, tests) == ("green", ()), "red, and believed"
    assert "from place to place" in note


def test_a_missing_name_of_the_function_itself_is_its_fault(box: LocalSandbox) -> None:
    code = "def f(x):\n{docstring}\n    return y\n"
    assert verdict(box, problem(">>> f(1)\n1", code))[0] == "red"


def test_what_does_not_end_is_found_among_the_examples(box: LocalSandbox) -> None:
    code = "def f(x):\n{docstring}\n    while x == 3: pass\n    return x\n"
    docstring = ">>> f(1)\n1\n>>> f(2)\n2\n>>> f(3)\n3\n>>> f(4)\n4"
    colour, tests, _ = verdict(box, problem(docstring, code))
    assert colour == "red"
    assert [t.call for t in tests] == [Call((1,)), Call((2,)), Call((3,))]


def test_what_hangs_on_no_other_example_is_a_call(box: LocalSandbox) -> None:
    docstring = """
        >>> xs = [1]
        >>> f(xs)
        1
        >>> xs.append(2)
        >>> f(xs)
        3
        >>> f([4])
        4
    """
    code = "def f(x):\n{docstring}\n    return sum(x)\n"
    _, tests, _ = verdict(box, problem(docstring, code))
    assert [test.call for test in tests] == [
        DoctestSession(("xs = [1]\n", "f(xs)\n")),
        DoctestSession(("xs = [1]\n", "f(xs)\n", "xs.append(2)\n", "f(xs)\n")),
        Call(([4],)),
    ]


def test_a_session_leaves_out_what_its_outcome_does_not_hang_on(box: LocalSandbox) -> None:
    docstring = ">>> import math\n>>> a = f(1)\n>>> b = [7]\n>>> print(b)\n[7]\n>>> print(a)\n2"
    _, tests, _ = verdict(box, problem(docstring))
    assert [t.call for t in tests if isinstance(t.call, DoctestSession)][-1] == DoctestSession(
        ("a = f(1)\n", "print(a)\n")
    )


def test_examples_of_the_module_that_call_the_function_count(box: LocalSandbox) -> None:
    head = '"""Module.\n\n>>> f(1)\n3\n>>> other(1)\n5\n"""\n'
    tail = "def other(x):\n    return 1\n__test__ = {'more': '>>> f(5)\\n7\\n'}\n"
    one = problem("nothing", head + ADD + tail)
    colour, tests, _ = verdict(box, one)
    assert colour == "red"
    assert [(t.call, t.expected) for t in tests] == [(Call((1,)), 3), (Call((5,)), 7)]


def test_a_module_that_the_examples_forgot_to_import_is_imported(box: LocalSandbox) -> None:
    code = "def dumps(x):\n{docstring}\n    return x\n"
    one = problem(">>> json.dumps([1])\n'[1]'\n>>> nosuch.dumps(2)\n3", code, "dumps")
    colour, tests, notes = verdict(box, one)
    assert colour == "green"
    assert [test.call for test in tests] == [DoctestSession(("import json\n", "json.dumps([1])\n"))]
    assert notes == ("1 of 2 doctest examples not understood: a name of its own is missing (1)",)


def test_a_slow_example_is_neither_failing_nor_searched_with(box: LocalSandbox) -> None:
    code = (
        "import time\ndef f(x):\n{docstring}\n    end = time.process_time() + x\n"
        "    while time.process_time() < end: pass\n    return x\n"
    )
    one = problem(">>> f(0.35)\n0.35\n>>> x = f(0.4)\n>>> x\n0.4\n>>> f(0)\n0", code)
    known, _ = understood(one, box=box)
    result = search(known, box=box, budget=2.0)
    assert result.failing == ()
