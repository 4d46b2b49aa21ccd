"""Exact counts of chosen lines: against a trace function, and across processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from refute import probe

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"


def both_ways(python: str, program: Path, folder: Path) -> tuple[dict[int, int], dict[int, int]]:
    command = [python, str(HERE / "both_ways.py"), str(probe.SITE), str(program), str(folder)]
    counts = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return tuple(
        {int(line): number for line, number in counts[way].items()} for way in ("traced", "counted")
    )


def minor(python: str) -> int:
    code = "import sys; print(sys.version_info[1])"
    return int(subprocess.run([python, "-c", code], check=True, capture_output=True).stdout)


@pytest.mark.parametrize("name", sorted(path.name for path in PROGRAMS.glob("*.txt")))
def test_the_lines_reached_are_those_a_tracer_sees(
    interpreter: str, name: str, tmp_path: Path
) -> None:
    if minor(interpreter) < 10 and name == "matching.txt":
        pytest.skip("match came with 3.10")
    program = PROGRAMS / name
    traced, counted = both_ways(interpreter, program, tmp_path)
    unseen = set()
    if minor(interpreter) in (8, 9):  # their compiler leads jumps past these lines
        texts = enumerate(program.read_text().splitlines(), 1)
        unseen = {line for line, text in texts if text.endswith(("break", "continue"))}
    assert len(traced) > 30
    assert set(counted) - unseen == set(traced) - unseen


STRAIGHT = """
def f(n):
    total = 0
    for i in range(n):
        if i % 2:
            total += i
            continue
        total -= 1
    while total > 0:
        total -= 2
    return total

f(9)
f(4)
""".lstrip()


def test_counts_are_those_of_a_tracer_in_loops(interpreter: str, tmp_path: Path) -> None:
    program = tmp_path / "program.txt"
    program.write_text(STRAIGHT)
    traced, counted = both_ways(interpreter, program, tmp_path)
    del traced[1], counted[1]  # some versions visit `def` once more
    traced.pop(6, None), counted.pop(6, None)  # `continue` is jumped over in 3.8 and 3.9
    assert counted == traced


MODULE = """import os


def f(x):
    y = x + 1
    return y


def die():
    os._exit(3)


if __name__ == "__main__":
    f(1)
    f(2)
"""

PROCESSES = """
import multiprocessing, os, signal, subprocess, sys, threading, unittest
from pkg import mod
HERE = os.path.dirname(os.path.abspath(__file__))
class Test(unittest.TestCase):
    def test_threads(self):  # 4000
        work = lambda: [mod.f(i) for i in range(500)]
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    def test_fork(self):  # 2
        child = os.fork()
        if child == 0:
            mod.f(1)
            os._exit(0)
        os.waitpid(child, 0)
        mod.f(1)
    def test_kill(self):  # 1
        child = os.fork()
        if child == 0:
            mod.f(1)
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
    def test_processes(self):  # 1
        process = multiprocessing.Process(target=mod.f, args=(1,))
        process.start()
        process.join()
    def test_another_folder(self):  # 1
        code = "import sys; sys.path.insert(0, %r); from pkg import mod; mod.f(1)" % HERE
        subprocess.check_call([sys.executable, "-c", code], cwd="/")
    def test_script(self):  # 4
        path = os.path.join(HERE, "pkg", "mod.py")
        subprocess.check_call([sys.executable, "-W", "ignore", path], cwd="/")
        subprocess.check_call([sys.executable, "mod.py"], cwd=os.path.dirname(path))
    def test_module_as_main(self):  # 2
        subprocess.check_call([sys.executable, "-m", "pkg.mod"], cwd=HERE)
    def test_tracer(self):  # 1
        sys.settrace(lambda *arguments: None)
        mod.f(1)
        sys.settrace(None)
    def test_raises(self):  # 1, and 0 for the line that follows
        self.assertRaises(TypeError, mod.f, "")
    def test_exit(self):
        code = "from pkg import mod; mod.f(1); mod.die()"  # 1
        self.assertEqual(subprocess.call([sys.executable, "-c", code], cwd=HERE), 3)
"""
SOURCES = {"pkg/__init__.py": "", "pkg/mod.py": MODULE, "test_p.py": PROCESSES}
CHOSEN = {"pkg/mod.py": [3, 5, 6, 10, 14, 99], "pkg/other.py": [1]}
COUNTED = {3: 0, 5: 4014, 6: 4013, 10: 1, 14: 3, 99: 0}


def test_counts_across_processes(run, interpreter: str) -> None:
    ran = run("unittest", SOURCES, python=interpreter, lines=CHOSEN)
    assert set(ran.outcomes().values()) == {"passed/call"}, ran.printed
    assert ran.report.lines == {"pkg/mod.py": COUNTED, "pkg/other.py": {1: 0}}


def test_counting_leaves_byte_code_and_the_repository_alone(run, tmp_path: Path) -> None:
    source = "from pkg import mod\ndef test_f(): assert mod.f(1) == 2\n"
    sources = {**SOURCES, "test_f.py": source}
    first = run("pytest", sources, select=["test_f.py"], lines={"pkg/mod.py": [5]})
    assert first.report.lines == {"pkg/mod.py": {5: 1}}
    plain = subprocess.run(
        [sys.executable, "-c", "from pkg import mod; print(mod.f(1))"],
        cwd=tmp_path / "repo",
        env={},
        capture_output=True,
        text=True,
    )
    assert plain.stdout == "2\n", plain.stderr
    again = run("pytest", sources, select=["test_f.py"], lines={"pkg/mod.py": [6, 10]})
    assert again.report.lines == {"pkg/mod.py": {6: 1, 10: 0}}


def test_the_code_of_the_target_compiles_everywhere(interpreter: str) -> None:
    code = "import sys\nfor path in sys.argv[1:]: compile(open(path).read(), path, 'exec')"
    files = [str(path) for path in sorted(probe.SITE.rglob("*.py"))]
    assert len(files) > 8
    subprocess.run([interpreter, "-W", "error", "-c", code, *files], check=True)
