"""What `hunt` and `debug` are pointed at: a module and the tests that are given with it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from refute.cli.output import consoles, remark

if TYPE_CHECKING:
    from refute.function.target import Module
    from refute.problems import UnitTest

__all__ = ["given_tests"]


def given_tests(module: Module, path: Path | None) -> dict[str, tuple[UnitTest, ...]]:
    """The given tests; what was left out of the file or of the module is said on stderr."""
    from refute.function.verbs import read_given

    given, skipped = read_given(module, path)
    remark(consoles()[1], (*(f"skipped {line}" for line in module.skipped), *skipped))
    return given
