"""The command line with a scripted method: shapes, exit statuses, files, messages."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.core.problems import Call, FunctionProblem, Trust, UnitTest
from refute.doors import command_line as cli
from refute.errors import SandboxUnavailable
from refute.function import project_sandbox
from refute.function.contract import (
    Ask,
    Candidate,
    FailingTest,
    Finding,
    MethodResult,
    Question,
)
from refute.sandbox import Raised, Returned
from refute.sandbox.values import encode

CODE = '''\
def half(n: int) -> int:
    """Half of n.

    >>> half(4)
    2
    """
    return n // 3  # wrong


def fine(n):
    return n
'''

STATED = FailingTest(UnitTest(Call((4,)), 2, source="description line 3"), Returned(encode(1)))
DERIVED = FailingTest(
    UnitTest(Call((6,)), 3, trust=Trust.PREDICTED, source="search", confidence=0.75),
    Raised("KeyError", "6"),
)
QUESTION = Question(Call((5,)), (Returned(encode(2)), Returned(encode(3))))


class Scripted:
    """A method that finds what it is told to find, and remembers what it was asked."""

    def __init__(self) -> None:
        self.problems: list[FunctionProblem] = []
        self.more: list[dict[str, Any]] = []
        self.failing = (STATED, DERIVED)
        self.findings: tuple[Finding, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.fixes = True
        self.question: Question | None = None
        self.known: tuple[UnitTest, ...] = ()
        self.answers: list[Any] = []
        self.error: BaseException | None = None

    def __call__(
        self, problem: FunctionProblem, *, box: Any, ask: Ask | None, **more: Any
    ) -> MethodResult:
        self.problems.append(problem)
        self.more.append(more)
        if self.error is not None:
            raise self.error
        if problem.entry_point != "half":
            return MethodResult(self.known, ())
        if ask is not None:
            try:
                self.answers.append(ask(QUESTION))
            except KeyError:
                self.answers.append(KeyError)
        fixed = [problem.code.replace("n // 3", text) for text in ("n // 2", "n - n // 2")]
        return MethodResult(
            given=problem.tests,
            failing=self.failing,
            findings=self.findings,
            candidates=tuple(Candidate(c, 1.0, ("line 7: `3` becomes `2`",), 0.875) for c in fixed)
            if self.fixes
            else (),
            question=self.question,
            notes=self.notes,
        )


@pytest.fixture
def method(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    scripted = Scripted()
    monkeypatch.setattr("refute.function.search.engine.search", scripted)
    return scripted


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.py"
    path.write_text(CODE)
    return path


Run = Callable[..., tuple[int, str, str]]


# -- hunt


def test_hunt_json(refute: Run, method: Scripted, file: Path) -> None:
    status, out, err = refute("hunt", f"{file}::half", "--json", "--seed", 3, "--budget", 30)
    assert status == 1
    assert json.loads(out) == {
        "schema": "hunt/1",
        "function": "half",
        "state": "wrong",
        "tests": [
            {
                "call": "half(4)",
                "expected": "2",
                "actual": "1",
                "status": "wrong",
                "source": "description line 3",
                "confidence": 1.0,
            },
            {
                "call": "half(6)",
                "expected": "3",
                "actual": "raises KeyError: 6",
                "status": "raised",
                "source": "search",
                "confidence": 0.75,
            },
        ],
        "found": True,
    }
    assert err == ""
    [more] = method.more
    assert more.keys() == {"budget", "seed", "max_candidates"}
    assert more["seed"] == 3
    assert 0 < more["budget"] < 30  # what the replay of the examples left
    assert method.problems[0].description.startswith("Half of n.")


def test_hunt_writes_a_test_file(refute: Run, method: Scripted, file: Path) -> None:
    output = file.parent / "test_m.py"
    status, _, err = refute("hunt", file, "-o", output)
    assert status == 1
    assert f"tests written to {output}" in err.replace("\n", "")
    assert run_pytest(output) == 1
    file.write_text(CODE.replace("// 3", "// 2"))
    assert run_pytest(output) == 0
    file.write_text(CODE)
    status, _, err = refute("hunt", file, "-o", output)
    assert status == 2
    assert "--force" in err
    assert refute("hunt", file, "-o", output, "--force")[0] == 1


def run_pytest(path: Path) -> int:
    """Its exit status. No byte code is kept: Python takes a file's for the file's next version
    where both have the same size and were written within the same second."""
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_given_tests_and_description(refute: Run, method: Scripted, file: Path) -> None:
    tests = file.parent / "tests.jsonl"
    tests.write_text('{"call": "half(8)", "expected": 4}\n')
    words = file.parent / "words.txt"
    words.write_text("Divide by two.")
    refute("hunt", f"{file}::half", "--tests", tests, "--description", words)
    (problem,) = method.problems
    assert problem.description == "Divide by two."
    assert [(t.call, t.expected) for t in problem.tests] == [(Call((8,)), 4)]
    tests.write_text('{"call": "other(8)", "expected": 4}\n')
    status, _, err = refute("hunt", f"{file}::half", "--tests", tests)
    assert (status, "holds no test of half" in err) == (2, True)


# -- debug


def test_debug_json(refute: Run, method: Scripted, file: Path) -> None:
    status, out, _ = refute("debug", f"{file}::half", "--json")
    document = json.loads(out)
    assert status == 0
    assert document["function"] == "half"
    assert document["fixed"] is True
    assert document["code"] == CODE.replace("// 3", "// 2")
    assert document["diff"] == (
        "--- a/m.py\n+++ b/m.py\n@@ -4,7 +4,7 @@\n     >>> half(4)\n     2\n"
        '     """\n-    return n // 3  # wrong\n+    return n // 2  # wrong\n \n \n def fine(n):\n'
    )
    assert [test["call"] for test in document["tests"]] == ["half(4)", "half(6)"]
    assert document["rounds"] == 1
    assert len(document["alternatives"]) == 1
    assert "code" not in document["alternatives"][0]
    assert (document["confidence"], document["alternatives"][0]["confidence"]) == (0.875, 0.875)
    assert "+    return n - n // 2" in document["alternatives"][0]["diff"]
    assert (document["state"], document["question"]) == ("fixed", None)
    assert file.read_text() == CODE


def test_an_open_question_makes_it_a_proposal(refute: Run, method: Scripted, file: Path) -> None:
    method.question = QUESTION
    status, out, _ = refute("debug", f"{file}::half", "--json")
    document = json.loads(out)
    assert (status, document["state"], document["fixed"]) == (4, "proposed", False)
    assert document["question"] == {"call": "half(5)", "outputs": ["2", "3"]}
    status, out, err = refute("debug", file, "--write")
    assert out.index("which is right for half(5)?") < out.index("half: proposed (88%): line 7")
    assert (status, file.read_text()) == (4, CODE)
    assert "only proposed, so not written without --proposed: half" in err
    assert refute("debug", file, "--write", "--proposed")[0] == 4
    assert file.read_text() == CODE.replace("// 3", "// 2")


@pytest.mark.parametrize(
    ("known", "failing", "state", "hunts", "debugs"),
    [
        ((), (), "cannot tell", 5, 5),
        ((STATED.test,), (), "passes", 0, 6),
        ((STATED.test,), (STATED,), "wrong", 1, 1),
    ],
)
def test_states_are_distinct(
    refute: Run,
    method: Scripted,
    file: Path,
    known: tuple[UnitTest, ...],
    failing: tuple[FailingTest, ...],
    state: str,
    hunts: int,
    debugs: int,
) -> None:
    method.known, method.failing, method.fixes = known, failing, False
    name = f"{file}::half" if failing else f"{file}::fine"
    status, out, _ = refute("hunt", name, "--json")
    assert (status, json.loads(out)["state"]) == (hunts, state)
    status, out, _ = refute("debug", name, "--json")
    assert (status, json.loads(out)["state"]) == (debugs, state)
    said = {"cannot tell": "cannot tell", "passes": "passes what is known (1 example)"}
    assert said.get(state, "is wrong") in refute("hunt", name)[1]
    assert said.get(state, "wrong: no fix found") in refute("debug", name)[1]


def test_debug_prints_a_diff_that_applies(refute: Run, method: Scripted, file: Path) -> None:
    status, out, _ = refute("debug", f"{file}::half")
    assert status == 0
    diff = out[out.index("--- a/m.py") : out.index("other fixes")]
    subprocess.run(["git", "apply", "-"], input=diff, text=True, cwd=file.parent, check=True)
    assert file.read_text() == CODE.replace("// 3", "// 2")


@pytest.mark.parametrize(("typed", "answer"), [("b\n", 3), ("x y\n[1]\n", [1]), ("\n", KeyError)])
def test_ask(
    refute: Run,
    method: Scripted,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    answer: Any,
) -> None:
    lines = iter(typed.splitlines())
    monkeypatch.setattr("builtins.input", lambda: next(lines))
    _, out, err = refute("debug", f"{file}::half", "--ask", "--json")
    assert method.answers == [answer]
    assert json.loads(out)["rounds"] == (1 if answer is KeyError else 2)
    assert "What should half(5) return?" in err
    assert "b) 3" in err


# -- errors


@pytest.mark.parametrize(
    "arguments",
    [
        ("hunt",),
        ("hunt", "missing.py"),
        ("hunt", "m.py::nope"),
        ("hunt", "m.py", "--budget", "0"),
        ("hunt", "m.py", "--bogus"),
        ("hunt", "m.py", "--tests", "missing.jsonl"),
        ("hunt", "raises.py"),
        ("hunt", "loops.py"),
        ("bench", "he-fix", "--data", "nowhere"),
        ("bogus",),
    ],
)
def test_bad_input_is_one_line(
    refute: Run, file: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(project_sandbox, "LOADING", 0.5)
    (file.parent / "broken.py").write_text("def f(:\n")
    (file.parent / "raises.py").write_text("import no_such_module\n\n\ndef f(): pass\n")
    (file.parent / "loops.py").write_text("def f(): pass\n\n\nwhile True: pass\n")
    status, out, err = refute(*arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("refute: ")
    assert err.strip("\n").count("\n") == 0


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (SandboxUnavailable("no\nkernel"), 3, "refute: no sandbox: no kernel; `refute doctor`"),
        (KeyboardInterrupt(), 130, "refute: interrupted"),
    ],
)
def test_other_errors(
    refute: Run, method: Scripted, file: Path, error: BaseException, status: int, message: str
) -> None:
    method.error = error
    got, out, err = refute("hunt", file)
    assert (got, out) == (status, "")
    assert err.lstrip("\n").startswith(message)
    assert err.strip("\n").count("\n") == 0


# -- the process


def test_help_is_light() -> None:
    code = "import sys, refute.doors.command_line; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"rich", "asyncio", "numpy", "json", "multiprocessing", "pytest"}


def test_debug_of_one_function_loads_what_it_needs(file: Path) -> None:
    """No event loop, no worker processes, nothing of models and issues without any of them."""
    code = (
        "import sys, refute.doors.command_line as c; c.run(sys.argv[1:]); print('', *sys.modules)"
    )
    command = [sys.executable, "-c", code, "debug", f"{file}::half"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("\n")[-2].split())
    assert not loaded & {"asyncio", "multiprocessing", "configparser", "refute.models.contract"}


def test_ctrl_c_at_the_very_end_prints_no_traceback() -> None:
    code = (
        "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "from refute.doors.command_line import main; main(['--version'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_doctor(refute: Run) -> None:
    status, out, _ = refute("doctor", "--json")
    checks = json.loads(out)["checks"]
    assert status == 0
    assert {"namespaces", "seccomp", "landlock", "docker", "podman"} <= {c["name"] for c in checks}
    assert all(check["works"] or check["remedy"] for check in checks)
    status, out, _ = refute("doctor")
    assert status == 0
    assert "resource limits" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Start with `refute hunt`"),
        (("help",), "Start with `refute hunt`"),
        (("help", "gate"), "Usage: refute gate"),
        (("version",), "refute "),
    ],
)
def test_the_first_screen_says_what_to_do(
    words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(words) == 0
    out, err = capsys.readouterr()
    assert said in out
    assert err == ""


def test_a_wrong_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["hnt"]) == 2
    assert "hnt: unknown command; did you mean hunt?" in capsys.readouterr().err
