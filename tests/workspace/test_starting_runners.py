"""A runner that cannot start is told from one that finds nothing; and what stays out of results."""

from __future__ import annotations

from dataclasses import replace

from refute.workspace.contract import TestSelection
from refute.workspace.local import LocalBackend
from refute.workspace.working_copy import WorkingCopy

from .shops import LIMITS, Shop

STRICT = b"[pytest]\naddopts = --strict-config --strict-markers\ncache_dir = .some/cache\n"
PATHS = b"""import os
import pytest

@pytest.mark.parametrize("path", [pytest.param(os.getcwd(), id=os.getcwd() + "/data")])
def test_path(path):
    assert os.path.isabs(path)
"""


def test_strict_configurations_and_machine_paths(shop: Shop) -> None:
    base = replace(shop.base, recipe=replace(shop.base.recipe, options=()))
    with WorkingCopy(LocalBackend(base, limits=LIMITS), base.recipe) as workspace:
        workspace.write("pytest.ini", STRICT)
        workspace.write("tests/test_path.py", PATHS)
        report = workspace.run_tests(TestSelection(("tests/test_path.py",)))
        assert (report.status, report.remark) == ("finished", "")
        (result,) = report.results
        assert result.id == "tests/test_path.py::test_path[<work tree>/data]"
        assert not [name for name in workspace.files() if "cache" in name]
        assert workspace.run("ls -d .some .pytest_cache").status
        again = workspace.run_tests(TestSelection(tests=(result.id,)))
        assert [one.outcome for one in again.results] == ["passed"]
        workspace.write("pytest.ini", STRICT + b"unknown_option = 1\n")
        report = workspace.run_tests(TestSelection(("tests/test_path.py",)))
        assert (report.status, report.results) == ("crashed", ())
        assert "did not start (exit status 4)" in report.remark
        assert "Unknown config option: unknown_option" in report.remark
