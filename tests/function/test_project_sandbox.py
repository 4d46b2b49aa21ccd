"""Modules load in the sandbox as Python loads them, with the text under test in their place."""

from __future__ import annotations

import sysconfig
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, Expression, Invocation
from refute.errors import InputError
from refute.function.project_sandbox import ProjectSandbox, check_loads, present
from refute.function.target import Module, open_target
from refute.sandbox import Outcome, Program, Returned
from refute.sandbox.local import LocalSandbox

STDLIB = Path(sysconfig.get_path("stdlib"))


def project(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def house(module: Module) -> ProjectSandbox:
    around = module.surroundings
    box = LocalSandbox(readable=around.readable, import_path=around.import_path)
    return ProjectSandbox(box, module)


def outcomes(file: Path, *calls: Invocation, change: tuple[str, str] = ("", "")) -> list[Outcome]:
    """What calls of the first function do, with the file's text or an edited one."""
    module = open_target(str(file))
    text = module.source.text.replace(*change) if change[0] else module.source.text
    with house(module) as box:
        check_loads(module, box)
        return box.run(Program(text, module.functions[0]), calls)


def value(file: Path, *args: object, change: tuple[str, str] = ("", "")) -> object:
    (outcome,) = outcomes(file, Call(args=args), change=change)
    return outcome.value


CIRCULAR = {
    "pkg/__init__.py": "from .core import core\nfrom . import late\n__all__ = ['core', 'late']\n",
    "pkg/core.py": "from pkg import helper\nfrom .helper import twice\n"
    "def core(x): return twice(x) + helper.ONE\n",
    "pkg/helper.py": "import pkg\nONE = 1\ndef twice(x): return 2 * x\n"
    "def through(x): return pkg.core(x)\n",
    "pkg/late.py": "import pkg.core\nfrom pkg import *\nfrom pkg.helper import through\n"
    "def late(x): return core(x), through(x)\n",
}


def test_a_package_that_imports_its_module_gets_the_text(tmp_path: Path) -> None:
    """`from .core import core` replaces the submodule by the function; circles that Python allows
    load; what the other modules hold is the text under test, too."""
    project(tmp_path, CIRCULAR)
    assert value(tmp_path / "pkg/core.py", 3) == 7
    assert value(tmp_path / "pkg/core.py", 3, change=("ONE\n", "ONE + 100\n")) == 107
    assert value(tmp_path / "pkg/late.py", 3) == (7, 7)
    calls = [Expression("through(3)")]
    found = outcomes(tmp_path / "pkg/helper.py", *calls, change=("ONE = 1", "ONE = 50"))
    assert [o.value for o in found if isinstance(o, Returned)] == [56]


PLACED = {
    "an __init__": (
        "pkg/__init__.py",
        {"pkg/__init__.py": "from .a import A\ndef f(x):\n    from . import b\n    return A + b.B",
         "pkg/a.py": "A = 1", "pkg/b.py": "import pkg\nB = 1"},
    ),
    "src and a namespace": (
        "src/ns/inner/mod.py",
        {"pyproject.toml": "", "src/ns/inner/mod.py": "from .other import A\n"
         "import ns.inner.mod as me\ndef f(x): return A + (me.f is f)\n",
         "src/ns/inner/other.py": "A = 1"},
    ),
    "a namespace among installed packages": (
        "site-packages/ns/types.py",
        {"site-packages/ns/types.py": "import types\ndef f(x):\n"
         "    return 2 * (types.__name__ + __name__ == 'typesns.types')"},
    ),
    "a script beside its helper": (
        "tools/script.py",
        {"pyproject.toml": "", "tools/script.py": "from helper import A\ndef f(x): return A + 1\n"
         "if __name__ == '__main__':\n    raise SystemExit(f(1))\n",
         "tools/helper.py": "A = 1"},
    ),
    "a package with a name of the standard library": (
        "json/tool.py",
        {"json/__init__.py": "A = 1", "json/tool.py": "from json import A\ndef f(x): return A+1"},
    ),
    "classes that look for their module": (
        "mod.py",
        {"mod.py": "from __future__ import annotations\nimport pickle, enum, dataclasses, typing\n"
         "@dataclasses.dataclass\nclass P:\n    x: int\n    k: typing.ClassVar[int] = 0\n"
         "class E(enum.Enum):\n    A = 1\n@typing.overload\ndef f(x: int) -> int: ...\n"
         "@typing.overload\ndef f(x: str) -> str: ...\n"
         "def f(x):\n    assert typing.get_type_hints(P)['x'] is int\n"
         "    return pickle.loads(pickle.dumps((P(1), E.A))) == (P(1), E.A) and 2\n"},
    ),
    "a file beside the module": (
        "pkg/mod.py",
        {"pkg/__init__.py": "", "pkg/data.txt": "2", "pkg/mod.py":
         "import pkgutil, inspect, importlib.resources, sys\n"
         "DATA = pkgutil.get_data(__name__, 'data.txt')\n"
         "assert importlib.resources.files('pkg').joinpath('data.txt').read_bytes() == DATA\n"
         "SPEC = __spec__.name, __spec__.parent, __package__, __file__[-10:]\n"
         "def f(x):\n    assert SPEC == ('pkg.mod', 'pkg', 'pkg', 'pkg/mod.py'), SPEC\n"
         "    assert 'def f' in inspect.getsource(f)\n    assert sys.modules[__name__].f is f\n"
         "    return int(DATA)\n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PLACED)
def test_where_a_module_may_lie(case: str, tmp_path: Path) -> None:
    file, files = PLACED[case]
    project(tmp_path, files)
    assert value(tmp_path / file, 0) == 2


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("textwrap.py", "dedent('  a')", "a"),
        ("html/__init__.py", "escape('<')", "&lt;"),
        ("random.py::_test", "type(Random(1).random()) is float", True),
        ("os.py", "fspath(path.join('a', 'b'))", "a/b"),
        ("collections/__init__.py", "namedtuple('P', 'x')(1).x", 1),
        ("typing.py", "get_origin(List[int]) is list", True),
        ("json/decoder.py", "JSONDecoder().decode('[1]')", [1]),
    ],
)
def test_the_standard_library_itself(name: str, call: str, expected: object) -> None:
    """Also modules that the server has imported for itself: the text runs, the server goes on."""
    module = open_target(f"{STDLIB}/{name}")
    with house(module) as box:
        check_loads(module, box)
        text = f"{module.source.text}\n_MARKED_ = __name__\n"
        calls = [Expression(call), Expression("_MARKED_")]
        for _ in range(2):
            found = box.run(Program(text, "__name__"), calls)
            values = [o.value if isinstance(o, Returned) else o for o in found]
            assert values == [expected, module.surroundings.name]


def test_functions_that_are_not_there(tmp_path: Path) -> None:
    text = "def kept(x): return x\ndef gone(x): return x\ndel gone\n"
    text += "def bisect_left(a, x): return 0\nfrom _bisect import *\n"
    project(tmp_path, {"mod.py": text})
    module = open_target(str(tmp_path / "mod.py"))
    with house(module) as box:
        there = present(module, box)
        assert there.functions == ("kept",)
        assert [line.partition(":")[0] for line in there.skipped] == ["gone", "bisect_left"]
        assert "deleted" in there.skipped[0]
        assert "written in C" in there.skipped[1]
        with pytest.raises(InputError, match=r"mod\.py::gone: is not there"):
            check_loads(open_target(f"{tmp_path}/mod.py::gone"), box)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nosuchthing.part", r"No module named 'nosuchthing'; looked for in .*install it"),
        ("import winreg", "'winreg'; this Python's standard library has no such module here"),
        ("raise ImportError('only on Mars')", "mod.py:1: cannot be loaded: ImportError: only on"),
        ("from . import x", "attempted relative import with no known parent package"),
        ("while True: pass", "it does not end"),
    ],
)
def test_why_a_module_does_not_load(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refute.function.project_sandbox.LOADING", 1.0)
    monkeypatch.setattr("os.geteuid", lambda: 1000)  # else what root's folders are closed to
    project(tmp_path, {"mod.py": f"{text}\ndef f(x): return x\n"})
    with pytest.raises(InputError, match=message):
        outcomes(tmp_path / "mod.py")


def test_what_the_build_of_a_package_makes_is_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)  # else what root's folders are closed to
    text = "from pkg._version import version\ndef f(x): return x\n"
    project(tmp_path, {"pkg/__init__.py": "", "pkg/mod.py": text})
    with pytest.raises(InputError, match=r"pkg\._version'; where the build of pkg makes it, inst"):
        outcomes(tmp_path / "pkg/mod.py")


def test_a_slow_import_is_not_a_slow_call(tmp_path: Path) -> None:
    """A package may take seconds to load; a call of a candidate may take a part of one."""
    busy = "import time\nend = time.process_time() + 1.5\nwhile time.process_time() < end: pass\n"
    project(tmp_path, {"pkg/__init__.py": busy, "pkg/mod.py": "def f(x): return x"})
    assert value(tmp_path / "pkg/mod.py", 1) == 1


def test_a_module_is_loaded_once_for_all_its_functions(tmp_path: Path) -> None:
    """A folder's worth of functions took one import each before any of them was looked at."""
    text = "def f(x): return x\ndef g(x): return x\nif True:\n    def h(x): return x\n"
    project(tmp_path, {"mod.py": text})
    module = open_target(str(tmp_path / "mod.py::f"))
    loads: list[int] = []
    with house(module) as box:
        run = box.run

        def counting(*args: Any, **more: Any) -> list[Outcome]:
            loads.append(1)
            return run(*args, **more)

        box.run = counting  # type: ignore[method-assign]
        check_loads(module, box)
        assert present(module, box).functions == ("f",)
        assert present(open_target(str(tmp_path / "mod.py::g")), box).functions == ("g",)
        assert len(loads) == 1
        assert present(replace(module, functions=("h",)), box).functions == ("h",)
        assert len(loads) == 2
