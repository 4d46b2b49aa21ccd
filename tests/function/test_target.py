"""Which functions are looked at, and how the file is read and written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.function.project import surroundings
from refute.function.source import read_source
from refute.function.target import open_target, problem_of

MODULE = '''\
"""A module."""


def add(a: int, b: int = 1) -> int:
    """Sum.

    >>> add(1, 2)
    3
    """
    return a - b


def _hidden():
    pass


async def later():
    pass


class Box:
    def open(self):
        def inner():
            pass


def even(n):
    return n % 2 == 0
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "box.py"
    path.write_text(MODULE)
    return path


def test_the_docstring_is_the_description(file: Path) -> None:
    module = open_target(f"{file}::add")
    problem = problem_of(module, "add")
    assert problem.description == "Sum.\n\n>>> add(1, 2)\n3"
    assert problem.signature == "add(a: int, b: int=1) -> int"
    assert problem.code == MODULE
    assert problem_of(module, "add", description="other").description == "other"


def test_wrong_files(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / "empty.py").write_text("")
    for name, message in (
        ("missing.py", "No such file"),
        ("broken.py", "broken.py:1: syntax error"),
        ("latin.py", "not a Python source file"),
        ("empty.py", "no public function"),
        (".", "is a folder"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            open_target(str(tmp_path / name))
        assert "\n" not in str(caught.value)


def test_a_module_of_a_package(tmp_path: Path) -> None:
    package = tmp_path / "project" / "src" / "shop"
    package.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    (package / "__init__.py").touch()
    (package / "prices.py").touch()
    around = surroundings(package / "prices.py")
    assert around.name == "shop.prices"
    assert around.package == "shop"
    assert around.import_path[0] == (tmp_path / "project" / "src").resolve()
    assert around.readable == ((tmp_path / "project").resolve(),)
    assert surroundings(package / "__init__.py").name == "shop"


def test_a_home_directory_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    (tmp_path / "notes").mkdir()
    below = surroundings(tmp_path / "notes" / "x.py")
    assert below.readable == ((tmp_path / "notes").resolve(),)
    directly = surroundings(tmp_path / "x.py")
    assert directly.readable == ()
    assert directly.import_path == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1\r\nb = 2\r\n", b"a = 1\r\nb = 3\r\nc = 4\r\n"),
        (b"\xef\xbb\xbfa = 1\nb = 2\n", b"\xef\xbb\xbfa = 1\nb = 3\nc = 4\n"),
        (b"# coding: latin-1\n# \xe9\nb = 2\n", b"# coding: latin-1\n# \xe9\nb = 3\nc = 4\n"),
        (b"a = 1\r\nx = 1\nb = 2\r\n", b"a = 1\r\nx = 1\nb = 3\r\nc = 4\r\n"),
        (b"b = 2", b"b = 3\nc = 4"),
    ],
)
def test_a_rewrite_keeps_encoding_and_line_ends(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    path = tmp_path / "x.py"
    path.write_bytes(before)
    path.chmod(0o751)
    source = read_source(path)
    assert "\r" not in source.text
    source.rewrite(source.text.replace("b = 2", "b = 3\nc = 4"))
    assert path.read_bytes() == after
    assert path.stat().st_mode & 0o777 == 0o751
    assert os.listdir(tmp_path) == ["x.py"]


def test_a_rewrite_does_not_overwrite_newer_work(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text("a = 1\n")
    source = read_source(path)
    path.write_text("a = 2\n")
    with pytest.raises(InputError, match="changed since"):
        source.rewrite("a = 3\n")
    assert path.read_text() == "a = 2\n"
