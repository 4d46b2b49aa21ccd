"""Odd sources: no verb breaks on them, and what lies beside them is looked at."""

# ruff: noqa: E501
from __future__ import annotations

from pathlib import Path

import pytest

from refute.core.problems import FunctionProblem
from refute.doors import command_line
from refute.errors import InputError
from refute.function.contract import MethodResult, State
from refute.function.search.engine import search
from refute.function.source import LARGEST_SOURCE
from refute.function.target import open_target, open_targets
from refute.function.verbs import hunt

from .diffing.repositories import commit

FINE = '\n\ndef fine(n: int) -> int:\n    """Add one.\n\n    >>> fine(3)\n    4\n    """\n    return n + {n}\n'
ELIF = "".join(f"    elif n == {i}:\n        return {i}\n" for i in range(1, 1200))


def function(name: str, value: str, *, body: str = "", head: str = "n") -> str:
    return f'def {name}({head}):\n    """\n    >>> {name}(3)\n    4\n    """\n{body}    return {value}\n\n\n'


NESTED = f"[{'[' * 90}n{']' * 90}, [{'lambda: ' * 60}n], {'[' * 18}n{' for _ in [1]]' * 18}, {{n}}]"
LONG = f"[n{' + 1' * 900}, {'-' * 900}n, n{'.real' * 900}, {'n < ' * 900}n, {{n}}]"
TEXTS = f"['\\ud800' * n, 0x{'f' * 20_000}, 'a\u2028b\x85c\x0bd', f'{{{{n!r:>{{{{n}}}}}}}}', {{n}}]"
DEEP = "".join(
    (
        function("chain", "{n}", body=f"    if n == 0:\n        return 0\n{ELIF}"),
        function("nested", NESTED),
        function("long", LONG),
        function("texts", TEXTS, body="\f"),
        function("wide", "wide_" * 1_000 + " + {n}", body=f"    {'wide_' * 1_000} = n\n"),
        function("default", "n + {n}", head=f"n={'-' * 500}1"),
        "".join(f"{' ' * d}class C{d}:\n" for d in range(90)) + " " * 90 + "def m(self): return {n}\n\n",
    )
)  # fmt: skip
"""Functions that load, in one module; `{n}` is what a change changes."""
ALONE: dict[str, bytes] = {
    "empty": b"",
    "blank": b"  \n\t\n",
    "null": b"x = 1\0\n",
    "returns": FINE.replace("\n", "\r").encode(),
    "mark": b"\xef\xbb\xbf" + FINE.encode(),
    "wide": FINE.encode("utf-16"),
    "cookie": b"# coding: latin-1\nX = '\xe9'\n" + FINE.encode(),
    "nocookie": b"# coding: no-such\n" + FINE.encode(),
    "surrogates": b"X = '\xed\xa0\x80'\n",
    "escapes": b"# coding: raw_unicode_escape\nX = '\\ud800'\n",
    "open": b"X = (\n" + b"def f[" * 3000,
    "toodeep": f"X = {'+'.join('1' * 20_000)}\n{FINE}".encode(),
    "toonested": f"X = {'-' * 30_000}1\n{FINE}".encode(),
    "unended": b"X = '''\n",
}
"""Modules of their own: most cannot be read, or do not load."""


def write(folder: Path, number: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").touch()
    deep = DEEP.replace("{n}", str(number)).replace("{{", "{").replace("}}", "}")
    (folder / "deep.py").write_text(deep + FINE.format(n=number + 1), "utf-8")
    for name, content in ALONE.items():
        text = content.replace(b"{n}", b"%d" % (number + 1))
        (folder / f"{name}.py").write_bytes(text + b"#" * number * bool(content))


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in which every odd function differs from HEAD."""
    monkeypatch.delenv("REFUTE_TRACEBACK", raising=False)
    write(tmp_path / "odd", 1)
    (tmp_path / "tests").mkdir()
    test = "from odd import deep\n\n\ndef test_fine():\n    assert deep.fine(1) == 4\n"
    (tmp_path / "tests" / "test_fine.py").write_text(test)
    (tmp_path / "conftest.py").touch()
    commit(tmp_path, {})
    write(tmp_path / "odd", 2)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ("debug", "odd", "--budget", "0.2", "--jobs", "1"),
        ("diff", "--budget", "0.2", "--jobs", "1"),
        ("gate", "--no-behaviour"),
        ("harden", "odd/deep.py::chain", "odd/deep.py::fine", "--budget", "2"),
    ],
    ids=lambda command: command[0],
)
def test_no_verb_breaks(
    repo: Path, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    status = command_line.run(command)
    said = capsys.readouterr()
    assert status in (0, 1, 4, 5, 6), said.err
    assert "internal error" not in said.out + said.err
    assert "Traceback" not in said.out + said.err
    if command[0] in ("debug", "diff"):
        assert "fine" in said.out
        assert "chain" in said.out


def test_a_surrogate_in_a_test_that_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The escape is in no raw string: the docstring holds half a character."""
    file, test = tmp_path / "half.py", tmp_path / "test_half.py"
    file.write_text('def f(s):\n    """\n    >>> f("\\ud800")\n    \'x\'\n    """\n    return s\n')
    assert command_line.run(["hunt", str(file), "-o", str(test), "--budget", "30"]) == 1, (
        capsys.readouterr()
    )
    assert '"\\ud800"' in test.read_text("utf-8")
    compile(test.read_text("utf-8"), str(test), "exec")


def test_a_long_number_in_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.refute]\nseed = {'9' * 5000}\n")
    monkeypatch.chdir(tmp_path)
    assert command_line.run(["hunt", "x.py"]) == 2
    assert "pyproject.toml: not TOML" in capsys.readouterr().err


def test_a_file_that_is_too_large_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "large.py"
    file.write_text("x = 1\n" * (LARGEST_SOURCE // 6 + 1))
    assert command_line.run(["hunt", str(file)]) == 2
    assert "large.py: is larger than the limit of 1 MiB" in capsys.readouterr().err


def test_no_file_is_read_when_the_time_is_up(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(FINE)
    with pytest.raises(InputError, match="in 2 files; for 2 of them no time was left"):
        open_targets([str(tmp_path)], end=0.0)


def test_no_stage_begins_when_the_time_is_up(tmp_path: Path) -> None:
    """Neither the examples nor the search read a large module again, and nothing is claimed."""
    file = tmp_path / "m.py"
    file.write_text(FINE.replace("{n}", "2"))
    asked: list[FunctionProblem] = []

    def solver(problem: FunctionProblem, ask: object, seconds: float) -> MethodResult:
        asked.append(problem)
        return search(problem, box=None, budget=seconds)  # type: ignore[arg-type]

    (found,) = hunt(open_target(str(file)), solver=solver, box=None, budget=0.0)  # type: ignore[arg-type]
    assert asked[0].examples == ()
    assert (found.state, found.known) == (State.CANNOT_TELL, 0)
    assert "time was up" in found.notes[0]
    assert not any("oracle" in note for note in found.notes)
