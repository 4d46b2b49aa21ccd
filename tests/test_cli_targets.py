"""`hunt` and `debug` over folders, modules and several files, in worker processes too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import DoctestSession
from refute.sandbox import Limits
from refute.sandbox.local import LocalSandbox

WRONG = '''\
def half{n}(x: int) -> int:
    """Half of x.

    >>> half{n}(4)
    2
    >>> half{n}(10)
    5
    """
    return x // 3
'''
FINE = 'def fine(x: int) -> int:\n    """\n    >>> fine(4)\n    4\n    """\n    return x\n'
UNKNOWN = "def unknown(x: int) -> int:\n    return x\n"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in {
        "shop/__init__.py": "",
        "shop/wrong.py": WRONG.format(n="") + "\n\n" + WRONG.format(n="2"),
        "shop/fine.py": FINE + "\n\n" + UNKNOWN,
        "shop/missing.py": f"import no_such_module\n\n\n{FINE}",
        "shop/broken.py": "def f(:\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_folder(refute: Run, project: Path, jobs: int) -> None:
    """One module that does not load, and one that is no Python, end nothing."""
    status, out, err = refute("hunt", "shop", "--json", "--budget", 30, "--jobs", jobs)
    document = json.loads(out)
    assert status == 1
    found = {
        (Path(f["file"]).name, g["function"], g["state"])
        for f in document["files"]
        for g in f["functions"]
    }
    assert found == {
        ("wrong.py", "half", "wrong"),
        ("wrong.py", "half2", "wrong"),
        ("fine.py", "fine", "passes"),
        ("fine.py", "unknown", "cannot tell"),
    }
    assert document["states"] == {"wrong": 2, "passes": 1, "cannot tell": 1}
    reasons = {Path(one["where"].partition("::")[0]).name: one for one in document["skipped"]}
    assert reasons["missing.py"]["kind"] == "cannot be loaded"
    assert "no_such_module" in reasons["missing.py"]["reason"]
    assert reasons["broken.py"]["kind"] == "cannot be read"
    assert "2 wrong, 1 passes, 1 cannot tell; not looked at:" in err
    assert "1 cannot be loaded" in err


def test_text_names_file_and_function(refute: Run, project: Path) -> None:
    _, out, err = refute("hunt", "shop", "--budget", 30, "-v")
    assert "shop/wrong.py::half2 is wrong" in out
    assert "shop/fine.py::fine: passes what is known (1 example)" in out
    assert "unknown" not in out
    assert "refute: shop/fine.py::unknown: no examples or tests\n" in err
    last = err.splitlines()[-1].replace("half2", "half")  # whichever is done first
    assert last == "refute: next: `refute debug shop/wrong.py::half` looks for a fix"
    assert refute("hunt", "shop", "--budget", 30, "-q")[2] == ""


def test_debug_writes_every_file(refute: Run, project: Path) -> None:
    (project / "more.py").write_text(WRONG.format(n="3"))
    status, out, err = refute("debug", "shop.wrong", "more.py", "--write", "--json", "--budget", 5)
    assert status == 0, err
    document = json.loads(out)
    assert [(Path(f["file"]).name, f["fixed"]) for f in document["files"]] == [
        ("wrong.py", True),
        ("more.py", True),
    ]
    assert (project / "shop/wrong.py").read_text().count("x // 2") == 2
    assert (project / "more.py").read_text().count("x // 2") == 1
    assert refute("hunt", "shop.wrong", "more.py", "--budget", 30)[0] == 0


def test_tests_of_many_files_go_to_a_folder(refute: Run, project: Path) -> None:
    (project / "tests").mkdir()
    assert refute("hunt", "shop", "--budget", 30, "-o", "tests")[0] == 1
    assert [path.name for path in (project / "tests").iterdir()] == ["test_wrong_refuted.py"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("shop", "-o", "one.py"), "go to a folder that exists"),
        (("shop/wrong.py", "-o", "nowhere/test_x.py"), "folder nowhere does not exist"),
        (("shop/wrong.py", "-o", "shop/fine.py"), "add --force"),
    ],
)
def test_where_tests_go_is_checked_before_the_search(
    refute: Run, project: Path, arguments: tuple[str, ...], message: str
) -> None:
    begun = time.monotonic()
    status, out, err = refute("hunt", *arguments, "--budget", 60)
    assert (status, out) == (2, "")
    assert message in err
    assert time.monotonic() - begun < 30


def test_what_is_done_is_kept_when_interrupted(project: Path) -> None:
    slow = (
        'def slow{n}(x):\n    """\n    >>> slow{n}(1)\n    1\n    """\n'
        '    __import__("time").sleep(0.2)\n    return x\n'
    )
    text = "\n\n".join(slow.format(n=n) for n in range(99))
    (project / "many.py").write_text(f"{WRONG.format(n='')}\n\n{text}")
    command = [sys.executable, "-u", "-m", "refute", "hunt", "many.py", "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--budget", "3", "-o", "test_many.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert any("half is wrong" in line for line in process.stdout)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "1 wrong" in err
    assert "Traceback" not in err
    assert "half(4) == 2" in (project / "test_many.py").read_text()


def test_a_folder_of_tests(refute: Run, project: Path) -> None:
    """A folder's test files are believed.

    The module `fine` is not its function `fine`: a test of `fine.unknown` is none of `fine`.
    """
    (project / "pyproject.toml").write_text("")
    (project / "tests").mkdir()
    whole = "def test_it():\n    assert"
    for name, text in {
        "test_fine.py": f"from shop.fine import unknown\n\n{whole} unknown(1) == 1\n",
        "odd.py": "def test_it(:\n",
        "test_odd.py": "def test_it(unknown:\n",
        "test_more.py": f"from shop import fine\n\n{whole} fine.unknown(2) == 3\n",
    }.items():
        (project / "tests" / name).write_text(text)
    status, out, err = refute("hunt", "shop/fine.py::unknown", "--budget", 20)
    assert (status, "is wrong" in out, "that import it" in err) == (1, True, True)
    options = ("--tests", "tests", "--budget", 20, "--json")
    status, out, err = refute("hunt", "shop/fine.py", *options)
    assert status == 1
    fine, unknown = json.loads(out)["functions"]
    assert (fine["function"], fine["state"]) == ("fine", "passes")
    assert "tests/test_more.py::test_it" in {test["call"] for test in unknown["tests"]}
    assert "tests/test_odd.py: cannot be collected" in err
    assert "--tests" not in err
    (project / "tests/test_fine.py").write_text("def test_it():\n    assert True\n")
    (project / "tests/test_more.py").unlink()
    status, out, err = refute("hunt", "shop/fine.py", "--tests", "tests", "--budget", 20)
    assert (status, "fine: passes" in out) == (0, True)  # by its docstring, as without --tests
    assert "tests: no test executes what is looked at" in err
    (project / "tests/test_fine.py").unlink()
    status, _, err = refute("hunt", "shop/fine.py", "--tests", "tests", "--budget", 20)
    assert (status, "tests: no test was run" in err) == (2, True)


def test_a_module_whose_doctests_pass_is_loaded_a_few_times(
    refute: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For all its functions together, in one sandbox for all modules."""
    asked: list[int] = []
    run_variants = LocalSandbox.run_variants

    def counted(self: LocalSandbox, programs: Any, calls: Any, *more: Any) -> Any:
        asked.append(len(calls))
        return run_variants(self, programs, calls, *more)

    def one(n: int) -> str:
        return f'def f{n}(x):\n    """\n    >>> f{n}(1)\n    {n + 1}\n    """\n    return x + {n}\n'

    monkeypatch.setattr(LocalSandbox, "run_variants", counted)
    for name in ("one.py", "two.py"):
        (project / "shop" / name).write_text("\n\n".join(map(one, range(30))))
    status, out, _ = refute("hunt", "shop/one.py", "shop/two.py", "--jobs", 1, "--json")
    assert (status, json.loads(out)["states"]) == (0, {"passes": 60})
    assert len(asked) == 4


def test_doctests_that_run_together_have_the_time_that_is_left(
    refute: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else many that hang would run past every budget before any function is looked at."""
    bounds: list[float | None] = []
    run_variants = LocalSandbox.run_variants

    def bounded(self: LocalSandbox, programs: Any, calls: Any, limits: Limits) -> Any:
        if isinstance(calls[0], DoctestSession) and len(calls) == 2:
            bounds.append(limits.run_wall)
        return run_variants(self, programs, calls, limits)

    monkeypatch.setattr(LocalSandbox, "run_variants", bounded)
    refute("hunt", "shop/wrong.py", "--budget", 8, "--jobs", 1)
    refute("hunt", "shop/wrong.py", "--total-budget", 9, "--jobs", 1)
    alone, together = bounds
    assert alone == 16
    assert together is not None
    assert together <= 9


def test_a_doctest_that_another_one_spoils(refute: Run, project: Path) -> None:
    """Run after the other it would fail; by itself it passes."""
    (project / "shop" / "state.py").write_text(
        'SEEN = []\n\n\ndef first(x):\n    """\n    >>> first(1)\n    1\n    """\n'
        "    SEEN.append(x)\n    return len(SEEN)\n\n\n"
        'def second():\n    """\n    >>> second()\n    0\n    """\n    return len(SEEN)\n'
    )
    status, out, _ = refute("hunt", "shop/state.py", "--json")
    found = [one["state"] for one in json.loads(out)["functions"]]
    assert (status, found) == (0, ["passes", "passes"])
