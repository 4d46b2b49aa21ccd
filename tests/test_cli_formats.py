"""The daily verbs as other programs use them: formats, lists of targets, baselines, budgets."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.function.parallel import LEAST, FunctionUnit, Searching, shared

Run = Callable[..., tuple[int, str, str]]
FUNCTION = (
    'def {name}(n: int) -> int:\n    """\n    >>> {name}(4)\n    2\n    """\n    return n // {by}\n'
)


def code(**functions: int) -> str:
    return "\n\n".join(FUNCTION.format(name=name, by=by) for name, by in functions.items())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two wrong functions and a right one."""
    (tmp_path / "m.py").write_text(code(half=3, other=5, fine=2))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_one_run_in_many_formats(refute: Run, folder: Path) -> None:
    saved = [f"--save={name}={folder / name}" for name in ("json", "junit", "text")]
    status, out, err = refute("hunt", "m.py", "--format", "jsonl", "--budget", 9, *saved)
    assert status == 1
    *found, last = lines(out)
    states = {line["function"]: line["state"] for line in found}
    assert states == {"half": "wrong", "other": "wrong", "fine": "passes"}
    assert {line["line"] for line in found} == {1, 9, 17}
    assert last["text"] == "2 wrong, 1 passes"
    assert json.loads((folder / "json").read_text())["schema"] == "hunt/1"
    assert 'failures="2"' in (folder / "junit").read_text()
    assert "half is wrong" in (folder / "text").read_text()
    assert "no oracle" in err  # notes go where they disturb no program


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--save", "xml=a"), "write FORMAT=FILE"),
        (("--save", "sarif"), "write FORMAT=FILE"),
        (("--save", "sarif=gone/a"), "gone/a is not a file in an existing folder"),
        (("--write-baseline",), "name the file with --baseline FILE"),
        (("--baseline", "gone.json"), "gone.json: does not exist"),
        (("--baseline", "m.py"), "m.py: not JSON"),
        (("--baseline", "b.json"), "b.json: not a baseline of refute"),
    ],
)
def test_bad_input_is_one_line(
    refute: Run, folder: Path, given: tuple[str, ...], said: str
) -> None:
    (folder / "b.json").write_text("{}")
    status, out, err = refute("hunt", "m.py", "--budget", 9, *given)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_known_problems_stay_quiet(refute: Run, folder: Path) -> None:
    known = ("--baseline", "known.json", "--budget", 9)
    status, _, err = refute("hunt", "m.py::half", *known, "--write-baseline")
    assert status == 0
    assert "1 known problem in known.json" in err
    status, out, err = refute("hunt", "m.py::half", *known)
    assert (status, out) == (0, "")
    assert "1 function with known problems alone" in err

    (folder / "m.py").write_text("# moved\n\n" + code(half=3, other=5))
    status, out, _ = refute("hunt", "m.py", *known, "--json")
    document = json.loads(out)
    assert status == 1
    assert document["function"] == "other"
    assert document["known"] == 1


def test_a_list_of_targets_on_stdin(
    refute: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("m.py::half\n\n  m:fine\n"))
    status, out, _ = refute("hunt", "-", "--format", "jsonl", "--budget", 9)
    assert status == 1
    assert [line["function"] for line in lines(out)[:-1]] == ["half", "fine"]
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    status, out, _ = refute("hunt", "-", "--json")
    assert (status, json.loads(out)["files"]) == (0, [])
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert refute("hunt", "-", "--since", "HEAD")[0] == 0  # not everything that changed


def test_what_no_time_is_left_for_is_named(refute: Run, folder: Path) -> None:
    status, out, err = refute("debug", "m.py", "--total-budget", 1e-9, "--json")
    left = json.loads(out)["skipped"]
    assert status == 5
    assert [one["where"] for one in left] == ["m.py::half", "m.py::other", "m.py::fine"]
    assert {one["kind"] for one in left} == {"no time left"}
    assert "no time was left for m.py::half, m.py::other, m.py::fine" in err


def test_the_time_for_all_is_shared(folder: Path) -> None:
    """What ends early leaves more to those behind it; nobody gets more than its own budget."""
    from refute.function.target import open_targets

    (module,) = open_targets(["m.py"]).modules
    units = [FunctionUnit(module, {})] * 4
    assert [one.share for one in shared(units, 2)] == [2 / 12, 2 / 9, 2 / 6, 2 / 3]
    assert [one.share for one in shared(units[:2], 2)] == [1 / 6, 1 / 3]  # in this process
    how = Searching(False, 10.0, end=time.monotonic() + 60.0)
    assert how.seconds(0.01) == LEAST
    assert how.seconds(0.1) == pytest.approx(6.0, abs=0.5)
    assert how.seconds(1.0) == 10.0
    assert Searching(False, 10.0, end=time.monotonic() - 1).seconds(1.0) == 0.0
    assert Searching(False, 0.5, end=time.monotonic() + 60.0).seconds(0.01) == 0.5
