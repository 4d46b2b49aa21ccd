"""Fixtures that more than one room needs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute import cli

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores Ctrl-C, and so would every process that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("COLUMNS", None)  # tables are as wide as they need, whoever runs the tests

ROOT = Path(__file__).resolve().parent.parent

LONGEST = (
    "test_bench_issues.py",
    "test_redgreen_method.py",
    "test_grading.py",
    "test_pipeline.py",
    "test_vet.py",
    "test_cli_examples.py",
    "test_select.py",
    "test_model_resume.py",
    "test_vet_attacks.py",
    "test_llm_algorithms.py",
    "test_environment.py",
    "test_bench.py",
    "test_cli_issues.py",
    "test_agents_blind.py",
    "test_hf.py",
    "test_hybrid.py",
    "test_bench_model.py",
    "test_containers.py",
    "test_build.py",
    "test_blindness.py",
    "test_literals.py",
    "test_filtering.py",
    "test_sft.py",
    "test_data_cli.py",
)
"""Files of tests, longest first: `pytest_collection_modifyitems` starts with them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A long file begun last would keep one process busy while the others have nothing to do."""
    rank = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.path.name, len(rank)))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data: REFUTE_DATA, or ../shared/data next to the repository."""
    path = Path(os.environ.get("REFUTE_DATA") or ROOT.parent / "shared" / "data")
    if not path.is_dir():
        pytest.skip(f"no benchmark data: {path} is missing; set REFUTE_DATA")
    return path


@pytest.fixture
def refute(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: exit status, stdout, stderr."""

    def run(*arguments: Any) -> tuple[int, str, str]:
        status = cli.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
