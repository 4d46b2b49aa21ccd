"""Which share of real modules loads in the sandbox, and the reason of each that does not.

    python benchmarks/loading.py FOLDER... [--most 40] [--seed 0] [--skip test,tests,idlelib]
    python benchmarks/loading.py stdlib

Each FOLDER holds installed packages (a flat site folder); `stdlib` is this interpreter's standard
library. Tried is every module with a public function at its top level, at most `--most` of one
package, drawn at random. Prints a line for each that does not load, the share by package, and the
reasons; "internal" counts what is nobody's fault but ours.
"""

from __future__ import annotations

import argparse
import random
import sysconfig
import time
from collections import Counter
from pathlib import Path

from refute.errors import InputError
from refute.function.project import Surroundings
from refute.function.project_sandbox import ProjectSandbox, check_loads
from refute.function.target import open_target
from refute.sandbox.local import LocalSandbox


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", default="site-packages,test,tests,testing,idlelib,lib2to3")
    options = parser.parse_args()
    print(vars(options), flush=True)
    skip = set(options.skip.split(","))
    loaded: Counter[str] = Counter()
    tried: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    start = time.monotonic()
    for folder in options.folders:
        root = Path(sysconfig.get_path("stdlib") if folder == "stdlib" else folder).resolve()
        boxes: dict[Surroundings | object, LocalSandbox] = {}
        for package, files in sorted(modules(root, skip).items()):
            chosen = random.Random(f"{options.seed} {package}").sample(files, len(files))
            count = 0
            for file in chosen:
                if count >= options.most:
                    break
                reason = attempt(file, boxes)
                if reason == "no function":
                    continue
                count += 1
                tried[package] += 1
                loaded[package] += not reason
                if reason:
                    print(f"  {file.relative_to(root)}: {reason}", flush=True)
                    reasons[kind_of(reason)] += 1
        for box in boxes.values():
            box.close()
    for package, count in sorted(tried.items()):
        if loaded[package] < count:
            print(f"{package}: {loaded[package]} of {count}")
    total, good = sum(tried.values()), sum(loaded.values())
    print(f"{len(tried)} packages: {good} of {total} modules load ({good / max(1, total):.1%})")
    print(dict(reasons.most_common()), f"{time.monotonic() - start:.0f} s")


def modules(root: Path, skip: set[str]) -> dict[str, list[Path]]:
    """Every Python file below `root` by the package or module at the top that it belongs to."""
    found: dict[str, list[Path]] = {}
    for file in sorted(root.rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        if not skip & set(parts) and all(part.isidentifier() for part in parts):
            found.setdefault(parts[0], []).append(file)
    return found


def attempt(file: Path, boxes: dict[Surroundings | object, LocalSandbox]) -> str:
    """Load one module; "" when it does, else the reason."""
    try:
        module = open_target(str(file))
    except InputError as error:
        return "no function" if "no public function" in str(error) else str(error)
    around = module.surroundings
    key = (around.readable, around.import_path)
    if key not in boxes:
        boxes[key] = LocalSandbox(readable=around.readable, import_path=around.import_path)
    try:
        check_loads(module, ProjectSandbox(boxes[key], module))
    except InputError as error:
        return str(error).replace(str(file), "")
    except Exception as error:
        boxes.pop(key).close()
        return f"internal: {type(error).__name__}: {error}"
    return ""


def kind_of(reason: str) -> str:
    """The reason without its particulars."""
    if reason.startswith("internal"):
        return "internal"
    return reason.partition("cannot be loaded: ")[2].partition(":")[0] or "nothing there"


if __name__ == "__main__":
    main()
