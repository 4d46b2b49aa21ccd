"""Reading never breaks: public functions of real packages, as far as nothing is executed.

The test draws some hundred functions of the standard library and of the packages installed beside
it. All of a folder of packages, about 20 functions a second:

    python tests/function/test_fuzz_reading.py SITE_FOLDER [SHARE]
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
import traceback
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from refute.core.problems import Trust
from refute.errors import InputError
from refute.function.examples import read_examples
from refute.function.search.inputs import near_inputs
from refute.function.source import read_source
from refute.function.target import open_target, problem_of
from refute.source.syntax import lifted_limits

SECONDS = 15.0
FILES, FUNCTIONS = 120, 3


def modules(folder: Path) -> list[Path]:
    """The Python files below a folder, in order; none of Python's own deliberately broken ones."""
    left_out = {"test", "tests", "idlelib", "lib2to3", "site-packages", "__pycache__"}
    found: list[Path] = []
    for place, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name not in left_out or Path(place) != folder)
        found += (Path(place, name) for name in sorted(files) if name.endswith(".py"))
    return found


def read(file: Path, most: int | None = None) -> Iterator[tuple[str, BaseException | None, float]]:
    """Each function of a file: its name, what reading it raised, and the CPU seconds it took."""
    read_source(file)
    module = open_target(str(file))
    for name in module.functions[:most]:
        began = time.process_time()
        error: BaseException | None = None
        try:
            with lifted_limits():
                problem = problem_of(module, name)
                tests = read_examples(problem.description, name, code=problem.code)
                known = [test.call for test in tests if test.trust < Trust.HINT]
                for proposal in islice(near_inputs(problem, known, seed=0), 60):
                    repr(proposal)
        except Exception as caught:
            error = caught
        yield name, error, time.process_time() - began


def test_reading_never_breaks() -> None:
    paths = sysconfig.get_paths()
    rng = Random(20)
    files = modules(Path(paths["stdlib"])) + modules(Path(paths["purelib"]))
    began, looked_at = time.monotonic(), 0
    for file in rng.sample(files, min(FILES, len(files))):
        try:
            for name, error, _ in read(file, FUNCTIONS):
                assert error is None, f"{file}::{name}: {error!r}"
                looked_at += 1
        except InputError:  # not Python of this version, or no function
            continue
        if time.monotonic() - began > SECONDS:
            break
    assert looked_at >= 5


def main(folder: Path, share: float) -> int:
    """Read every public function (or a share of them) below a folder; print what broke."""
    looked_at = broken = refused = 0
    slow: list[tuple[float, str]] = []
    rng = Random(0)
    for file in modules(folder):
        if rng.random() > share:
            continue
        try:
            for name, error, seconds in read(file):
                looked_at += 1
                slow.append((seconds, f"{file}::{name}"))
                if error is not None:
                    broken += 1
                    print(f"{file}::{name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                    print("".join(traceback.format_tb(error.__traceback__)[-2:]), flush=True)
        except InputError:
            refused += 1
        except Exception as error:
            broken += 1
            print(f"{file}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    print(f"{looked_at} functions, {broken} broke; {refused} files without functions or not Python")
    for seconds, where in sorted(slow, reverse=True)[:5]:
        print(f"  {seconds:.1f} s {where}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1.0))
