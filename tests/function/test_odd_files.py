"""Files and values that are legal Python and rare: each function gets an answer, none an error."""

# ruff: noqa: E501
from __future__ import annotations

import time
from pathlib import Path

import pytest

from refute.doors import command_line
from refute.errors import InputError
from refute.function.examples.scripts import described
from refute.function.source import read_source
from refute.source import syntax

DEEP = "[" * 180 + "]" * 180
FUNCTION = (
    'def f({parameters}):\n    """\n    >>> {call}\n    {shown}\n    """\n    return {value}\n'
)


def function(parameters: str = "x", call: str = "f(1)", shown: str = "2", value: str = "x") -> str:
    return FUNCTION.format(parameters=parameters, call=call, shown=shown, value=value)


ODD = {
    "a parameter by keyword only": function("*, x", "f(x=1)"),
    "by position only": function("x, /, y=1"),
    "infinity": function(call="f(1e999)"),
    "a long int": function(call="f(10**5000)"),
    "a very long int in hex": function(shown=f"0x{'f' * 100_000}"),
    "a long int in the code": function(value="x + 10**5000 + 0x" + "f" * 5000),
    "a signalling NaN": "from decimal import Decimal\n" + function(call="f(Decimal('sNaN'))"),
    "an array of no dtype": function(call="f(np.array([1], dtype=''))"),
    "a deep argument": function(call=f"f({DEEP})"),
    "a deep result": function(shown=DEEP),
    "returns a long fraction": "from fractions import Fraction\n" + function(value="Fraction(10**5000, 3)"),
    "returns an iterator of a long int": function(value="iter([10**5000])"),
    "returns a function": function(value="lambda: x"),
    "raises with a long int": function(value="[][10**5000]"),
    "odd defaults": function("x=10**5000, y=1e999, *, z=lambda: 1, w=..."),
    "odd annotations": function("x: 'no such (', y: 1 = 2, z: [int, 'x'] = None, *w: 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_answer(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "odd.py"
    file.write_text(ODD[name])
    for verb, *more in (("hunt",), ("debug", "--json")):
        status = command_line.run([verb, str(file), "--budget", "0.1", *more])
        said = capsys.readouterr()
        assert status in (0, 1, 4, 5, 6), said.err
        assert "trouble" not in said.out + said.err


def test_a_long_chain_of_elifs_leaves_the_others_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chain = "".join(f"    elif x == {n}:\n        return {n}\n" for n in range(1, 1500))
    long = f"def long(x):\n    if x == 0:\n        return 0\n{chain}\n\n"
    file = tmp_path / "odd.py"
    file.write_text(long + function(value="x + 2").replace("f(", "other("))
    status = command_line.run(["hunt", f"{file}::other", "--budget", "30"])
    said = capsys.readouterr()
    assert status in (1, 5), said.err  # 5: the machine was too busy to load it in time
    assert "trouble" not in said.out


@pytest.mark.parametrize("cookie", ["punycode", "no-such", "rot13"])
def test_a_cookie_that_does_not_decode(tmp_path: Path, cookie: str) -> None:
    file = tmp_path / "odd.py"
    file.write_bytes(f"# -*- coding: {cookie} -*-\nx = 'é\xff'\n".encode("latin-1"))
    with pytest.raises(InputError):
        read_source(file)


@pytest.mark.parametrize(
    "text",
    ["f(" * 10_000, "f([" * 7_000, "f('" * 7_000, 'f("' * 7_000, "f(1, " * 7_000, "f(f(1) " * 5_000,
     "f(" * 150 + ")" * 150, ("f(" * 190 + "1" + ")" * 190 + "\n") * 5, ">>> f(" * 5_000, "(" * 50_000],
    ids=range(10),
)  # fmt: skip
def test_a_description_full_of_brackets_takes_little_time(text: str) -> None:
    began = time.process_time()
    described(text, f'def f(x):\n    """{text}"""\n', "f")
    assert time.process_time() - began < 10


def test_a_module_is_read_as_often_for_many_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nothing is red no search is prepared, and each reader has the module in one piece."""
    read: list[str] = []
    parse = syntax._parsed
    monkeypatch.setattr(syntax, "_parsed", lambda source: read.append(source) or parse(source))
    monkeypatch.setattr("refute.function.search.repair.Trial", None)
    for many in (4, 24):
        file = tmp_path / f"m{many}.py"
        made = (
            function(call=f"f{i}(1)", shown="1").replace("f(", f"f{i}(", 1) for i in range(many)
        )
        file.write_text("\n\n".join(made))
        assert command_line.run(["hunt", str(file), "--jobs", "1"]) == 0, capsys.readouterr()
    few, more = (read.count((tmp_path / f"m{many}.py").read_text()) for many in (4, 24))
    assert few == more
