"""What a newer Python reads is read by this one, every line in its place."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest

from refute.source.syntax import in_older_syntax, parse_module, try_parse

NEWER = Path.home() / ".pyenv/versions/3.13.0"
PLACES = """
import ast, json, sys
tree = ast.parse(open(sys.argv[1], encoding="utf-8").read())
kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef
found = [n for n in ast.walk(tree) if isinstance(n, kinds)]
print(json.dumps([[n.name, n.lineno, n.end_lineno] for n in found]))
"""
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("def f[T: (int, str) = int](x: T): pass", "def f                     (x: T): pass"),
        ("class A[*Ts, **P](B[int]): pass", "class A          (B[int]): pass"),
        ("def f[\n    T,\n](x): pass", "def f\\\n     \\\n (x): pass"),
        ("if 1:\n    type A[T] = list[T]", "if 1:\n    A         = list[T]"),
        ("try: 1\nexcept A, B.C: 2", "try: 1\nexcept A| B.C: 2"),
        ('f"{d["a"]:{w["b"]}} {{"', "f\"{d['a']:{w['b']}} {{\""),
        ('f"{"\\n".join(x)}\\n"', "f\"{'_n'.join(x)}\\n\""),
        ('f"{x!r:#{1}0x}" + t"{y}"', 'f"{x!r:#{1}0x}" + f"{y}"'),
    ],
)
def test_newer_syntax_becomes_older_of_the_same_length(newer: str, older: str) -> None:
    assert in_older_syntax(newer) == older
    ast.parse(older)
    assert parse_module(newer).body


@pytest.mark.parametrize(
    "text",
    [
        "type = 3\nprint(type, type [0], type(x))",
        "def f(x): return x[0]",
        "'def f[T](): pass'  # def f[T]",
        "try: pass\nexcept (A, B): pass\nexcept* C: pass",
        "f'{x:>{w}}' f\"{x['a']}\" rf'\\d{x}'",
        "x = '''\ntype A = int\n'''",
    ],
)
def test_what_is_older_stays(text: str) -> None:
    assert in_older_syntax(text) == text


@pytest.mark.parametrize("text", ["def f[T(x): pass", "def f[T](x:", "f'{x[", "type X[ = 3", "f'{"])
def test_what_no_python_reads_is_refused_as_it_stands(text: str) -> None:
    assert try_parse(text) is None
    with pytest.raises(SyntaxError):
        parse_module(text)


def test_text_made_to_exhaust_is_refused() -> None:
    assert try_parse("def f[" * 20_000) is None
    assert try_parse("f'{" * 20_000) is None
    assert try_parse("except A," * 20_000) is None


@pytest.mark.parametrize("name", ["dataclasses", "test/test_type_params", "test/test_type_aliases"])
def test_definitions_stand_where_the_newer_python_says(name: str) -> None:
    file = NEWER / f"lib/python3.13/{name}.py"
    if not file.exists():
        pytest.skip("no Python 3.13 under ~/.pyenv")
    said = subprocess.run(
        [NEWER / "bin/python", "-c", PLACES, file], capture_output=True, text=True, check=True
    )
    tree = ast.parse(in_older_syntax(file.read_text("utf-8")))
    found = [[n.name, n.lineno, n.end_lineno] for n in ast.walk(tree) if isinstance(n, DEFINITIONS)]
    assert found == json.loads(said.stdout)
    assert len(found) > 30
