"""How often each reader of worded examples is right, on docstrings of released packages.

    python benchmarks/readers.py FOLDER... [--only PACKAGE] [--show KIND]
    python benchmarks/readers.py stdlib

Reads what the docstrings of all public functions state outside of their doctests, and asks the
released code in the sandbox whether it is true. A rule (`Reading.kind`) that is right in fewer than
97 of 100 does not belong in `refute.function.examples.SURE`. A released function is taken to be
right; a call that cannot be made (a name is missing) counts as a wrong reading.
"""

from __future__ import annotations

import argparse
import sysconfig
from collections import Counter
from pathlib import Path

from loading import modules

from refute.core.problems import Trust
from refute.errors import InputError, SandboxUnavailable
from refute.function.examples import told
from refute.function.formatting import call_source, describe, expected_source
from refute.function.project_sandbox import open_box
from refute.function.target import open_target, problem_of
from refute.sandbox import Program
from refute.sandbox.equality import expect_test, matches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--only", default="", help="one package")
    parser.add_argument("--skip", default="site-packages,test,tests,testing,idlelib,lib2to3")
    parser.add_argument("--show", default="", help="a kind of which each wrong reading is shown")
    options = parser.parse_args()
    right: Counter[str] = Counter()
    read: Counter[str] = Counter()
    by_package: dict[str, Counter[str]] = {}
    for folder in options.folders:
        root = Path(sysconfig.get_path("stdlib") if folder == "stdlib" else folder).resolve()
        for package, files in sorted(modules(root, set(options.skip.split(","))).items()):
            if options.only and package != options.only:
                continue
            for file in files:
                try:
                    module = open_target(str(file))
                except InputError:
                    continue
                problems = [problem_of(module, name) for name in module.functions]
                found = [(p, kind, test) for p in problems for kind, test in told(p)]
                if not found:
                    continue
                try:
                    box = open_box(module)
                except (InputError, SandboxUnavailable):
                    continue
                with box:
                    for problem, kind, test in found:
                        program = Program(problem.code, problem.entry_point)
                        (outcome,) = box.run(program, [test.call])
                        good = matches(outcome, expect_test(test))
                        kind = kind if test.trust < Trust.HINT else f"{kind}, contradicted"
                        read[kind] += 1
                        right[kind] += good
                        by_package.setdefault(kind, Counter())[package] += 1
                        if not good and options.show in (kind, "all"):
                            name = problem.entry_point
                            print(
                                f"  {kind} {file.relative_to(root)}::{name} "
                                f"{call_source(test.call, name)} wants "
                                f"{expected_source(test)} does {describe(outcome)[:80]}"
                            )
    for kind, count in read.most_common():
        share = right[kind] / count
        spread = len(by_package[kind])
        print(f"{kind}: {right[kind]} of {count} right ({share:.1%}), in {spread} packages")


if __name__ == "__main__":
    main()
