"""Runs of small repositories with the probe in them, in real interpreters."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from refute import probe
from refute.workspace.contract import TestResult
from refute.workspace.private_root import SCRATCH_BYTES
from refute.workspace.rooted_files import take_all
from refute.workspace.testruns import Told, read

VERSIONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


@dataclass(frozen=True)
class Ran:
    """A run's report and what it printed."""

    report: Told
    printed: str

    def outcomes(self) -> dict[str, str]:
        return {result.id: f"{result.outcome}/{result.phase}" for result in self.report.results}

    def result(self, name: str) -> TestResult:
        (found,) = [result for result in self.report.results if result.id == name]
        return found


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Write a repository, run its test files (all `test_*` unless told), and read the report."""

    def run(
        runner: str,
        sources: Mapping[str, str],
        *,
        select: Sequence[str] = (),
        tests: Sequence[str] = (),
        lines: Mapping[str, Sequence[int]] | None = None,
        options: Sequence[str] = (),
        python: str = sys.executable,
        env: Mapping[str, str] | None = None,
        import_only: bool = False,
    ) -> Ran:
        root = tmp_path / "repo"
        for name, source in sources.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source, "utf-8")
        channel = Path(os.path.realpath(tmp_path)) / f"channel-{secrets.token_hex(4)}"
        channel.mkdir()
        nonce = secrets.token_hex(16)
        base = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(tmp_path)}
        base |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **(env or {})}
        files = select or [name for name in sources if Path(name).name.startswith("test_")]
        ready, written = probe.environment(str(channel), nonce, lines, root, env=base)
        for name, data in written.items():
            (channel / name).write_bytes(data)
        process = subprocess.run(
            probe.command(
                runner, [] if tests else files, tests, options, python, import_only=import_only
            ),
            cwd=root,
            env=ready,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
        )
        trouble = [note.read_text() for note in channel.glob("trouble-*")]
        assert not trouble, "the probe had trouble of its own"
        printed = process.stdout.decode(errors="replace")
        left = take_all(str(channel), SCRATCH_BYTES)
        return Ran(read(left, nonce, lines), printed)

    return run


def interpreters() -> list[str]:
    """The interpreters of this machine's pyenv, one for each version; at least our own."""
    found = []
    for version in VERSIONS:
        folders = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*"))
        found += [str(folder / "bin" / "python") for folder in folders[-1:]]
    return [path for path in found if os.access(path, os.X_OK)] or [sys.executable]


@pytest.fixture(params=interpreters(), ids=lambda path: Path(path).parts[-3])
def interpreter(request: pytest.FixtureRequest) -> str:
    return str(request.param)
