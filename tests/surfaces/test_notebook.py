"""`%%refute`, with a shell that does what IPython's does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import refute
from refute.doors.notebook import looked_at

CELL = '''\
def half(n: int) -> int:
    """Half of it, rounded down.

    >>> half(4)
    2
    >>> half(7)
    3
    """
    return math.floor(n / DIVISOR) + 1
'''
EARLIER = [
    "",
    "from __future__ import annotations\nimport math\nDIVISOR = 3\nprint('not this')",
    "%matplotlib inline",
    "get_ipython().run_cell_magic('refute', '', 'DIVISOR = 2\\n')",
    "def half(n):\n    return 0",
]


class Shell:
    """What of IPython's shell is used."""

    def __init__(self, *, works: bool = True) -> None:
        self.ran: list[str] = []
        self.user_ns: dict[str, Any] = {"In": EARLIER}
        self.magics: dict[str, Any] = {}
        self._works = works

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        assert kind == "cell"
        self.magics[name] = function

    def run_cell(self, cell: str) -> Any:
        self.ran.append(cell)
        return SimpleNamespace(success=self._works)


def test_a_cell_is_run_and_its_functions_are_debugged() -> None:
    shell = Shell()
    refute.load_ipython_extension(shell)
    result = shell.magics["refute"]("debug 5", CELL)
    assert shell.ran == [CELL]
    assert result.state in ("fixed", "proposed")
    assert "+    return math.floor(n / DIVISOR)\n" in result.diff
    assert "half" in result._repr_html_()


def test_a_cell_that_fails_is_not_looked_at() -> None:
    shell = Shell(works=False)
    refute.load_ipython_extension(shell)
    assert shell.magics["refute"]("", CELL) is None


@pytest.mark.parametrize("cell", ["x = 1\n", "def ("])
def test_a_cell_without_a_function_is_bad_input(cell: str) -> None:
    with pytest.raises(refute.InputError, match="defines no function"):
        looked_at(cell, (), verb="hunt", seconds=1.0)


def test_an_unknown_word_is_bad_input() -> None:
    shell = Shell()
    refute.load_ipython_extension(shell)
    with pytest.raises(refute.InputError, match=r"write %%refute \[debug\|hunt\]"):
        shell.magics["refute"]("hnut", CELL)
