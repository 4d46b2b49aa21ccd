"""Functions run on the interpreter of their project, with what is installed for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refute.doors import command_line
from refute.errors import InputError
from refute.function.target import interpreter_of
from refute.sandbox.interpreter import read_path_files

PYENV = Path.home() / ".pyenv" / "versions"
CODE = '''\
from shipping import RATE


def half(n):
    """Half of n.

    >>> half(4)
    2
    >>> half(10)
    5
    """
    return n // 3 + RATE - RATE
'''
FINDER = """\
import sys
from importlib.util import spec_from_file_location

MAPPING: dict[str, str] = {{'shipping': {folder!r}}}


class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in MAPPING:
            return spec_from_file_location(name, MAPPING[name] + '/__init__.py')


def install():
    sys.meta_path.append(Finder)
"""


@pytest.fixture(autouse=True)
def no_active_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    interpreter_of.cache_clear()


def newest(version: str) -> Path:
    """An installed interpreter of that version; skips where there is none."""
    found = sorted(PYENV.glob(f"{version}.*/bin/python3"))
    if not found:
        pytest.skip(f"no Python {version} here")
    return found[-1]


def make_project(folder: Path, python: Path = Path(sys.executable), env: str = ".venv") -> Path:
    """A project with an environment of its own; returns the environment's folder of packages."""
    (folder / "pyproject.toml").write_text("[project]\nname = 'p'\n")
    (folder / "m.py").write_text(CODE)
    subprocess.run([python, "-m", "venv", "--without-pip", folder / env], check=True, timeout=120)
    (site,) = (folder / env).glob("lib/python*/site-packages")
    return site


def ship(folder: Path) -> None:
    (folder / "shipping").mkdir(parents=True)
    (folder / "shipping" / "__init__.py").write_text("RATE = 7\n")


def hunted(folder: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    capsys.readouterr()
    words = ["hunt", f"{folder / 'm.py'}::half", "--budget", "30", "--json", *more]
    status = command_line.run(words)
    shown = capsys.readouterr()
    assert status == 1, shown.err
    document = json.loads(shown.out)
    assert isinstance(document, dict)
    return document


def test_an_environment_that_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p").mkdir()
    site = make_project(tmp_path / "p", env="../elsewhere")
    ship(site)
    assert command_line.run(["hunt", str(tmp_path / "p" / "m.py"), "--budget", "30"]) == 2
    error = capsys.readouterr().err
    assert "No module named 'shipping'" in error
    assert "looked for in" in error
    python = tmp_path / "elsewhere" / "bin" / "python"
    hunted(tmp_path / "p", capsys, "--python", str(python))


def test_judge_takes_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p").mkdir()
    ship(make_project(tmp_path / "p", env="../elsewhere"))
    task = tmp_path / "p" / "m.py"
    for name, text in {"a.py": CODE, "b.py": CODE.replace("// 3", "// 2")}.items():
        (tmp_path / name).write_text(text)
    words = ["judge", f"{task}::half", str(tmp_path / "a.py"), str(tmp_path / "b.py"), "--json"]
    assert command_line.run(words) == 2
    assert "No module named 'shipping'" in capsys.readouterr().err
    python = tmp_path / "elsewhere" / "bin" / "python"
    assert command_line.run([*words, "--python", str(python)]) == 0
    assert json.loads(capsys.readouterr().out)["best"] == str(tmp_path / "b.py")
    (tmp_path / "elsewhere").rename(tmp_path / "p" / ".venv")  # found as `hunt` finds it
    interpreter_of.cache_clear()
    assert command_line.run(words) == 0
    assert command_line.run([*words, "--python", str(tmp_path / "missing")]) == 2
    assert "cannot be run as an interpreter" in capsys.readouterr().err


def test_an_active_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "p").mkdir()
    ship(make_project(tmp_path / "p", env="../elsewhere"))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "elsewhere"))
    hunted(tmp_path / "p", capsys)


@pytest.mark.parametrize("kind", ["folder", "finder"])
def test_editable_installs(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = make_project(tmp_path)
    ship(tmp_path / "libs" / "src")
    if kind == "folder":
        (site / "__editable__.shipping-1.pth").write_text(f"{tmp_path / 'libs' / 'src'}\n")
    else:
        name = "__editable___shipping_1_finder"
        text = FINDER.format(folder=str(tmp_path / "libs" / "src" / "shipping"))
        (site / f"{name}.py").write_text(text)
        (site / "__editable__.shipping-1.pth").write_text(f"import {name}; {name}.install()\n")
    hunted(tmp_path, capsys)


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_other_versions_of_python(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ship(make_project(tmp_path, newest(version)))
    text = CODE.replace(
        "RATE\n\n", f"RATE\nimport sys\nassert '%d.%d' % sys.version_info[:2] == '{version}'\n\n", 1
    )
    (tmp_path / "m.py").write_text(text)
    document = hunted(tmp_path, capsys)
    assert "half(4)" in json.dumps(document)
    capsys.readouterr()
    status = command_line.run(["debug", f"{tmp_path / 'm.py'}::half", "--budget", "10"])
    shown = capsys.readouterr()
    assert status in (0, 4), shown
    assert "+    return n // 2" in shown.out


@pytest.mark.parametrize("version", ["2.7", "3.7"])
def test_versions_that_are_too_old(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = sorted(PYENV.glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} here")
    (tmp_path / "m.py").write_text("def half(n):\n    return n\n")
    assert command_line.run(["hunt", str(tmp_path / "m.py"), "--python", str(found[-1])]) == 2
    error = capsys.readouterr().err
    assert f"is Python {version}; functions run on 3.8 and newer" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["missing", "m.py", ".", "script"])
def test_interpreters_that_are_none(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.py").write_text("def half(n):\n    return n\n")
    (tmp_path / "script").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "script").chmod(0o755)
    status = command_line.run(["hunt", str(tmp_path / "m.py"), "--python", str(tmp_path / name)])
    assert status in (2, 3)
    error = capsys.readouterr().err
    assert "internal error" not in error
    assert error.count("\n") == 1


SPY = """\
import os
try:
    open({marker!r}, "w").close()
except OSError:
    pass
"""


def test_nothing_of_an_environment_in_the_project_runs_outside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The environment of an unpacked archive: git knows nothing of it, and it may hold anything."""
    marker = tmp_path / "marker"
    (tmp_path / "p").mkdir()
    site = make_project(tmp_path / "p")
    ship(site)
    spy = SPY.format(marker=str(marker))
    for name in ("numpy", "collections", "heapq", "json", "sitecustomize", "usercustomize"):
        (site / f"{name}.py").write_text(spy)
    (site / "spy.pth").write_text(f"import os; open({str(marker)!r}, 'w')\n")
    text = (tmp_path / "p" / "m.py").read_text()
    (tmp_path / "p" / "m.py").write_text(
        f"{text}\n\ndef other(a):\n    import numpy\n    return a\n"
    )
    command_line.run(["hunt", str(tmp_path / "p" / "m.py"), "--budget", "30"])
    assert not marker.exists()
    program = tmp_path / "p" / ".venv" / "bin" / "python"
    program.unlink()
    real = os.path.realpath(sys.executable)
    program.write_text(f'#!/bin/sh\ntouch {marker}\nexec {real} "$@"\n')
    program.chmod(0o755)
    interpreter_of.cache_clear()
    status = command_line.run(["hunt", str(tmp_path / "p" / "m.py"), "--budget", "30"])
    assert not marker.exists()
    assert status in (1, 2, 3, 5)
    assert "internal error" not in capsys.readouterr().err


def test_links_to_other_programs_are_not_started(tmp_path: Path) -> None:
    make_project(tmp_path)
    program = tmp_path / ".venv" / "bin" / "python"
    program.unlink()
    for name in ("/bin/rm", "/usr/bin/env", "/bin/sh"):
        program.symlink_to(name)
        interpreter_of.cache_clear()
        with pytest.raises(Exception, match=r"does not run|no installation|no interpreter"):
            interpreter_of(tmp_path, None)
        program.unlink()


def test_an_environment_that_git_tracks_is_refused(tmp_path: Path) -> None:
    ship(make_project(tmp_path))
    for words in (["init", "-q"], ["add", "-f", ".venv"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True, env={**os.environ, "HOME": "/"})
    with pytest.raises(InputError, match="is part of the repository; name an interpreter"):
        interpreter_of(tmp_path, None)


def test_path_files_are_read_as_data(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.pth").write_text("src\n# no\n\nmissing\nimport os; os.abort()\n\0\n")
    os.mkfifo(tmp_path / "b.pth")
    (tmp_path / "c.pth").symlink_to("/dev/zero")
    (tmp_path / "__editable___x_finder.py").write_text(
        f"MAPPING: dict[str, str] = {{'x': {str(tmp_path)!r}, 'y': 'src', 'z': 5}}\n"
    )
    (tmp_path / "__editable___y_finder.py").write_text("MAPPING: dict = " + "[" * 500)
    found = read_path_files([str(tmp_path), str(tmp_path / "missing")])
    assert found.folders == (str(tmp_path / "src"),)
    assert found.code == ("import os; os.abort()",)
    assert found.mapped == (str(tmp_path),)
