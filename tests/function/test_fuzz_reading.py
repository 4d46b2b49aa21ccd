"""Reading never breaks: public functions of real packages, as far as nothing is executed.

The test draws some hundred functions of the standard library and of the packages installed beside
it.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from random import Random

from refute.errors import InputError
from refute.function.examples.scripts import described, scripts, slice_of
from refute.function.source import read_source
from refute.function.target import open_target, problem_of
from refute.source.syntax import lifted_limits

FILES, FUNCTIONS = 80, 3


def modules(folder: Path) -> list[Path]:
    """The Python files below a folder, in order; none of Python's own deliberately broken ones."""
    left_out = {"test", "tests", "idlelib", "lib2to3", "site-packages", "__pycache__"}
    found: list[Path] = []
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in left_out or Path(place) != folder)
        found += (Path(place, name) for name in sorted(files) if name.endswith(".py"))
    return found


def read(file: Path) -> int:
    """Read the first functions of a file; return how many."""
    read_source(file)
    module = open_target(str(file))
    for name in module.functions[:FUNCTIONS]:
        with lifted_limits():
            problem = problem_of(module, name)
            for script in (
                *scripts(problem.code, name),
                *described(problem.description, problem.code, name),
            ):
                for place in range(len(script.steps)):
                    slice_of(script.steps, place)
    return len(module.functions)


def test_reading_never_breaks() -> None:
    paths = sysconfig.get_paths()
    rng = Random(20)
    files = modules(Path(paths["stdlib"])) + modules(Path(paths["purelib"]))
    looked_at = 0
    for file in rng.sample(files, min(FILES, len(files))):
        try:
            looked_at += read(file)
        except InputError:  # not Python of this version, or no function
            continue
    assert looked_at >= 5
