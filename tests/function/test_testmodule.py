"""Whole tests of a file are carried along with what they need, and believed where they may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from refute.function.given import read_tests
from refute.function.target import open_target, problem_of
from refute.function.testmodule import whole_tests
from refute.function.verbs import open_box
from refute.function.verified import is_whole, verified
from refute.problems import Call, UnitTest
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
