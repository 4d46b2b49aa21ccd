"""Fixtures that more than one room needs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores Ctrl-C, and so would every process that a test interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("COLUMNS", None)  # tables are as wide as they need, whoever runs the tests

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The benchmark data: REFUTE_DATA, or ../shared/data next to the repository."""
    path = Path(os.environ.get("REFUTE_DATA") or ROOT.parent / "shared" / "data")
    if not path.is_dir():
        pytest.skip(f"no benchmark data: {path} is missing; set REFUTE_DATA")
    return path
