"""`--tests FILE`: nothing of it is executed, and what is not understood is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, DoctestSession, Expression, UnitTest
from refute.errors import InputError
from refute.function.given_tests import GivenTests, read_tests


def read(tmp_path: Path, text: str, *, predicate: bool = False) -> GivenTests:
    path = tmp_path / "test_it.py"
    path.write_text(text)
    return read_tests(path, "f", module="pkg.mod", predicate=predicate)


def pairs(tests: tuple[UnitTest, ...]) -> list[Any]:
    """(arguments or expression, expected or the exception's name)."""
    return [
        (
            t.call.source if isinstance(t.call, Expression) else (*t.call.args, *t.call.kwargs),
            t.raises or t.expected,
        )
        for t in tests
        if not isinstance(t.call, DoctestSession)  # the whole test, see test_testmodule.py
    ]


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("assert f(1, [2]) == {3}", ((1, [2]), {3})),
        ("assert 3 == f(1)", ((1,), 3)),
        ("assert f(1) is None", ((1,), None)),
        ("assert mod.f(1) == 2", ((1,), 2)),
        ("assert pkg.mod.f(-1) == 2", ((-1,), 2)),
        ("assert f(1.0) == pytest.approx(0.5)", ((1.0,), 0.5)),
        ("assert f(1) == pytest.approx(10, rel=0.1)", ("abs(f(1) - 10) <= 1.0", True)),
        ("assert f(1)", ("bool(f(1))", True)),
        ("assert not f(1)", ("bool(f(1))", False)),
        ("assert f(1) != 2", ("bool(f(1) != 2)", True)),
        ("assert 2 in f(1)", ("bool(2 in f(1))", True)),
        ("assert len(f(1)) == 2", ("len(f(1))", 2)),
        ("assert sorted(f(1)) == [1]", ("sorted(f(1))", [1])),
        ("assert math.isclose(f(1), 2)", ("bool(__import__('math').isclose(f(1), 2))", True)),
        ("with pytest.raises(ValueError, match='x'):\n    f(1)", ((1,), "ValueError")),
        ("for n, m in [(1, 2)]:\n    assert f(n) == m", ((1,), 2)),
        ("x = [1]\nassert f(x) == 1", (([1],), 1)),
        ("got = f(1)\nassert got == 2", ((1,), 2)),
        (
            "x = [2]\nf(x)\nassert x == [1]",
            ("((_refute_local_x := [2]), f(_refute_local_x), _refute_local_x)[-1]", [1]),
        ),
        ("x = [2]\ny = 3\nassert f(x, y) == y", (([2], 3), 3)),
    ],
)
def test_each_form_of_a_check(tmp_path: Path, statement: str, wanted: Any) -> None:
    body = "\n".join(f"    {line}" for line in statement.splitlines())
    given = read(tmp_path, f"import math\nimport pytest\n\n\ndef test_it():\n{body}\n")
    assert given.skipped == ()
    assert pairs(given.tests) == [wanted]


def test_predicates_are_asserted_as_bools(tmp_path: Path) -> None:
    given = read(tmp_path, "assert f(1)\nassert not f(2)\n", predicate=True)
    assert pairs(given.tests) == [((1,), True), ((2,), False)]


def test_parametrized_tests(tmp_path: Path) -> None:
    text = """
import pytest
CASES = [(1, 2), pytest.param(3, 4, id="x")]

@pytest.mark.parametrize("n, want", CASES)
@pytest.mark.parametrize("extra", [True, False])
def test_it(n, want, extra):
    assert f(n, extra) == want
"""
    assert pairs(read(tmp_path, text).tests) == [
        ((1, True), 2),
        ((3, True), 4),
        ((1, False), 2),
        ((3, False), 4),
    ]


def test_other_names_of_the_function(tmp_path: Path) -> None:
    text = "from pkg.mod import f as g\nCALL = f(2)\n\ndef test_it():\n    assert g(1) == 2\n"
    text += "\ndef test_other():\n    assert CALL == 3\n"
    assert pairs(read(tmp_path, text).tests) == [((1,), 2), ((2,), 3)]


def test_unittest_methods(tmp_path: Path) -> None:
    text = """
import unittest

class TestIt(unittest.TestCase):
    def test_it(self):
        self.assertEqual(f(1), 2)
        self.assertTrue(f(2))
        self.assertIsNone(f(3))
        self.assertAlmostEqual(f(4), 0.5, places=1)
        with self.assertRaises(KeyError):
            f(5)
"""
    assert pairs(read(tmp_path, text).tests) == [
        ((1,), 2),
        ("bool(f(2))", True),
        ((3,), None),
        ("abs(f(4) - 0.5) <= 0.05", True),
        ((5,), "KeyError"),
    ]


def test_sources_name_file_and_line(tmp_path: Path) -> None:
    (test, whole) = read(tmp_path, "\nassert f(1) == 2\n").tests
    assert whole.source == test.source
    assert test.source == f"{tmp_path}/test_it.py:2"


def test_what_is_not_understood_is_said(tmp_path: Path) -> None:
    text = """
def test_fixture(thing):
    assert f(thing) == 1

def test_other(thing):
    assert g(thing) == 1

def test_fine():
    assert f(1) == 1
"""
    given = read(tmp_path, text)
    assert pairs(given.tests) == [((1,), 1)]
    assert given.skipped == (f"{tmp_path}/test_it.py:2: not read: needs the fixture thing",)


def test_nothing_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    read(tmp_path, f"open({str(mark)!r}, 'w')\nassert f(open({str(mark)!r}, 'w')) == 1\n")
    assert not mark.exists()


def jsonl(tmp_path: Path, *rows: str) -> GivenTests:
    path = tmp_path / "tests.jsonl"
    path.write_text("\n".join(rows) + "\n")
    return read_tests(path, "f")


def test_jsonl(tmp_path: Path) -> None:
    given = jsonl(
        tmp_path,
        '{"call": "f(1, k=(2,))", "expected": [1, null]}',
        "",
        '{"call": "f(1)", "expected_repr": "{1, 2}"}',
        '{"call": "f(0)", "raises": "ValueError"}',
        '{"call": "len(f(0))", "expected": 3}',
        '{"call": "g(0)", "expected": 3}',
    )
    assert given.tests == (
        UnitTest(Call((1,), {"k": (2,)}), [1, None], source=f"{tmp_path}/tests.jsonl:1"),
        UnitTest(Call((1,)), {1, 2}, source=f"{tmp_path}/tests.jsonl:3"),
        UnitTest(Call((0,)), raises="ValueError", source=f"{tmp_path}/tests.jsonl:4"),
        UnitTest(Expression("len(f(0))"), 3, source=f"{tmp_path}/tests.jsonl:5"),
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "tests.jsonl:1: not JSON"),
        ("[]", "tests.jsonl:1: must be a JSON object"),
        ('{"expected": 1}', "tests.jsonl:1: field call"),
        ('{"call": "f(1)"}', "tests.jsonl:1: needs one of expected"),
        ('{"call": "f(", "expected": 1}', "tests.jsonl:1: field call: not a Python"),
        ('{"call": "f(1)", "expected_repr": "open()"}', "tests.jsonl:1: field expected_repr"),
    ],
)
def test_malformed_rows(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        jsonl(tmp_path, row)
    assert "\n" not in str(caught.value)


def test_our_own_json_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "hunt.json"
    tests = [
        {"call": "f({1})", "expected": "(1, 2)", "status": "wrong"},
        {"call": "f(0)", "expected": "raises ValueError", "status": "wrong"},
        {"call": "f(2)", "expected": None, "status": "crash"},
    ]
    path.write_text(json.dumps({"function": "f", "tests": tests, "found": True}, indent=2))
    assert pairs(read_tests(path, "f").tests) == [(({1},), (1, 2)), ((0,), "ValueError")]
    assert read_tests(path, "g").tests == ()
