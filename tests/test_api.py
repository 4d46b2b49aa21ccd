"""The public API on one screen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import refute


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
