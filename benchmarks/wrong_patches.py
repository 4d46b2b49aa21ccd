"""Plausible but wrong patches: how many get an input, or a test, that tells them from a right one?

    python benchmarks/wrong_patches.py ROWS wrong.jsonl... [--tests RUN...]

`wrong.jsonl`: fixes that apply and do not resolve their issue, as `refute grade --task repair`
writes them. Each is compared with the golden patch, as `refute vet` compares fixes: an input is
looked for on which they differ, with the calls to begin with that the tests near the change make;
where there is none, these tests are run with both, and their calls of what differs compared
("observed").
`--tests`: runs of `refute bench` whose tests (of `--task repair`,
those of the claim) are tried as well: a test separates the two where it passes with the golden one
and does not pass with the wrong one. Needs REFUTE_REPOS; environments are made as for grading.

More of them, where nobody wrote any: `python benchmarks/wrong_patches.py ROWS --partial OUT` writes
the golden patches of several hunks without one of these (drawn by the instance's name), and
`--slips OUT --seed N --count M` golden patches with a bug of `mutator.py` in a line that they add,
of M instances drawn at random (`--without` files of predictions: of none of theirs; only where the
project runs on Python 3.8 or newer). `refute grade ROWS OUT --task repair` then takes them apart
into right and wrong ones.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import subprocess
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from mutator import bugs

from refute.core.methods import Bounds
from refute.issue.observed_calls import observed_differences
from refute.issue.vet import vet_fix
from refute.verbs.vet import changes_of
from refute.workspace.factory import open_workspace
from refute.workspace.patches import file_patches, split_fix, test_files
from refute.workspace.repositories import find_clone
from refute_lab.benches.issues import RECORDS
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.runs import ErrorRecord, read_run
from refute_lab.swt.tasks import read_predictions
from refute_lab.swt.workspaces import prepared


def by_input(item: IssueItem, wrong: str, scratch: Path, seconds: float) -> tuple[str, str]:
    """What came of it ("differs", "observed", "no difference", "cannot tell"), and the input or why
    there is none."""
    base = prepared(item.problem, "local")
    folder = scratch / item.problem.id
    if not folder.exists():
        clone = find_clone(item.problem.repo, None)
        for command in (
            ["git", "clone", "-q", "--shared", "--no-checkout", str(clone.git_dir), str(folder)],
            ["git", "-C", str(folder), "checkout", "-q", item.problem.base_commit],
        ):
            subprocess.run(command, check=True, capture_output=True)
    found = changes_of(wrong, folder, base.python, item.key.patch, seconds=seconds)
    if isinstance(found, str):
        alike = found.startswith("no difference")
        return "no difference" if alike else "cannot tell", found
    comparisons = [one.comparison for one in found.functions]
    shown = [d for one in comparisons for d in one.differences]
    if shown:
        return "differs", shown[0].scenario.source
    if broken := next((one.broken for one in comparisons if one.broken), ""):
        return "differs", f"import of the module: {broken}"
    with open_workspace(base) as workspace:
        fixes, functions = (wrong, item.key.patch), found.changes.functions
        observed, why = observed_differences(fixes, functions, "", workspace, Bounds())
    if observed:
        one = observed[0]
        call = f"{one.function}({one.given})" if one.function else "it"
        return "observed", f"{one.test}: {call}: {one.before} | {one.after}"
    verdict = "cannot tell"
    if any(one.verdict == "no difference" for one in comparisons):
        verdict = "no difference"
    lines = [
        f"{one.function.after.target}: {one.verdict}, {one.ran} inputs"
        + f", lines {one.missed_before}, {one.missed_after} not reached"
        + (f" ({one.reason})" if one.reason else "")
        for one in comparisons
    ]
    lines.append(f"observed: {why or 'no difference'}")
    return verdict, "; ".join(lines)


def by_test(item: IssueItem, wrong: str, tests: str) -> bool | None:
    """Whether the tests separate the two; None: there are none, or they do not pass with gold."""
    if not test_files(tests):
        return None
    verdicts = []
    for fix in (item.key.patch, wrong):
        with open_workspace(prepared(item.problem, "local")) as workspace:
            bounds = Bounds(test_seconds=300.0)
            verdicts.append(vet_fix(fix, tests, workspace, bounds, most_neighbours=2).verdict)
    return None if verdicts[0] != "fixed" else verdicts[1] != "fixed"


def tests_of(run: Path) -> dict[str, str]:
    """Test patches of a run by instance."""
    _, records = read_run(run, RECORDS)
    found = {}
    for record in records:
        if not isinstance(record, ErrorRecord):
            claims = [step["tests"] for step in record.steps if step.get("kind") == "claim"]
            found[record.id] = claims[-1] if claims else record.prediction.patch
    return found


def without_a_hunk(patch: str, seed: str) -> str:
    """A unified diff without one of its hunks, drawn by the seed; "" where it has one only."""
    code = split_fix(patch)[1]
    files = [part for part in re.split(r"(?m)^(?=diff --git )", code) if part.strip()]
    hunks = [re.split(r"(?m)^(?=@@ )", file) for file in files]
    places = [(i, j) for i, parts in enumerate(hunks) for j in range(1, len(parts))]
    if len(places) < 2:
        return ""
    i, j = places[zlib.crc32(seed.encode()) % len(places)]
    del hunks[i][j]
    return "".join("".join(parts) for parts in hunks if len(parts) > 1)


def write_partial(rows: str, out: Path) -> None:
    """Predictions of the golden patches that can do without a hunk."""
    with out.open("w") as file:
        for item in load_issues(rows):
            patch = without_a_hunk(item.key.patch, item.problem.id)
            if patch:
                row = {"instance_id": item.problem.id, "model_name_or_path": "partial"}
                file.write(json.dumps({**row, "model_patch": patch}) + "\n")


def write_slips(rows: str, out: Path, seed: int, count: int, without: list[Path]) -> None:
    """Predictions of golden patches with a bug in a line that they add, one an instance."""
    known = {id for file in without for id in read_predictions(file)}
    items = [one for one in load_issues(rows) if one.problem.id not in known and _is_recent(one)]
    rng = random.Random(seed)
    rng.shuffle(items)
    made = 0
    with out.open("w") as file:
        for item in items:
            patch = slip(item, rng) if made < count else ""
            if patch:
                made += 1
                row = {"instance_id": item.problem.id, "model_name_or_path": f"slips-{seed}"}
                file.write(json.dumps({**row, "model_patch": patch}) + "\n")


def _is_recent(item: IssueItem) -> bool:
    recipe = item.problem.recipe
    version = recipe.python if recipe is not None else None
    return version is not None and tuple(map(int, version.split(".")[:2])) >= (3, 8)


def slip(item: IssueItem, rng: random.Random) -> str:
    """The golden patch with a bug in a line that it adds to a function; "" where it adds none."""
    clone = find_clone(item.problem.repo, None)
    with tempfile.TemporaryDirectory() as scratch:
        code = split_fix(item.key.patch)[1]
        for part in file_patches(code):
            if part.old is None or part.new != part.old or not part.new.endswith(".py"):
                return ""
            name = f"{item.problem.base_commit}:{part.old}"
            git = ["git", "-C", str(clone.git_dir), "show", name]
            text = subprocess.run(git, check=True, capture_output=True).stdout
            for side in "ab":
                Path(scratch, side, part.old).parent.mkdir(parents=True, exist_ok=True)
                Path(scratch, side, part.old).write_bytes(text)
        command = ["git", "apply", "-"]
        subprocess.run(command, cwd=Path(scratch, "b"), input=code.encode(), check=True)
        places = [
            (Path(scratch, "b", part.new or ""), name, part.added)
            for part in file_patches(code)
            for name in _functions_with(Path(scratch, "b", part.new or ""), part.added)
        ]
        rng.shuffle(places)
        for path, name, added in places:
            text = path.read_bytes()
            for bug in bugs(text, name, rng):
                lines = {text[: edit[0]].count(b"\n") + 1 for edit in bug.edits}
                if lines <= set(added):
                    path.write_bytes(bug.into(text))
                    command = [
                        "git",
                        "diff",
                        "--no-index",
                        "--src-prefix=",
                        "--dst-prefix=",
                        "a",
                        "b",
                    ]
                    done = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
                    return done.stdout
    return ""


def _functions_with(path: Path, lines: Sequence[int]) -> list[str]:
    """Qualified names of the functions of a file that hold some of the lines."""
    found = []

    def walk(body: list[ast.stmt], owner: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                walk(node.body, f"{owner}{node.name}.")
            elif isinstance(node, ast.FunctionDef) and any(
                node.lineno <= line <= (node.end_lineno or 0) for line in lines
            ):
                found.append(f"{owner}{node.name}")

    walk(ast.parse(path.read_bytes()).body, "")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows")
    parser.add_argument("wrong", nargs="*", type=Path)
    parser.add_argument("--partial", type=Path, help="write partial golden patches, and end")
    parser.add_argument("--slips", type=Path, help="write golden patches with a bug, and end")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--without", nargs="*", type=Path, default=[])
    parser.add_argument("--tests", nargs="*", type=Path, default=[])
    parser.add_argument("--seconds", type=float, default=12.0, help="for one function")
    arguments = parser.parse_args()
    if arguments.partial is not None:
        write_partial(arguments.rows, arguments.partial)
        return
    if arguments.slips is not None:
        options = arguments.seed, arguments.count, arguments.without
        write_slips(arguments.rows, arguments.slips, *options)
        return
    tests = {id: text for run in arguments.tests for id, text in tests_of(run).items()}
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        for file in arguments.wrong:
            predictions = read_predictions(file)
            for item in load_issues(arguments.rows, ids=list(predictions)):
                id = item.problem.id
                patch = predictions[id].patch
                found, input = by_input(item, patch, Path(scratch), arguments.seconds)
                told = by_test(item, patch, tests[id]) if id in tests else None
                results.append((found, told))
                line = {"id": id, "file": file.name, "input": found, "test": told, "shown": input}
                print(json.dumps(line), flush=True)
    n = len(results)
    inputs = sum(found == "differs" for found, _ in results)
    unknown = sum(found == "cannot tell" for found, _ in results)
    observed = sum(found == "observed" for found, _ in results)
    either = sum(found in ("differs", "observed") or bool(told) for found, told in results)
    print(
        f"{n} wrong patches: {inputs} get a separating input, {observed} more a call in the "
        f"project's own tests; {either} any of these or a given test; "
        f"of {unknown} it cannot be told"
    )


if __name__ == "__main__":
    main()
