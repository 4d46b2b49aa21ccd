"""The verbs as functions of a program: the same documents as on the command line."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import refute
import refute.verbs
import refute_lab
from refute.core.methods import NoOptions
from refute.core.registry import METHODS
from refute.doors import command_line
from refute_lab.runs.executors import EXECUTORS, Done, ExecutorSpec
from refute_lab.verbs.report import report

CODE = '''def half(n):
    """Half of n, rounded down.

    >>> half(4)
    2
    >>> half(9)
    4
    """
    return n // 3


def double(n):
    """Twice n.

    >>> double(4)
    8
    """
    return 2 * n
'''
LESS = "n // 3"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.py"
    path.write_text(CODE)
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, object]:
    form = ["--format", "json"] if arguments[0] in ("report", "data") else ["--json"]
    status = command_line.run([*arguments, *form])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("target", ["m.py::half", "."])
def test_the_same_document_as_on_the_command_line(
    file: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    status, document = printed(capsys, "hunt", target)
    assert (status, document) == (1, refute.hunt(target).to_dict())
    _, document = printed(capsys, "debug", target)
    result = refute.debug(target)
    assert document == result.to_dict()
    assert LESS in refute.debug(target, proposed=True).diff
    assert file.read_text() == CODE, "nothing is written unasked"


def test_what_a_result_offers(file: Path, tmp_path: Path) -> None:
    result = refute.debug("m.py::half", proposed=True)
    assert result.state in (refute.State.FIXED, refute.State.PROPOSED)
    assert result.tests
    assert result.candidates[0].code.count("n // 2") == 1
    assert "half" in str(result)
    page = result._repr_html_()
    assert "<pre" in page
    assert {*re.findall("#[0-9a-f]{6}", page)} <= {"#7f7f7f"}, "a notebook may be light or dark"
    assert "--" not in page.replace("---", ""), "and has no command line"
    assert repr(result) == f"<Debug: 1 {result.state}>"
    assert result.write() == [Path(file.name)]
    assert "n // 2" in file.read_text()


def test_tests_are_written_where_they_are_wanted(file: Path, tmp_path: Path) -> None:
    result = refute.hunt("m.py::half", output=tmp_path / "test_m.py")
    assert result.state is refute.State.WRONG
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "test_m.py"], capture_output=True
    )
    assert done.returncode == 1
    with pytest.raises(refute.InputError, match="exists; add --force"):
        refute.hunt("m.py::half", output=tmp_path / "test_m.py")
    assert result.write_pytest(tmp_path / "test_m.py", force=True) == [tmp_path / "test_m.py"]


def test_candidates_are_ranked(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "right.py").write_text(CODE.replace("n // 3", "n // 2"))
    result = refute_lab.judge("m.py::half", ["m.py", "right.py"])
    assert result.best == "right.py"
    _, document = printed(capsys, "judge", "m.py::half", "m.py", "right.py")
    assert document == result.to_dict()
    with pytest.raises(refute.InputError, match="k is for tests of a model"):
        refute_lab.judge("m.py::half", ["m.py"], set={"k": 3})


def test_in_a_notebook(file: Path) -> None:
    """Where an event loop is running already."""

    async def cell() -> tuple[refute.HuntResult, refute.HuntResult]:
        return refute.hunt("m.py::half"), await asyncio.to_thread(refute.hunt, "m.py::half")

    here, apart = asyncio.run(cell())
    assert here.to_dict() == apart.to_dict()


def test_a_program_prints_nothing_by_itself(file: Path) -> None:
    code = "import refute; refute.debug('m.py'); refute.hunt('m.py', tests=None)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=file.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_wrong_is_raised(file: Path) -> None:
    with pytest.raises(refute.InputError, match="gone"):
        refute.hunt("gone.py")
    with pytest.raises(refute.InputError, match="name a target"):
        refute.debug()
    with pytest.raises(refute.InputError, match="not an option of search"):
        refute.debug("m.py", set={"depth": 3})
    with pytest.raises(refute.InputError, match="budget = 0"):
        refute.hunt("m.py", budget=0)


def test_remarks_go_to_the_logger(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    (file.parent / "test_m.py").write_text("def test_it():\n    assert True\n")
    logger = logging.getLogger("refute")
    logger.propagate = True
    with caplog.at_level(logging.INFO, logger="refute"):
        refute.hunt("m.py::half", tests="test_m.py")
    assert any("no test executes" in record.getMessage() for record in caplog.records)


def test_options_of_any_method_on_the_command_line(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.run(["hunt", "m.py::half", "--set", "max_candidates=50"]) == 1
    capsys.readouterr()
    for bad, message in (
        (["--set", "max_candidates=0"], "max_candidates = 0: must be at least 1"),
        (["--set", "max_candidates=x"], "max_candidates = 'x': must be an integer"),
        (["--set", "temperature=0.5"], "temperature is for methods that ask a model"),
        (["--set", "calls=5"], "calls is not an option of search"),
        (["--set", "max_candidate=5"], "did you mean max_candidates?"),
        (["--set", "max_candidates"], "--set max_candidates: write NAME=VALUE"),
        (["--k", "3"], "--k is an option of the method hybrid: write --set k=3"),
        (["--no-vote"], "--no-vote is an option of the method hybrid: write --set vote=false"),
        (["--nonsense", "5"], "No such option '--nonsense'"),
        (["--method", "nope"], "--method nope: unknown method"),
        (["--method", "snippet"], "is for issues"),
    ):
        assert command_line.run(["hunt", "m.py::half", *bad]) == 2
        assert message in capsys.readouterr().err
    for bad in ({"max_candidates": "many"}, {"max_candidates": True}, {"max_candidates": 0}):
        with pytest.raises(refute.InputError, match="max_candidates = "):
            refute.hunt("m.py::half", set=bad)


ROWS = [
    {
        "id": name,
        "code": f"def half(n):\n    return n // {divisor}\n",
        "entry_point": "half",
        "description": "Half of n, rounded down.",
        "reference": "def half(n):\n    return n // 2\n",
        "inputs": [[4], [9]],
    }
    for name, divisor in (("right", 2), ("wrong", 3))
]


@dataclass(frozen=True)
class Here:
    """An executor that does one unit after the other in this process."""

    done: list[str]

    def run(self, units: Sequence[Any], start: Callable[[], Any], done: Done) -> None:
        work = start()
        for unit in units:
            self.done.append(unit[0])
            done(unit, work(unit))


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_a_bench_is_the_same_document_as_on_the_command_line(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[tuple[int, int]] = []
    result = refute_lab.bench(
        rows, method="none", run="run", jobs=1, progress=lambda *far: told.append(far)
    )
    assert isinstance(result, refute_lab.BenchResult)
    assert result.complete
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert result.figures["code_accuracy"].value == 0.5
    assert printed(capsys, "bench", str(rows), "--run", "run") == (0, result.to_dict())
    again = refute_lab.bench(rows, run=result.directory)
    assert again.to_dict() == result.to_dict(), "settings not given are those of the run"
    assert "method none" in str(again)


def test_a_bench_refuses_what_it_does_not_know(rows: Path) -> None:
    for settings, message in (
        ({"nope": 1}, "nope is not an option of none"),
        ({"runs": 2}, "asks? a model"),
        ({"grade": True}, "--grade is for issues"),
        ({"executor": "nope"}, "unknown executor; there are processes"),
    ):
        with pytest.raises(refute.InputError, match=message):
            refute_lab.bench(rows, method="none", **settings)
    assert not (rows.parent / "runs").exists()


def test_an_executor_of_somebody_else(
    rows: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EXECUTORS, "_own", {})
    done: list[str] = []
    EXECUTORS.register(ExecutorSpec(name="here", summary="", make=lambda workers: Here(done)))
    status, document = printed(capsys, "bench", str(rows), "--method", "none", "--executor", "here")
    assert (status, done) == (0, ["right", "wrong"])
    assert isinstance(document, dict)
    assert document["metrics"]["code_accuracy"]["value"] == 0.5
    result = refute_lab.bench(rows, method="none", executor=Here(done))
    assert result.to_dict()["metrics"] == document["metrics"]


def test_a_method_that_only_this_process_has(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Worker processes would not find it, so it is run here."""
    monkeypatch.setattr(METHODS, "_own", {})

    @refute.method("here", summary="knows it", cpu_bound=True)
    async def here(
        problem: refute.FunctionProblem, *, ctx: refute.Context, options: NoOptions
    ) -> refute.MethodResult:
        fixed = refute.Candidate(problem.code.replace("// 3", "// 2"), 1.0, ())
        return refute.MethodResult((), (), candidates=(fixed,))

    METHODS.register(here)
    result = refute_lab.bench(rows, method="here")
    assert isinstance(result, refute_lab.BenchResult)
    assert result.figures["code_accuracy"].value == 1.0


ROW = {
    "id": "t/0",
    "entry_point": "f",
    "code": "def f(n):\n    return n\n",
    "reference": "def f(n):\n    return n + 1\n",
    "inputs": [[1], [2]],
    "description": "One more than n.",
}


def test_a_report_is_the_same_document(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
    refute_lab.bench("rows.jsonl", method="none", run="run", jobs=1)
    found = report("run", "run")
    assert found.to_dict()["tables"][0]["rows"][0]["cells"][1]["value"] == 1
    assert printed(capsys, "report", "run") == (0, found.to_dict())
    found.write("page.html")
    assert "t/0" in Path("page.html").read_text()
    with pytest.raises(refute.InputError, match="no-such"):
        found.write("no-such/page.html")
    with pytest.raises(refute.InputError, match="name a run"):
        report()
    with pytest.raises(refute.InputError, match="cutoff are for runs over issues"):
        report("run", cutoff="2023-04-30")


def test_every_name_is_there() -> None:
    assert sorted(refute.__all__) == sorted([*refute._HOME, "__version__"])
    for name in refute.__all__:
        assert getattr(refute, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = refute.nope


def test_importing_it_imports_nothing_of_it() -> None:
    code = "import sys, refute; print(*(m for m in sys.modules if m.startswith('refute')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refute"]


def test_no_name_is_hidden_by_a_module_of_the_same_name() -> None:
    modules = {path.stem for path in Path(refute.__file__).parent.iterdir()}
    assert not modules & set(refute.__all__)
