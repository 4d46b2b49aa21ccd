"""`--tests FILE.jsonl`: tests as values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, DoctestSession, Expression, UnitTest
from refute.errors import InputError
from refute.function.given_tests import read_tests


def pairs(tests: tuple[UnitTest, ...]) -> list[Any]:
    """(arguments or expression, expected or the exception's name)."""
    return [
        (
            t.call.source if isinstance(t.call, Expression) else (*t.call.args, *t.call.kwargs),
            t.raises or t.expected,
        )
        for t in tests
        if not isinstance(t.call, DoctestSession)
    ]


def jsonl(tmp_path: Path, *rows: str) -> tuple[UnitTest, ...]:
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
    assert given == (
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
    assert pairs(read_tests(path, "f")) == [(({1},), (1, 2)), ((0,), "ValueError")]
    assert read_tests(path, "g") == ()
