"""`git apply` as the judge of every patch."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from refute.issue.edits import Applied
from refute_lab.baselines.edits import Form, read_edits

Judge = Callable[..., tuple[dict[str, str], Applied]]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Applies an answer's edits to files; what `git apply` makes of the patch, and the rest."""

    def apply(answer: str, form: Form, files: Mapping[str, str]) -> tuple[dict[str, str], Applied]:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(text.encode())
        applied = read_edits(answer, form).apply(files.get)
        if applied.patch:
            done = subprocess.run(
                ["git", "apply", "-"],
                input=applied.patch.encode(),
                cwd=tmp_path,
                env={"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)},
                capture_output=True,
            )
            assert done.returncode == 0, done.stderr.decode() + applied.patch
        after = {
            str(path.relative_to(tmp_path)): path.read_bytes().decode()
            for path in sorted(tmp_path.rglob("*"))
            if path.is_file()
        }
        return after, applied

    return apply
