"""The README's promise on the real examples: red test, fix, green test; no model anywhere."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from refute.doors import command_line

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def python(*arguments: str, cwd: Path) -> int:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, check=False
    ).returncode


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_red_fix_green(
    example: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(example, tmp_path)
    name, tests = example.name, "test_it.py"
    pytest_it = ("-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", tests)
    # hunt alone needs no fix; a busy machine gives debug as many candidates as a quiet one
    few, enough = (
        ["--set", "max_candidates=60"],
        ["--set", "max_candidates=1000", "--budget", "90"],
    )
    assert command_line.run(["hunt", name, "-o", tests, *few]) == 1
    assert python(*pytest_it, cwd=tmp_path) == 1
    capsys.readouterr()
    assert command_line.run(["debug", name, "--write", "--proposed", "--json", *enough]) in (0, 4)
    document = json.loads(capsys.readouterr().out)
    assert document["state"] in ("fixed", "proposed")
    assert (tmp_path / name).read_text() == document["code"]
    removed = re.findall(r"^-(?!--)", document["diff"], re.MULTILINE)
    assert 1 <= len(removed) <= 2  # one line for each of at most two faults
    assert python(*pytest_it, cwd=tmp_path) == 0
    assert python("-m", "doctest", name, cwd=tmp_path) == 0
    assert command_line.run(["hunt", name]) == 0


def test_the_readme_has_two_commands_and_they_name_real_files() -> None:
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert [block.count("\n") for block in blocks[:2]] == [1, 1]
    paths = re.findall(r"\b(?:examples|docs|src|benchmarks)/[\w/]+\.(?:py|md)\b", text)
    assert len(paths) >= 4
    assert [path for path in paths if not (ROOT / path).exists()] == []
