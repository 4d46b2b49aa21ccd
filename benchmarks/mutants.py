"""Bugs in real functions, in place inside their packages: what refute shows, and what it fixes.

    python benchmarks/mutants.py --half dev --count 120 [--budget 10] [--out FILE] [--bugs FILE]
    python benchmarks/mutants.py --half dev --most 3000 ...     # candidates instead of seconds
    python benchmarks/mutants.py --kind method ...              # methods instead of functions

A bug of `mutator.py` goes into a public function that has a doctest (one in eight: only a test
file, given with `--tests`), in a private copy of its site folder, and is kept when at least 2 of
up to 200 sessions (`sessions.py`) show something else than the original, and one of them a value.
Three of four change one line, the others several. Then: does plain `doctest` (or the test file)
fail; which of the tests that `refute debug` shows pass on the original; is its first fix equal to
the original on all sessions, exceptions included. The bugs are written to `--bugs` once and read
from there again, so that versions of refute are compared on the same ones. `--most N` tries N
candidates a search whatever the time, in this process: figures that a busy machine does not change.
"""

from __future__ import annotations

import argparse
import ast
import json
import queue
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mutator import bugs, definition
from packages import (
    LIBRARY,
    Function,
    Half,
    Inside,
    Run,
    draw,
    functions,
    half_of,
    methods,
    parser,
    refute,
    share,
    spread,
    verdict_of,
    work,
)
from sessions import distinct, from_docstring, from_tests, varied

from refute.core.problems import FunctionProblem
from refute.errors import InputError
from refute.function.contract import Ask, MethodResult
from refute.function.project_sandbox import open_box, present
from refute.function.search.engine import search
from refute.function.target import open_targets
from refute.function.verbs import debug
from refute.results import as_dict
from refute.results.functions import debug_document
from refute.verbs.output import status_of_states

AMPLE = 600.0  # seconds, where candidates are counted
SESSIONS = 200
FEWEST = 20  # sessions that tell anything about a function
TESTS_ONLY = 8  # one bug in so many belongs to a function that only a test file shows
PER_PACKAGE = 6  # one package has at most a sixth of the bugs

Row = dict[str, Any]


def main() -> None:
    options = arguments().parse_args()
    half = half_of(options.half)
    stored = options.bugs or Path(tempfile.mkdtemp(prefix="refute-bugs-")) / "bugs.jsonl"
    if not stored.exists():
        drawn = methods(half) if options.kind == "method" else functions(half)
        rows = list(made(drawn, half, options.count, options.seed))
        stored.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    cases = [json.loads(line) for line in stored.read_text(encoding="utf-8").splitlines()]
    cases = cases[: options.count]
    print(f"{len(cases)} bugs in {stored}", flush=True)
    with copies(half, options.jobs) as sites:

        def measure(case: Row) -> Row:
            site = sites.get()
            try:
                return measured(case, half, site, options.budget, options.most)
            finally:
                sites.put(site)

        rows = work(cases, key=lambda case: case["id"], do=measure, options=options)
    show(list(zip(cases, rows, strict=True)), each=options.half == "dev")


def arguments() -> argparse.ArgumentParser:
    """The shared options and where the bugs are."""
    made = parser(__doc__, count=120, budget=10.0)
    made.add_argument("--bugs", type=Path, help="JSONL file of bugs: written once, then read")
    made.add_argument("--kind", choices=("function", "method"), default="function")
    made.add_argument("--most", type=int, help="candidates, instead of the budget")
    return made


@contextmanager
def copies(half: Half, count: int) -> Iterator[queue.Queue[Path]]:
    """Private copies of the site folder, by hard links: what changes is replaced, never written."""
    made: queue.Queue[Path] = queue.Queue()
    top = Path(tempfile.mkdtemp(prefix="refute-site-", dir=half.site.parent))
    top.chmod(0o755)
    try:
        for number in range(count):
            folder = top / str(number) / "site"
            folder.parent.mkdir()
            subprocess.run(["cp", "-al", str(half.site), str(folder)], check=True)
            made.put(folder)
        yield made
    finally:
        shutil.rmtree(top)


@contextmanager
def replaced(path: Path, text: bytes) -> Iterator[None]:
    """The file with another text for a while; its other hard links keep theirs."""
    old = path.read_bytes()
    path.unlink()
    path.write_bytes(text)
    path.chmod(0o644)
    try:
        yield
    finally:
        path.unlink()
        path.write_bytes(old)


def housed(function_path: str, site: Path, half: Half) -> Path:
    """Where the file of a case lies in a copy; a module of the standard library is put there."""
    path = Path(function_path)
    if path.is_relative_to(half.site):
        return site / path.relative_to(half.site)
    inner = path.relative_to(LIBRARY)
    place = site.parent / "library" / inner
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        if len(inner.parts) > 1:
            top = site.parent / "library" / inner.parts[0]
            shutil.copytree(LIBRARY / inner.parts[0], top, dirs_exist_ok=True)
        else:
            shutil.copyfile(path, place)
    return place


def made(every: Sequence[Function], half: Half, count: int, seed: int) -> Iterator[Row]:
    """The bugs, each with the sessions that show it."""
    rng = random.Random(seed)
    tests = {f.target: found for f in every if not f.doctest and (found := tests_of(f, half))}
    shown = iter(draw([f for f in every if f.doctest], len(every), seed))
    tested = iter(draw([f for f in every if f.target in tests], len(every), seed))
    per_package: Counter[str] = Counter()
    number = 0
    with copies(half, 1) as sites:
        site = sites.get()
        while number < count:
            only_tests = number % TESTS_ONLY == TESTS_ONLY - 1
            function = next(tested if only_tests else shown, None)
            if function is None:
                function, only_tests = next(shown, None), False
                if function is None:
                    return
            if per_package[function.package] >= count // PER_PACKAGE:
                continue
            several = number % 4 == 3 if not only_tests else rng.random() < 0.25
            path = tests[function.target] if only_tests else None
            row = bug_in(function, half, site, several, path, rng)
            if row is not None:
                number += 1
                per_package[function.package] += 1
                print(f"bug {number} of {count}", flush=True)
                yield row


def tests_of(function: Function, half: Half) -> Path | None:
    """The test file beside the module (`tests/test_NAME.py`) that names the function, if any."""
    path = function.source.path
    for folder in (path.parent / "tests", path.parent.parent / "tests"):
        file = folder / f"test_{path.stem}.py"
        name = function.name.rpartition(".")[2]
        if file.is_file() and from_tests(file.read_text(encoding="utf-8"), name):
            return file
    return None


def bug_in(
    function: Function,
    half: Half,
    site: Path,
    several: bool,
    tests: Path | None,
    rng: random.Random,
) -> Row | None:
    """A bug in the function that its sessions see; None where there is none."""
    path, text = function.source.path, function.source.path.read_bytes()
    place = housed(str(path), site, half)
    tree = ast.parse(text)
    node, name = definition(tree, function.name), function.name.rpartition(".")[2]
    if node is None:
        return None
    bodies: dict[str, list[str]] = {}
    if tests is None:
        known = list(from_docstring(function.docstring, name))
        module = function.source.module
    else:
        bodies = from_tests(tests.read_text(encoding="utf-8"), name)
        known = list(bodies.values())
        module = ".".join(tests.relative_to(half.site).with_suffix("").parts)
    sessions = varied(distinct(known)[:30], name, node, rng, 2 * SESSIONS)
    first = seen(place, module, sessions)
    again = seen(place, module, sessions)
    if first is None or again is None:
        return None
    kept = telling(sessions, first, again)
    if len(kept) < FEWEST:
        return None
    sessions, original = [sessions[i] for i in kept], [first[i] for i in kept]
    if tests is None:
        with Inside(folder_of(place, site)) as inside:
            before = inside.ask("doctest_of", module, function.name)
        if before is None or before[1]:
            return None  # fails as it is, here
    for tried, bug in enumerate(b for b in bugs(text, function.name, rng) if b.several == several):
        if tried == 8:
            return None
        with replaced(place, bug.into(text)):
            now = seen(place, module, sessions)
        if now is None:
            continue
        differ = sum(a != b for a, b in zip(original, now, strict=True))
        fair = any(not _ends_badly(b) for b in now)
        if differ >= 2 and fair:
            return {
                "id": f"{function.target} {bug.kind} {bug.edits[0][0]}",
                "path": str(path),
                "module": function.source.module,
                "function": function.name,
                "package": function.package,
                "kind": bug.kind,
                "several": several,
                "change": bug.change,
                "edits": [[start, end, new.decode()] for start, end, new in bug.edits],
                "tests": str(tests.relative_to(half.site)) if tests else None,
                "test functions": sorted(bodies),
                "observed in": module,
                "sessions": sessions,
                "original": original,
                "differ": differ,
            }
    return None


def _ends_badly(shown: list[str]) -> bool:
    return any(line.startswith(("raises ", "ends: ", "late")) for line in shown)


def telling(sessions: list[list[str]], first: list[Any], again: list[Any]) -> list[int]:
    """Sessions that show the same twice: mostly values, a quarter may raise."""
    steady = [i for i in range(len(sessions)) if first[i] == again[i] and "late" not in first[i]]
    good = [i for i in steady if not _ends_badly(first[i])]
    bad = [i for i in steady if _ends_badly(first[i])]
    return sorted((good + bad[: len(good) // 3])[:SESSIONS])


def folder_of(place: Path, site: Path) -> Path:
    """What has to be in front of the import path for the file to be found."""
    library = site.parent / "library"
    return library if place.is_relative_to(library) else site


def seen(place: Path, module: str, sessions: list[list[str]]) -> list[list[str]] | None:
    """What the sessions show with the file as it now is; None where it cannot even be imported."""
    folder = next(p for p in place.parents if p.name in ("site", "library"))
    with Inside(folder) as inside:
        found = inside.ask("observe", module, sessions, cpu=60.0)
    return found if isinstance(found, list) and len(found) == len(sessions) else None


def measured(case: Row, half: Half, site: Path, budget: float, most: int | None = None) -> Row:
    """Run refute on one bug and compare what it says with the original."""
    place = housed(case["path"], site, half)
    original = Path(case["path"]).read_bytes()
    text = original
    for start, end, new in sorted(case["edits"], reverse=True):
        text = text[:start] + new.encode() + text[end:]
    extra = ["--tests", str(site / case["tests"])] if case["tests"] else []
    target = f"{place}::{case['function']}"
    folder = folder_of(place, site)
    with replaced(place, text):
        with Inside(folder) as inside:
            if case["tests"]:
                failed = inside.ask("tests_fail", case["observed in"], case["test functions"])
                red = failed is None or bool(failed)
            else:
                tried = inside.ask("doctest_of", case["module"], case["function"])
                red = tried is None or tried[1] > 0
        run = (
            refute("debug", target, "--json", "--budget", str(budget), *extra)
            if most is None or case["tests"]  # a project's own runner counts nothing
            else counted(target, most)
        )
    verdict = verdict_of(run)
    stated = [t for t in verdict.tests if t.get("expected") is not None]
    crashes = [t for t in verdict.tests if t.get("expected") is None]
    pairs = [(t["call"], t["expected"]) for t in stated]
    with Inside(folder) as inside:
        judged = inside.ask("right", case["module"], pairs) or [None] * len(pairs)
        judged = [
            None if test.get("status") == "not-run" else one  # no evidence of anything
            for test, one in zip(stated, judged, strict=True)
        ]
        values = inside.ask("evaluate", case["module"], [t["call"] for t in crashes]) or []
    right = None
    if verdict.code is not None:
        with replaced(place, verdict.code.encode()):
            now = seen(place, case["observed in"], case["sessions"])
        right = now == case["original"]
    return {
        "kind": case["kind"],
        "several": case["several"],
        "tests only": bool(case["tests"]),
        "status": run.status,
        "state": verdict.state,
        "doctest red": red,
        "right tests": sum(j is True for j in judged),
        "wrong tests": sum(j is False for j in judged),
        "unclear tests": sum(j is None for j in judged),
        "right crashes": sum(not v.startswith("raises ") for v in values),
        "crashes": len(crashes),
        "confidences": [[t.get("confidence"), j] for t, j in zip(stated, judged, strict=True)],
        "right": right,
        "confidence": (run.document or {}).get("confidence"),
        "diff": verdict.diff,
        "shown": [t | {"right": j} for t, j in zip(stated, judged, strict=True)] + crashes,
        "error": run.error[-300:],
        "seconds": round(run.seconds, 2),
        "cpu": round(run.cpu, 2),
    }


def counted(target: str, most: int) -> Run:
    """What `refute debug --json` does, with so many candidates and no clock."""
    start = time.monotonic()
    try:
        (module,) = open_targets([target]).modules
        with open_box(module) as box:

            def solver(problem: FunctionProblem, ask: Ask | None, _: float) -> MethodResult:
                return search(problem, box=box, budget=AMPLE, ask=ask, max_candidates=most)

            here = present(module, box)
            fixes = list(debug(here, solver=solver, box=box, budget=AMPLE))
    except InputError as error:
        return Run(2, None, str(error), time.monotonic() - start, 0.0)
    document = as_dict(debug_document({module.source.path: fixes}))
    status = status_of_states([fix.state for fix in fixes], fixing=True)
    notes = " ".join(note for fix in fixes for note in fix.hunt.notes)
    return Run(status, document, notes[-2000:], time.monotonic() - start, 0.0)


def show(pairs: list[tuple[Row, Row]], *, each: bool) -> None:
    """Print the cases of a half that may be looked at, and the figures."""
    if each:
        for case, row in pairs:
            print(f"\n{case['id']} ({case['differ']} of {len(case['sessions'])} differ)")
            print("\n".join(f"    {line}" for line in case["change"].splitlines()[:8]))
            print(
                f"  doctest {'red' if row['doctest red'] else 'green'}; {row['state']}"
                f" (exit {row['status']}); tests {row['right tests']} right,"
                f" {row['wrong tests']} wrong, {row['unclear tests']} unclear;"
                f" fix right: {row['right']}; {row['seconds']} s"
            )
            for test in row["shown"]:
                if test.get("right") is not True:
                    print(f"    {test.get('right')}: {str(test)[:300]}")
            if row["right"] is False:
                lines = row["diff"].splitlines()
                print("\n".join(f"    {x}" for x in lines if x[:1] in "+-")[:600])
            if row["status"] not in (0, 1):
                print(f"    {row['error'][-250:]}")
    groups = {
        "one line": [row for _, row in pairs if not row["several"]],
        "several lines": [row for _, row in pairs if row["several"]],
        "only --tests": [row for _, row in pairs if row["tests only"]],
        "all": [row for _, row in pairs],
    }
    for name, rows in groups.items():
        if rows:
            totals(name, rows)


def totals(name: str, rows: list[Row]) -> None:
    """The figures of one group."""
    n = len(rows)
    red = [row for row in rows if row["doctest red"]]
    found = [row for row in rows if row["right tests"] or row["right crashes"]]
    fixed = [row for row in rows if row["state"] == "fixed"]
    proposed = [row for row in rows if row["state"] == "proposed"]
    first = [row for row in rows if row["right"]]
    derived = (
        sum(row["right tests"] for row in rows),
        sum(row["right tests"] + row["wrong tests"] + row["unclear tests"] for row in rows),
    )
    print(f"\n{name}: {n} bugs")
    print(f"  doctest or test file red: {share(len(red), n)}")
    print(f"  right failing test shown: {share(len(found), n)}")
    print(f"    of those red: {share(sum(row in found for row in red), len(red))}")
    print(f"  a wrong test shown: {share(sum(row['wrong tests'] > 0 for row in rows), n)}")
    print(f"  tests right: {share(*derived)}")
    print(f"  crash findings right: {sum(r['right crashes'] for r in rows)}"
          f" of {sum(r['crashes'] for r in rows)}")  # fmt: skip
    print(f"  of 'fixed' right: {share(sum(bool(r['right']) for r in fixed), len(fixed))}")
    print(f"  of 'proposed' right: {share(sum(bool(r['right']) for r in proposed), len(proposed))}")
    print(f"  fixed rightly: {share(sum(bool(r['right']) for r in fixed), n)}")
    print(f"  fixed or proposed rightly: {share(len(first), n)}")
    print(f"  states: {dict(Counter(row['state'] for row in rows).most_common())}")
    print(f"  exit statuses: {dict(sorted(Counter(row['status'] for row in rows).items()))}")
    print(f"  seconds: {spread([row['seconds'] for row in rows])}")
    print(f"  CPU seconds: {spread([row['cpu'] for row in rows])}")


if __name__ == "__main__":
    main()
