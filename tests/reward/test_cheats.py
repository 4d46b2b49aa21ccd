"""No cheat is paid by refute's graders, and every honest twin is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from refute.sandbox.local import LocalSandbox
from refute_lab.rewards import Task, grade_suite
from refute_lab.verbs.cheats import CHEATS, TestTask, by_command, by_refute, try_cheats

SLOW = {"sleeps", "loops, and catches everything", "time stands still", "a result too large"}
"""Each takes seconds; `refute cheats` has them all."""


def test_no_cheat_is_paid_and_every_twin_is() -> None:
    chosen = [one for one in CHEATS if one.name not in SLOW]
    assert len(chosen) >= 130
    assert [one for one in try_cheats(chosen) if not one.good] == []


def test_no_suite_of_a_cheat_is_paid_by_sampled_programs() -> None:
    for one in CHEATS:
        if isinstance(one.task, TestTask):
            programs = [one.task.reference], one.task.faulty
            cheat = grade_suite(one.source, *programs, entry_point="total")
            twin = grade_suite(one.twin, *programs, entry_point="total")
            assert (cheat.cure, cheat.utrl) == (0, 0), one.name
            assert min(twin.cure, twin.utrl) > 0, one.name


def test_each_has_a_name_of_its_own_and_a_twin_that_differs() -> None:
    assert len({one.name for one in CHEATS}) == len(CHEATS)
    assert all(one.source != one.twin for one in CHEATS)
    assert sum(one.is_test for one in CHEATS) >= 20


def test_a_cheat_that_succeeds_is_seen(tmp_path: Path) -> None:
    grader = tmp_path / "grader.py"
    grader.write_text(
        "import json, sys\n"
        "asked = json.load(sys.stdin)\n"
        "names = {}\n"
        "exec(asked['program'], names)\n"
        "task = asked['task']\n"
        "ok = all(names['total'](*t['args']) == t['expected'] for t in task['tests'])\n"
        "print(json.dumps({'passed': ok}))\n"
    )
    names = ("always equal", "os._exit(0) in the call", "sleeps", "int subclass")
    chosen = [one for one in CHEATS if one.name in names]
    grades = by_command(f"{sys.executable} {grader}", timeout=2)
    found = {one.name: (one.cheat, one.twin) for one in try_cheats(chosen, grades)}
    assert found == {
        "always equal": ("paid", "paid"),
        "int subclass": ("paid", "paid"),
        "os._exit(0) in the call": ("died", "paid"),
        "sleeps": ("hung", "paid"),
    }


def test_the_command() -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "refute", "cheats", *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    done = run("always equal", "--json")
    counts = json.loads(done.stdout)
    assert done.returncode == 0
    assert counts["cheats"] == counts["twins_paid"] == 3
    assert counts["cheats_paid"] == 0
    done = run("always equal", "--grader", f"{sys.executable} -c 'print(dict(passed=1))'")
    assert done.returncode == 1
    assert "died" in done.stdout
    done = run("--grader", "/nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "refute: --grader: /nowhere: No such file or directory\n"


@pytest.mark.parametrize("kind", ["calls", "stdio", "asserts"])
def test_a_right_program_after_every_cheat_of_its_kind(kind: str) -> None:
    """What a cheat leaves behind in the sandbox changes no verdict on another program."""
    chosen = [
        one
        for one in CHEATS
        if isinstance(one.task, Task) and one.task.kind == kind and "result" in one.name
    ] or [one for one in CHEATS if isinstance(one.task, Task) and one.task.kind == kind][:6]
    honest = chosen[0]
    with LocalSandbox() as box:
        graded = by_refute(box)
        for one in chosen:
            if one.name not in SLOW:
                graded(one.source, one.task)
                assert graded(honest.twin, honest.task) == "paid", one.name
