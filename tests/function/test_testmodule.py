"""Whole tests of a file are carried along with what they need, and believed where they may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from refute.core.problems import Call, FunctionProblem, UnitTest
from refute.function.given_tests import read_tests
from refute.function.project_sandbox import open_box
from refute.function.target import open_target, problem_of
from refute.function.testmodule import whole_tests
from refute.function.verified import Verified, examples_in, is_whole, verified
from refute.sandbox import Program
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.local import LocalSandbox

RIGHT = "def f(x, y=1):\n    return x + y\ndef g(x):\n    return x\n"
WRONG = RIGHT.replace("x + y", "x - y")


@pytest.fixture(scope="module", autouse=True)
def _() -> Iterator[None]:
    with LocalSandbox():
        yield


def judged(
    tmp_path: Path, tests: str, code: str = RIGHT
) -> tuple[str, tuple[UnitTest, ...], tuple[str, ...]]:
    """(red, green or nothing; the tests; the notes) of a module and a test file beside it."""
    (tmp_path / "mod.py").write_text(code)
    (tmp_path / "test_mod.py").write_text(tests)
    module = open_target(f"{tmp_path / 'mod.py'}::f")
    given = read_tests(tmp_path / "test_mod.py", "f", module="mod")
    problem = problem_of(module, "f", tests=given.tests)
    with open_box(module) as box:
        known = verified(problem, box=box)
        calls = [test.call for test in known.tests]
        outcomes = box.run(Program(code, "f"), calls) if calls else []
    good = [matches(o, expect_test(t)) for o, t in zip(outcomes, known.tests, strict=True)]
    colour = "nothing" if not good else "green" if all(good) else "red"
    return colour, known.tests, known.notes


CARRIED = {
    "a helper": "def twice(n):\n    return 2 * n\ndef test_f():\n    assert f(twice(1)) == 3\n",
    "a helper's helper": "A = 2\ndef h(n):\n    return n * A\ndef k(n):\n    return h(n)\n"
    "def test_f():\n    assert f(k(1)) == 3\n",
    "a lambda": "even = lambda n: n % 2 == 0\ndef test_f():\n    assert even(f(1)) and f(1) > 0\n",
    "a constant table": "TABLE = [(1, 2), (5, 6)]\n"
    "def test_f():\n    for a, b in TABLE:\n        assert f(a) == b\n"
    "def test_g():\n    for a, b in TABLE:\n        assert f(a) == b\n",
    "a fixture": "import pytest\n@pytest.fixture\ndef two():\n    return 2\n"
    "def test_f(two):\n    assert f(two) == 3\n",
    "a fixture of a fixture": "import pytest\n@pytest.fixture\ndef two():\n    yield 2\n"
    "@pytest.fixture()\ndef four(two):\n    return 2 * two\n"
    "def test_f(four):\n    assert f(four) == 5\n",
    "tmp_path": "def test_f(tmp_path):\n    (tmp_path / 'a').write_text('x' * f(2))\n"
    "    assert len((tmp_path / 'a').read_text()) == 3\n",
    "parametrize": "import pytest\n@pytest.mark.parametrize('a, b', [(1, 2), (2, 3)])\n"
    "def test_f(a, b):\n    z = a\n    assert f(z) == b\n    assert z == a\n",
    "a comprehension": "import pytest\n"
    "@pytest.mark.parametrize(('a', 'b'), [(n, n + 1) for n in range(4)])\n"
    "def test_f(a, b):\n    assert f(a) == b\n",
    "a constant of parametrize": "import pytest\nROWS = {1: 2}\n"
    "@pytest.mark.parametrize('row', ROWS.items())\n"
    "def test_f(row):\n    a, b = row\n    assert f(a) == b\n",
    "changed locals": "def test_f():\n    args = [1, 2]\n    args[0] = -args[0]\n"
    "    assert f(args[0]) == 0\n",
    "a class": "class TestF:\n    BASE = 2\n    def test_f(self):\n"
    "        assert f(self.BASE) == 3\n",
    "unittest": "import unittest\nclass TestF(unittest.TestCase):\n"
    "    def setUp(self):\n        self.n = 2\n"
    "    def test_f(self):\n        self.assertEqual(f(self.n), 3)\n",
    "a set-up class": "class TestF:\n    @classmethod\n"
    "    def setup_class(cls):\n        cls.n = 1\n"
    "    def setup_method(self):\n        self.m = self.n + 1\n"
    "    def test_f(self):\n        assert f(self.n, self.m) == 3\n",
    "a base": "class Base:\n    def setup_method(self):\n        self.n = 2\n"
    "class TestF(Base):\n    def test_f(self):\n        assert f(self.n) == 3\n",
    "setUpClass": "import unittest\nclass TestF(unittest.TestCase):\n    @classmethod\n"
    "    def setUpClass(cls):\n        cls.n = 2\n"
    "    def test_f(self):\n        self.assertEqual(f(self.n), 3)\n",
    "an automatic fixture": "import pytest\nSTATE = []\n@pytest.fixture(autouse=True)\n"
    "def fill():\n    STATE.append(1)\ndef test_f():\n    assert f(STATE[0]) == 2\n",
    "two tables": "import pytest\nTABLE = [(1, 2), (3, 4)]\n"
    "@pytest.mark.parametrize('a, b', TABLE)\n@pytest.mark.parametrize('c', [1, True])\n"
    "def test_f(a, b, c):\n    assert f(a, c) == b\n",
    "a changed constant": "TABLE = {}\nTABLE[1] = 2\nROWS = []\nROWS.append(3)\n"
    "def test_f():\n    assert f(1) == TABLE[1]\n    assert f(ROWS[0] - 1) == 3\n",
    "everything of a module": "from string import *\ndef test_f():\n"
    "    assert f(len(digits)) == 11\n",
    "printing": "def test_f():\n    n = f(1)\n    print(n)\n    assert n == 2\n",
    "a loop with a count": "def test_f():\n    n = 0\n    while n < 3:\n"
    "        assert f(n) == n + 1\n        n += 1\n",
}


@pytest.mark.parametrize("name", CARRIED)
def test_what_a_test_needs_is_carried_along(tmp_path: Path, name: str) -> None:
    text = f"from mod import f\n{CARRIED[name]}"
    colour, tests, notes = judged(tmp_path, text)
    assert (colour, notes) == ("green", ())
    assert tests
    assert judged(tmp_path, text, WRONG)[0] == "red"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def test_f():\n    assert f(missing(1)) == 3\n", "a name of its own"),
        ("def test_f():\n    import no_such_thing\n    assert f(1) == 9\n", "a package"),
        ("def test_f():\n    assert f(open('no.txt').read()) == 9\n", "a file"),
        ("import random\ndef test_f():\n    assert f(int(str(hash('ab'))[-1])) == 3\n"
         "    assert f(int(str(hash('b'))[-1])) in (1, 2)\n", None),
    ],
)  # fmt: skip
def test_a_test_that_fails_for_its_own_reason_is_not_understood(
    tmp_path: Path, text: str, reason: str | None
) -> None:
    colour, _, notes = judged(tmp_path, f"from mod import f\n{text}", WRONG)
    if reason is not None:
        assert colour == "nothing"
        assert len(notes) == 1
        assert reason in notes[0]


def test_a_check_that_is_read_wrongly_is_dropped_where_the_test_passes(tmp_path: Path) -> None:
    text = (
        "from mod import f\nimport mod\n"
        "def test_f(monkeypatch_free=None):\n"
        "    old = mod.g\n"
        "    assert f(1) == 2\n"
    )
    assert judged(tmp_path, text)[0] == "green"
    whole = [test for test in read_tests(tmp_path / "test_mod.py", "f").tests if is_whole(test)]
    wrong = UnitTest(Call((1,)), 3, source=f"{tmp_path}/test_mod.py:5", span=(5, 5))
    module = open_target(f"{tmp_path / 'mod.py'}::f")
    with open_box(module) as box:
        alone = verified(replace(problem_of(module, "f"), tests=(wrong,)), box=box)
        both = verified(replace(problem_of(module, "f"), tests=(wrong, *whole)), box=box)
    assert [test.expected for test in alone.tests] == [3]
    assert [is_whole(test) for test in both.tests] == [True]


@pytest.mark.parametrize(
    "text",
    [
        "import pytest\n@pytest.mark.skip\ndef test_f():\n    assert f(1) == 9\n",
        "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_f():\n    assert f(1) == 9\n",
        "def test_f(capsys):\n    assert f(1) == 9\n",
        "import pytest\npytestmark = [pytest.mark.skipif(True, reason='')]\n"
        "def test_f():\n    assert f(1) == 9\n",
        "from elsewhere import Base\nclass TestF(Base):\n    def test_f(self):\n"
        "        assert f(1) == 9\n",
        "from .helpers import h\ndef test_f():\n    assert f(h(1)) == 9\n",
    ],
)
def test_what_cannot_be_carried_is_left_out(text: str) -> None:
    found, odd = whole_tests(text, "f")
    assert found == []
    assert len(odd) == 1


def test_nothing_of_the_program_is_put_into_what_is_shown(tmp_path: Path) -> None:
    text = (
        "from mod import f\ndef test_f():\n    x = [2]\n    x = f(x, x)\n    assert x == [2, 2]\n"
    )
    _, tests, _ = judged(tmp_path, text, WRONG)
    sources = [str(getattr(test.call, "source", "")) for test in tests]
    assert sources
    assert not any("_refute_local_" in source for source in sources)


def test_what_is_left_out_is_not_read_check_by_check(tmp_path: Path) -> None:
    text = "import pytest\n@pytest.mark.xfail\ndef test_f():\n    assert f(1) == 9\n"
    (tmp_path / "test_mod.py").write_text(f"{text}def test_g():\n    assert f(1) == 2\n")
    given = read_tests(tmp_path / "test_mod.py", "f", module="mod")
    assert {test.source.rpartition(":")[2] for test in given.tests} == {"5", "6"}
    assert [line.partition(": ")[2] for line in given.skipped] == ["not read: is marked xfail"]
    assert (len(given.read), len(given.found)) == (1, 2)


def in_a_package(
    folder: Path, test: str, module: str, front: str = ""
) -> tuple[FunctionProblem, Verified]:
    """The tests of pkg/mod.py::f in pkg/tests/test_mod.py, with `front` in pkg/__init__.py."""
    inner = folder / "pkg" / "tests"
    inner.mkdir(parents=True)
    (folder / "pkg" / "__init__.py").write_text(front)
    (folder / "pkg" / "mod.py").write_text(module)
    (inner / "__init__.py").write_text("")
    (inner / "test_mod.py").write_text(test)
    target = open_target(f"{folder / 'pkg' / 'mod.py'}::f")
    given = read_tests(inner / "test_mod.py", "f", module=target.surroundings.name)
    problem = problem_of(target, "f", tests=given.tests)
    with open_box(target) as box:
        return problem, verified(problem, box=box)


FRONTS = {
    "a wrapper": (
        "from . import mod\ndef f(x):\n    return mod.f(x) * 10\n",
        "from pkg import *\n",
    ),
    "a wrapper that says so": (
        "import functools\nfrom . import mod\n@functools.wraps(mod.f)\n"
        "def f(x):\n    return mod.f(x) * 10\n",
        "from .. import f\n",
    ),
    "a method": (
        "from . import mod\nclass Ring:\n    def f(self, x):\n        return mod.f(x) * 10\n"
        "mod = Ring()\n",
        "from pkg import mod\nf = mod.f\n",
    ),
    "a partial of another": (
        "import functools\nfrom . import mod\ndef scaled(k, x):\n    return mod.f(x) * k\n"
        "f = functools.partial(scaled, 10)\n",
        "from .. import f\n",
    ),
}


@pytest.mark.parametrize("name", FRONTS)
@pytest.mark.parametrize("module", [RIGHT, WRONG])
def test_another_object_of_that_name_is_not_the_function(
    tmp_path: Path, name: str, module: str
) -> None:
    """Its test is one of the function as a whole, which it reaches; `f(1) == 20` is not."""
    front, imports = FRONTS[name]
    test = f"{imports}def test_f():\n    assert f(1) == 20\n    assert f(3) == 40\n"
    problem, known = in_a_package(tmp_path, test, module, front)
    assert any(test.call == Call((1,)) for test in problem.tests) or name == "a method"
    assert [is_whole(test) for test in known.tests] == [True]


SAME = {
    "the package's name of it": ("from .mod import f\n", "from pkg import f\n"),
    "relative": ("", "from ..mod import f\n"),
    "everything": ("from .mod import f\n", "from pkg import *\n"),
    "the module": ("", "import pkg.mod as mod\nf = mod.f\n"),
}


@pytest.mark.parametrize("name", SAME)
def test_the_function_itself_is_one_wherever_it_comes_from(tmp_path: Path, name: str) -> None:
    front, imports = SAME[name]
    test = f"{imports}def test_f():\n    assert f(1) == 2\n    assert f(3) == 4\n"
    problem, known = in_a_package(tmp_path, test, WRONG, front)
    made = [test.call for test in known.tests if not is_whole(test)]
    whole = [test for test in known.tests if is_whole(test)]
    if any(isinstance(test.call, Call) for test in problem.tests):
        assert made == [Call((1,)), Call((3,))]  # also the one behind the first that fails
    else:
        assert whole


def test_a_check_counts_only_with_the_arguments_that_its_test_has(tmp_path: Path) -> None:
    text = (
        "from mod import f\ndef grown(xs):\n    xs.append(1)\n"
        "def test_f():\n    xs = []\n    grown(xs)\n    assert f(xs) == [1]\n"
    )
    code = "def f(x):\n    return None\n"
    _, tests, _ = judged(tmp_path, text, code)
    assert [is_whole(test) for test in tests] == [True]


def test_a_package_that_the_program_asks_for_is_not_its_fault(tmp_path: Path) -> None:
    code = "def f(x):\n    import no_such_thing\n    return x\n"
    colour, _, notes = judged(tmp_path, "from mod import f\ndef test_f():\n    f(1)\n", code)
    assert colour == "nothing"
    assert "a package is missing" in notes[0]


def test_a_check_at_the_top_level_whose_imports_are_not_known_is_left_out() -> None:
    found, odd = whole_tests("from ..mod import f\nassert f(1) == 2\n", "f")
    assert not found
    assert odd == [(2, 2, "imports from a package that is not known")]


SLOW = """from mod import f
def test_quick():
    assert f(1) == {}
def test_slow():
    total = 0
    for n in range(10**7):
        total += f(n)
    assert total == -1
"""


@pytest.mark.parametrize("value", [1, 2])
def test_what_takes_long_is_looked_at_where_nothing_else_fails(tmp_path: Path, value: int) -> None:
    """It was run for seconds, which a search then lacked."""
    colour, tests, notes = judged(tmp_path, SLOW.format(value), "def f(x):\n    return x\n")
    assert colour == "red"
    assert not notes
    lines = [test.source.rpartition(":")[2] for test in tests]
    assert lines == (["3", "4"] if value == 1 else ["3"])


def test_a_whole_test_is_as_many_examples_as_it_has_assertions(tmp_path: Path) -> None:
    path = tmp_path / "test_m.py"
    path.write_text(
        "import pytest\nfrom m import f\n\n"
        "def test_f():\n    x = [f(1)]\n    assert x\n    assert x[0]\n"
        "    with pytest.raises(ValueError):\n        f(x)\n"
    )
    (test,) = [one for one in read_tests(path, "f").tests if is_whole(one)]
    assert examples_in(test) == 3
    assert examples_in(UnitTest(Call((1,)), 2)) == 1
