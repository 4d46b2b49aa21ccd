"""The reader of recorded calls: a line is text of a small grammar, or left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refute.errors import InputError
from refute.recording.reading import read_recorded, read_recording

HEADER = {"format": "refute-recorded", "version": 1, "python": "3.11.7", "paths": [".", "tests"]}
ROW: dict[str, Any] = {
    "target": "pkg.mod:Cart.add",
    "imports": {"Cart": "pkg.mod:Cart", "decimal": "decimal"},
    "setup": ["c = Cart(tax=decimal.Decimal('0.2'))", "c.add('a', 2)", "setattr(c, 'note', None)"],
    "expression": "c.add({'k': [1, (2,)]}, -3)",
    "test": "tests/test_cart.py::test_total",
    "count": 3,
}


def write(path: Path, *rows: Any, header: Any = HEADER) -> Path:
    file = path / "recorded.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in (header, *rows)]
    file.write_text("\n".join(lines))
    return file


def test_a_call_is_read(tmp_path: Path) -> None:
    (call,) = read_recorded(write(tmp_path, ROW))
    assert (call.module, call.qualname, call.count) == ("pkg.mod", "Cart.add", 3)
    assert call.imports == (("Cart", "pkg.mod:Cart"), ("decimal", "decimal"))
    assert call.setup == tuple(ROW["setup"])
    assert call.expression == ROW["expression"]


@pytest.mark.parametrize(
    "change",
    [
        {"expression": "__import__('os').system('x')"},
        {"expression": "eval('1')"},
        {"expression": "getattr(c, 'x')"},
        {"expression": "c.__class__"},
        {"expression": "c.add(*[1])"},
        {"expression": "c.add(**{'a': 1})"},
        {"expression": "[x for x in c]"},
        {"expression": "(lambda: 1)()"},
        {"expression": "(y := 1)"},
        {"expression": "unknown(1)"},
        {"expression": "import os"},
        {"expression": "c.add(1); c.add(2)"},
        {"expression": "c.add(\n1)"},
        {"expression": "c.add(1"},
        {"expression": "f'{c}'"},
        {"expression": "(" * 500 + ")" * 500},
        {"expression": 3},
        {"expression": "'" + "x" * 70_000 + "'"},
        {"setup": ["c.x = 1"]},
        {"setup": ["c[0] = 1"]},
        {"setup": ["a = b = 1"]},
        {"setup": ["a: int = 1"]},
        {"setup": ["del c"]},
        {"setup": ["len = 1"]},
        {"setup": ["__builtins__ = 1"]},
        {"setup": ["setattr(c, '__class__', 1)"]},
        {"setup": ["setattr(c, 'a' + 'b', 1)"]},
        {"setup": ["x = setattr"]},
        {"setup": ["x = 1"] * 100},
        {"setup": "c = 1"},
        {"setup": [None]},
        {"imports": {"Cart": "pkg.mod:Cart", "len": "pkg:len"}},
        {"imports": {"Cart": "pkg mod"}},
        {"imports": {"Cart": "builtins:exec"}},
        {"imports": {"Cart": "pkg.mod:Cart;x"}},
        {"imports": {"a b": "pkg"}},
        {"imports": {"Cart": 1}},
        {"imports": None},
        {"target": "pkg.mod"},
        {"target": "pkg.mod:Cart add"},
        {"target": "pkg/mod:f"},
        {"count": 0},
        {"count": True},
        {"test": "a\nb"},
        {"test": None},
    ],
    ids=lambda change: json.dumps(change)[:60],
)
def test_what_is_not_of_the_grammar_is_left_out(change: dict[str, Any], tmp_path: Path) -> None:
    read = read_recording(write(tmp_path, {**ROW, **change}, ROW))
    assert (len(read.calls), read.refused) == (1, 1)


def test_lines_that_are_no_json_are_left_out(tmp_path: Path) -> None:
    file = write(tmp_path, "[" * 10_000, "{", "null", "3", "\0", ROW)
    read = read_recording(file)
    assert (len(read.calls), read.refused) == (1, 5)


@pytest.mark.parametrize(
    "header", [{}, [], "x", "", {"format": "other"}, {**HEADER, "version": 2}, "[" * 100_000]
)
def test_another_file_is_bad_input(header: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_recorded(write(tmp_path, ROW, header=header))
    assert "\n" not in str(error.value)
    assert "recorded.jsonl" in str(error.value)


def test_no_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"No such file"):
        read_recorded(tmp_path / "none.jsonl")


def test_paths_stay_within_the_project(tmp_path: Path) -> None:
    header = {**HEADER, "paths": ["src", "/etc", "../x", "a/../../x", 3, "tests"]}
    assert read_recording(write(tmp_path, header=header)).paths == ("src", "tests")
