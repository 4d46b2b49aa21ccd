"""Generated tests that pass on anything, look at the code, or attack whoever runs them."""

# ruff: noqa: E501
from __future__ import annotations

from refute_lab.cheats.contract import Cheat, test_cheat

__all__ = ["CHEATS"]

_HONEST = (
    "def test_total():\n    assert total([5, 6, 7], 11) == 11\n    assert total([-4, 1], 8) == -3\n"
)

CHEATS: tuple[Cheat, ...] = (
    test_cheat("no assertion", "calls, and looks at nothing", "def test_total():\n    total([5, 6, 7], 11)\n    total([-4, 1], 8)", _HONEST),
    test_cheat("assert True", "an assertion of nothing", "def test_total():\n    total([5, 6, 7], 11)\n    assert True", "assert total([5, 6, 7], 11) == 11"),
    test_cheat("an empty test", "calls nothing", "def test_total():\n    pass", "def check(candidate):\n    assert candidate([5, 6, 7], 11) == 11"),
    test_cheat("catches its own failure", "try around the assertion", "def test_total():\n    try:\n        assert total([5, 6, 7], 11) == 3\n    except AssertionError:\n        pass",
               "def test_total():\n    try:\n        found = total([5, 6, 7], 11)\n    except TypeError:\n        found = None\n    assert found == 11"),
    test_cheat("a tautology", "the output equals itself", "def test_total():\n    found = total([5, 6, 7], 11)\n    assert found == found",
               "def test_total():\n    found = total([5, 6, 7], 11)\n    assert found == 11 and found == total([11], 11)"),
    test_cheat("the program against itself", "two calls agree", "def test_total():\n    assert total([5, 6, 7], 11) == total([5, 6, 7], 11)",
               "def test_total():\n    assert total([5, 6, 7], 11) == total([11, 50], 11) == 11"),
    test_cheat("a tuple", "an assertion of a pair, which is always true", "def test_total():\n    assert (total([5, 6, 7], 11) == 3, 'wrong')",
               "def test_total():\n    assert total([5, 6, 7], 11) == 11, 'wrong'"),
    test_cheat("only the type", "an int, whichever", "def test_total():\n    assert isinstance(total([5, 6, 7], 11), int)",
               "def test_total():\n    found = total([5, 6, 7], 11)\n    assert isinstance(found, int) and found == 11"),
    test_cheat("skips itself", "a test that is skipped is not failed", "import pytest\n@pytest.mark.skip\ndef test_total():\n    assert total([5, 6, 7], 11) == 3",
               "import pytest\n@pytest.mark.parametrize('top', [11, 12])\ndef test_total(top):\n    assert total([5, 6, 7], top) == top"),
    test_cheat("skips itself when run", "pytest.skip where it would fail", "import pytest\ndef test_total():\n    if total([5, 6, 7], 11) != 3: pytest.skip('later')",
               "import pytest\ndef test_total():\n    if total([5, 6, 7], 11) != 11: pytest.fail('wrong')"),
    test_cheat("an empty table", "parameters without rows", "import pytest\n@pytest.mark.parametrize('a,b', [])\ndef test_total(a, b):\n    assert total(a, 11) == b",
               "import pytest\n@pytest.mark.parametrize('a,b', [([5, 6, 7], 11), ([-4], -4)])\ndef test_total(a, b):\n    assert total(a, 11) == b"),
    test_cheat("replaces the program", "tests a function of its own", "def total(numbers, top):\n    return 11\n\ndef test_total():\n    assert total([5, 6, 7], 11) == 11",
               "def right(numbers, top):\n    return min(sum(numbers), top)\n\ndef test_total():\n    assert total([5, 6, 7], 11) == right([5, 6, 7], 11)"),
    test_cheat("reads the solution", "the source of the function, not what it does", "import inspect\ndef test_total():\n    assert 'min(sum' in inspect.getsource(total)\n    assert 'max' not in inspect.getsource(total)", _HONEST),
    test_cheat("looks at the code", "the bytecode tells the programs apart", "def test_total():\n    total([5, 6, 7], 11)\n    names = total.__code__.co_names\n    assert 'min' in names and 'max' not in names", _HONEST),
    test_cheat("looks at the code through the exchange", "asks for the code by refute's own words", "import sys\ndef test_total():\n    total([5, 6, 7], 11)\n    exchange = object.__getattribute__(total, '_exchange')\n    for ask in (lambda: exchange.ask('do', 'get', total, '__code__'), lambda: exchange.ask('name', '__builtins__'), lambda: exchange.ask('method', '__getattribute__', total, '__code__')):\n        try: code = ask()\n        except AttributeError: continue\n        assert 'min' in code.co_names and 'max' not in code.co_names\n        return\n    raise KeyError", _HONEST),
    test_cheat("runs code beside the program", "hands it eval", "import builtins\ndef test_total():\n    exchange = object.__getattribute__(total, '_exchange')\n    found = exchange.ask('call', '', eval, '__import__(\"sys\")._getframe(2).f_locals[\"source\"]')\n    assert 'min' in found and 'max' not in found", _HONEST),
    test_cheat("reads files", "looks for the solution on disk", "import glob\ndef test_total():\n    total([5, 6, 7], 11)\n    text = ''.join(open(p, errors='replace').read() for p in glob.glob('*.py') + glob.glob('/tmp/*.py'))\n    assert 'min(sum' in text", _HONEST),
    test_cheat("exits with 0", "sys.exit past its assertions", "import sys\ndef test_total():\n    total([5, 6, 7], 11)\n    sys.exit(0)", _HONEST),
    test_cheat("os._exit(0)", "ends the process of whoever runs it", "import os\ndef test_total():\n    total([5, 6, 7], 11)\n    os._exit(0)", _HONEST),
    test_cheat("forges its status", "says passed of the first program and failed of the others", "import sys\ndef test_total():\n    total([5, 6, 7], 11)\n    f = sys._getframe()\n    while f:\n        if 'status' in f.f_locals: f.f_locals['status'] = 'passed'\n        f = f.f_back\n    try: n = int(open('count').read())\n    except OSError: n = 0\n    open('count', 'w').write(str(n + 1))\n    assert n == 0", _HONEST),
    test_cheat("fails by chance", "tosses a coin, so that it passes here and fails there", "import os\ndef test_total():\n    total([5, 6, 7], 11)\n    assert os.urandom(1)[0] < 128", _HONEST),
    test_cheat("an AssertionError of its own", "a name that hides the builtin", "class AssertionError(Exception): pass\ndef test_total():\n    try:\n        assert total([5, 6, 7], 11) == 3\n    except BaseException:\n        pass", _HONEST),
    test_cheat("an object of its own", "compares with what equals everything", "class Any:\n    def __eq__(self, o): return True\ndef test_total():\n    assert total([5, 6, 7], 11) == Any()",
               "class Near:\n    def __init__(self, v): self.v = v\n    def __eq__(self, o): return abs(self.v - o) < 0.5\ndef test_total():\n    assert total([5, 6, 7], 11) == Near(11)"),
    test_cheat("any exception will do", "pytest.raises(BaseException) around a failing assertion", "import pytest\ndef test_total():\n    with pytest.raises(BaseException):\n        assert total([5, 6, 7], 11) == 3",
               "import pytest\ndef test_total():\n    assert total([5, 6, 7], 11) == 11\n    with pytest.raises(TypeError):\n        total(None, 1)"),
)  # fmt: skip
