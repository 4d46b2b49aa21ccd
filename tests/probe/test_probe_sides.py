"""Bare asserts of runners that rewrite none are told with the values of their sides."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from refute import probe

SITE = Path(probe.__file__).parent / "site"
TESTS = """\
class Liar(object):
    def __repr__(self):
        raise KeyError("no")


def test_plain():
    x = [3]
    assert x == [4]


def test_lines():
    y = 1
    assert (
        y + 1
        > len("abc")
    )


def test_message():
    assert 1 == 2, "own"


def test_chain():
    assert 1 < 1 < 3


def test_truth():
    assert not 1


def test_liar():
    assert Liar() == 3


def test_long():
    assert "a" * 9999 == "b"


def test_within():
    def inner(z):
        assert z == 1, ()
    test_plain()
"""
RUN = """
import json, sys
sys.path[:0] = [%r, "."]
from _refute_probe import failures
import made
told = {}
for name in sorted(vars(made)):
    if name.startswith("test"):
        try:
            getattr(made, name)()
        except AssertionError:
            failures.tell_sides(*sys.exc_info()[1:])
            told[name] = failures.current(".")["message"]
print(json.dumps(told))
"""


def test_the_sides_of_an_assert(interpreter: str, tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(TESTS)
    command = [interpreter, "-c", RUN % str(SITE)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    long = told.pop("test_long")
    assert len(long) < 700
    assert long.startswith("left: 'aaa")
    assert told == {
        "test_plain": "left: [3]; right: [4]",
        "test_lines": "left: 2; right: 3",
        "test_message": "own",
        "test_chain": "",
        "test_truth": "",
        "test_liar": "",
        "test_within": "left: [3]; right: [4]",
    }
