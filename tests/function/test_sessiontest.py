"""A session written as a pytest function passes exactly where `doctest` is green."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from refute.core.problems import DoctestSession, UnitTest, Want
from refute.function.contract import FailingTest
from refute.function.target import open_target
from refute.function.testfile import render
from refute.sandbox import Returned
from refute.sandbox.values import encode

CODE = """\
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
    "printed_inside": '>>> greet("Bob")\nHello, Bob',
    "pprint": ">>> from pprint import pprint\n>>> pprint({'a': f(1)})\n{'a': 2}",
    "loop": ">>> for i in range(2):\n...     print(f(i))\n1\n2",
    "raised": ">>> f(None)\nTraceback (most recent call last):\n    ...\nValueError: no x",
    "raised_lax": ">>> f(None) # doctest: +IGNORE_EXCEPTION_DETAIL\n"
    "Traceback (most recent call last):\n    ...\nValueError: another",
    "ellipsis": ">>> [f(i) for i in range(30)] # doctest: +ELLIPSIS\n[1, 2, ..., 30]",
    "raised_ellipsis": ">>> f(None) # doctest: +ELLIPSIS\n"
    "Traceback (most recent call last):\n    ...\nValueError: no ...",
    "asserted": ">>> assert f(1) == 2",
    "file": ">>> with open('a.txt', 'w') as g:\n...     _n = g.write('x' * f(1))\n"
    ">>> len(open('a.txt').read())\n2",
    "module_name": ">>> LIMIT = 5\n>>> f(LIMIT)\n6",
    "star": ">>> from math import *\n>>> f(floor(2.5))\n3",
    "underscore": ">>> f(1)\n2\n>>> f(_)\n3",
    "text": ">>> f('a', '\\\\n')\n'a\\\\n'",
    "long_string": ">>> s = '''a\n...   b'''\n>>> f(s, 'c')\n'a\\n  bc'",
    "blank_line": ">>> print(f('a', '\\n\\nb'))\na\n<BLANKLINE>\nb",
    "nothing": ">>> x = f(1)\n>>> greet and None",
    "global_used": ">>> f(LIMIT)\n4",
    "class": ">>> class A(int):\n...     def __repr__(self): return 'A'\n>>> [A(f(1))]\n[A]",
}


def failing(text: str) -> FailingTest:
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
    (folder / "text.py").write_text(CODE)
    module = open_target(f"{folder / 'text.py'}::f")
    found = [(name, [failing(text)], ()) for name, text in RIGHT.items()]
    path = tmp_path / "test_it.py"
    source = render(module, found, path=path)
    got = outcomes(tmp_path, path, source)
    assert got == {f"test_{name}_1": "PASSED" for name in RIGHT}, source
    (folder / "text.py").write_text(CODE.replace("x + y", "y").replace("Hello", "Bye").replace(
        '"no x"', '"yes"'))  # fmt: skip
    got = outcomes(tmp_path, path, source)
    tolerant = {"test_raised_lax_1", "test_nothing_1", "test_class_1"}
    assert {name for name, verdict in got.items() if verdict == "PASSED"} == tolerant, source


def test_the_lines_are_the_docstring_s(tmp_path: Path) -> None:
    (tmp_path / "text.py").write_text(CODE)
    module = open_target(f"{tmp_path / 'text.py'}::f")
    source = render(module, [("f", [failing(RIGHT["state"])], ())], path=tmp_path / "test_it.py")
    body = source.partition("def test_f_1() -> None:\n")[2]
    code = [line.strip() for line in body.splitlines() if "#" not in line]
    assert code == ["d = {'a': 1}", "d['a'] = f(4)", 'assert d == {"a": 5}']
