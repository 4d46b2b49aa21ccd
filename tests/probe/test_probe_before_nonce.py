"""Files of the tree that an interpreter could import or read before the probe has the nonce."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

THIEF = """
import os
def steal():
    folder = os.environ.get("REFUTE_PROBE")
    if folder and os.path.exists(os.path.join(folder, "secret")):
        with open(os.path.join(os.path.dirname(os.path.abspath(folder)), "stolen"), "a") as out:
            out.write(open(os.path.join(folder, "secret")).read() + " %s\\n" % {name!r})
steal()
"""
STARTS_EARLY = (
    "types.py", "runpy.py", "marshal.py", "json.py", "json/__init__.py", "_blake2.py", "hashlib.py",
    "traceback.py", "linecache.py", "re.py", "enum.py", "functools.py", "codecs.py", "io.py",
    "abc.py", "os.py", "site.py", "stat.py", "posixpath.py", "encodings/__init__.py",
    "encodings/utf_8.py", "sitecustomize.py", "usercustomize.py", "warnings.py", "fcntl.py",
    "importlib/__init__.py", "importlib/util.py", "collections/__init__.py", "keyword.py",
    "operator.py", "reprlib.py", "contextlib.py", "tokenize.py", "token.py", "pkgutil.py",
    "_refute_probe/__init__.py", "_refute_probe/channel.py", "channel.py",
    "counting.py", "failures.py", "__main__.py", "zipimport.py", "struct.py",
    "_sitebuiltins.py", "_bootlocale.py", "_virtualenv.py", "sysconfig.py", "ast.py",
)  # fmt: skip
"""Modules that some interpreter imports while it starts, or that the probe needs."""
READ_EARLY = {
    "pyvenv.cfg": "home = {root}\ninclude-system-site-packages = true\n",
    "python311._pth": "{root}\nimport site\n",
    "python._pth": "{root}\nimport site\n",
    "thief.pth": "import thief\n",
    "lib/python3.11/site-packages/thief.pth": "import thief\n",
    ".venv/lib/python3.11/site-packages/thief.pth": "import thief\n",
    ".local/lib/python3.11/site-packages/thief.pth": "import thief\n",
}
VARIABLES: dict[str, dict[str, str]] = {
    "none": {},
    "path": {"PYTHONPATH": "{root}"},
    "relative path": {"PYTHONPATH": ":.:lib"},
    "user's folder": {"PYTHONUSERBASE": "{root}/.local", "PYTHONNOUSERSITE": ""},
    "user's folder, relative": {"PYTHONUSERBASE": ".local", "PYTHONNOUSERSITE": ""},
    "home of the user": {"HOME": "{root}", "PYTHONNOUSERSITE": ""},
    "kept byte code": {"PYTHONPATH": "{root}", "PYTHONPYCACHEPREFIX": "{root}/cache"},
    "warnings": {"PYTHONPATH": "{root}", "PYTHONWARNINGS": "error::thief.Thief"},
    "safe path": {"PYTHONPATH": "{root}", "PYTHONSAFEPATH": "1"},
    "startup": {"PYTHONPATH": "{root}", "PYTHONSTARTUP": "{root}/thief.py", "PYTHONINSPECT": ""},
}


def thieves(root: Path, names: tuple[str, ...]) -> Mapping[str, str]:
    files = {name: THIEF.replace("{name!r}", repr(name)) for name in names}
    files |= {"thief.py": THIEF.replace("{name!r}", repr("thief"))}
    files |= {name: text.replace("{root}", str(root)) for name, text in READ_EARLY.items()}
    return files


@pytest.mark.parametrize(
    ("variables", "runner"),
    [*((name, "unittest") for name in VARIABLES), ("none", "pytest"), ("path", "pytest")],
)
def test_no_file_of_the_tree_is_read_before_the_nonce_is_taken(
    run, tmp_path: Path, variables: str, runner: str
) -> None:
    root = tmp_path / "repo"
    env = {n: v.replace("{root}", str(root)) for n, v in VARIABLES[variables].items()}
    run(runner, {"test_a.py": "def test_a(): pass\n", **thieves(root, STARTS_EARLY)}, env=env)
    assert not (tmp_path / "stolen").exists(), (tmp_path / "stolen").read_text()


def test_no_interpreter_reads_the_tree_before_the_nonce_is_taken(
    run, tmp_path: Path, interpreter: str
) -> None:
    root = tmp_path / "repo"
    sources = {"test_a.py": "def test_a(): pass\n", **thieves(root, STARTS_EARLY)}
    run("unittest", sources, python=interpreter, env={"PYTHONPATH": str(root)})
    assert not (tmp_path / "stolen").exists(), (tmp_path / "stolen").read_text()


FORGES = """
import os, sys
folder = os.environ.get("REFUTE_PROBE", "")
secret = os.path.join(folder, "secret")
if os.path.exists(secret) and not os.environ.get("FORGED"):
    os.environ["FORGED"] = "1"
    sys.path[:] = [p for p in sys.path if p not in ("", os.getcwd())]
    for name in ("types", __name__):
        sys.modules.pop(name, None)
    from _refute_probe.channel import open_channel
    emit = open_channel(folder)
    for record in (
        {"kind": "opened", "runner": "pytest", "python": [3, 11, 7]},
        {"kind": "planned", "tests": 1},
        {"kind": "started", "id": "test_a.py::test_wrong"},
        {"kind": "result", "id": "test_a.py::test_wrong", "file": "test_a.py", "outcome": "passed",
         "phase": "call", "failure": None},
        {"kind": "closed", "exit": 0, "failure": None, "planned": 1},
    ):
        emit(record)
    os._exit(0)
"""


@pytest.mark.parametrize("name", ["types.py", "sitecustomize.py", "encodings/__init__.py"])
@pytest.mark.parametrize("variables", ["none", "path"])
def test_a_fix_that_adds_a_module_signs_nothing(
    run, tmp_path: Path, name: str, variables: str
) -> None:
    env = {n: v.replace("{root}", str(tmp_path / "repo")) for n, v in VARIABLES[variables].items()}
    ran = run("pytest", {"test_a.py": "def test_wrong(): assert 1 == 2\n", name: FORGES}, env=env)
    assert not any(result.outcome == "passed" for result in ran.report.results)


SEES = """
import os, sys
def test_path():
    root = os.path.dirname(os.path.abspath(__file__))
    assert sys.path[0] == root
    assert sys.path.index(os.path.join(root, "lib")) < sys.path.index(os.path.dirname(os.__file__))
    assert not any(entry.endswith("_refute_probe") for entry in sys.path)
    assert os.environ["PYTHONPATH"].split(os.pathsep)[1:] == ["lib", root]
    assert os.environ["WHERE"] == root + "/here"
    import extra, sitecustomize
    assert extra.FOUND and sitecustomize.RAN == ["sitecustomize"]
def test_child():
    import subprocess
    code = "import sys, extra, sitecustomize; assert sitecustomize.RAN; print(sys.path)"
    assert os.path.dirname(os.path.abspath(__file__)) in subprocess.check_output(
        [sys.executable, "-c", code]).decode()
"""


def test_the_run_has_its_path_and_variables_all_the_same(run, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    env = {"PYTHONPATH": f"lib:{root}", "WHERE": f"{root}/here"}
    sources = {
        "test_a.py": SEES,
        "lib/extra.py": "FOUND = True\n",
        "sitecustomize.py": "RAN = ['sitecustomize']\n",
    }
    ran = run("pytest", sources, env=env, python=sys.executable)
    assert ran.outcomes() == {
        "test_a.py::test_path": "passed/call",
        "test_a.py::test_child": "passed/call",
    }, ran.printed


def test_an_error_in_a_sitecustomize_changes_nothing(run, tmp_path: Path) -> None:
    sources = {"test_a.py": "def test_a(): pass\n", "sitecustomize.py": "raise ValueError('x')\n"}
    ran = run("pytest", sources, env={"PYTHONPATH": str(tmp_path / "repo")})
    assert ran.outcomes() == {"test_a.py::test_a": "passed/call"}
    assert "Error in sitecustomize" in ran.printed
