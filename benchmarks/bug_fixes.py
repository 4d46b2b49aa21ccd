"""How often each kind of edit is what fixed a bug: counted in the histories of public projects.

    python benchmarks/bug_fixes.py mine FOLDER --out fixes.jsonl   # FOLDER/OWNER+NAME/repo: bare
    python benchmarks/bug_fixes.py count fixes.jsonl               # a table, by halves of projects
    python benchmarks/bug_fixes.py count fixes.jsonl --write       # search/rules/weights.json

A bug fix: a commit whose message speaks of a fix or a bug, and that changes one place of four lines
at most, in one function of one file that is no test. Commits that the search has an edit for are
counted. The weights are those that make the fixes likeliest (a multinomial choice among all edits
of the function, by maximum likelihood; Hunter, 2004, "MM algorithms for generalized Bradley-Terry
models"), drawn to the weight set by hand where a kind was seen seldom. Projects whose packages or
issues the search is measured on are left out; odd ones of the others are kept for the report.
Histories are read, nothing of them runs.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from packages import ROOT

from refute.function.search.edit import applied, same
from refute.function.search.mutants import singles_of
from refute.function.search.rules import RULES
from refute.function.search.rules.rule import UNCOUNTED
from refute.source.syntax import first_line, functions_in, parse_module

WEIGHTS = ROOT / "src/refute/function/search/rules/weights.json"
MOST, LONGEST, LARGEST = 100, 4, 200_000
"""Fixes of a project, the newest; lines of a place; characters of a file."""
PSEUDO = 4.0
"""Fixes that each kind is thought to have had before any was counted."""


def fixes(repo: Path) -> Iterator[tuple[str, str, range]]:
    """Yield the file before and after each fix, and the lines that it changes."""
    git = ["git", f"--git-dir={repo}"]
    log = [*git, "log", "--no-merges", "-i", "-E", r"--grep=\b(fix|bug)", "-p", "-U0", "--no-color",
           "--no-ext-diff", "--diff-filter=M", "--format=%x00%H", "--", "*.py"]  # fmt: skip
    text = subprocess.run(log, capture_output=True, check=True, timeout=600).stdout
    for part in text.decode("utf-8", "replace").split("\0")[1:]:
        sha, *files = re.split(r"(?m)^diff --git ", part)
        own = [
            one for one in files if not re.search(r"(?m)^\+\+\+ b/.*(test|doc|example|setup)", one)
        ]
        if len(own) != 1 or own[0].count("\n@@ ") != 1:
            continue
        path = re.search(r"(?m)^\+\+\+ b/(.*)$", own[0])
        hunk = re.search(r"(?m)^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@", own[0])
        if path is None or hunk is None:
            continue
        start, old, new = (1 if n is None else int(n) for n in hunk.groups())
        if max(old, new) > LONGEST:
            continue
        name = path[1].rstrip("\t")
        pair = [
            subprocess.run([*git, "show", f"{at}:{name}"], capture_output=True, check=False).stdout
            for at in (f"{sha.strip()}^", sha.strip())
        ]
        if all(pair) and max(map(len, pair)) < LARGEST:
            before, after = (one.decode("utf-8", "replace") for one in pair)
            yield (
                before,
                after,
                range(start, start + max(1, old)) if old else range(start, start + 2),
            )


def matched(before: str, after: str, lines: range) -> dict[str, object] | None:
    """Return the kind of the edit that is the fix, and how much each kind has to say about the
    function; None where the change is none of one function; kind "" where no edit is the fix."""
    try:
        tree, other = parse_module(before), parse_module(after)
    except (SyntaxError, ValueError, RecursionError):
        return None
    old, new = functions_in(tree), functions_in(other)
    own = [name for name, node in old.items() if name in new
           and first_line(node) <= lines.start <= (node.end_lineno or 0)
           and not same(node, new[name])]  # fmt: skip
    if not own:
        return None
    name = max(own, key=lambda one: old[one].lineno)
    node, wanted = old[name], new[name]
    listed = partial(singles_of, tree, name, node, ast.get_docstring(node) or "")

    def here(stmts: tuple[ast.stmt, ...]) -> float | None:
        near = any(
            s.lineno - 1 <= lines.stop and (s.end_lineno or 0) + 1 >= lines.start for s in stmts
        )
        return 0.0 if near else None

    kind, place = "", 0
    for edit in listed(here, until=time.monotonic() + 10):
        with applied([edit]):
            if same(node, wanted):
                kind, place = edit.kind, edit.weight
                break
    row: dict[str, object] = {"kind": kind}
    if kind:
        edits = listed(lambda stmts: 0.0, until=time.monotonic() + 10)
        mass: dict[str, float] = defaultdict(float)
        for edit in edits:
            mass[edit.kind] += math.exp(edit.weight) / RULES[edit.kind].weight
        row |= {"mass": mass, "own": math.exp(place) / RULES[kind].weight,
                "rank": sum(edit.weight > place for edit in edits)}  # fmt: skip
    return row


def mined(repo: Path) -> list[dict[str, object]]:
    """Return the rows of one project."""
    rows: list[dict[str, object]] = []
    for before, after, lines in fixes(repo):
        row = matched(before, after, lines)
        rows += [{"project": repo.parent.name, **row}] if row is not None else []
        if len(rows) == MOST:
            break
    return rows


# -- weights ---------------------------------------------------------------------------------------


def likeliest(rows: list[dict], prior: dict[str, float], rounds: int = 60) -> dict[str, float]:
    """Return the kinds' weights of maximum likelihood, drawn to the prior; their sum is its sum."""
    counts, weights = Counter(row["kind"] for row in rows), dict(prior)
    for _ in range(rounds):
        exposure: dict[str, float] = defaultdict(float)
        for row in rows:
            whole = sum(weights[kind] * mass for kind, mass in row["mass"].items())
            for kind, mass in row["mass"].items():
                exposure[kind] += mass / whole
        rate = len(rows) / sum(prior[kind] * exposure[kind] for kind in prior)
        weights = {
            kind: (counts[kind] + PSEUDO) / (exposure[kind] + PSEUDO / (rate * before))
            for kind, before in prior.items()
        }
        scale = sum(prior.values()) / sum(weights.values())
        weights = {kind: weight * scale for kind, weight in weights.items()}
    return weights


def surprise(rows: list[dict], weights: dict[str, float]) -> float:
    """Return the mean bits of the right edit among all of its function."""
    bits = [
        math.log2(sum(weights[kind] * mass for kind, mass in row["mass"].items()))
        - math.log2(weights[row["kind"]] * row["own"])
        for row in rows
    ]
    return sum(bits) / len(bits)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("mine", "count"))
    parser.add_argument("place", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--leave-out", default="", help="Names of projects, with commas.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.what == "mine":
        left = set(options.leave_out.split(","))
        repos = sorted(
            p for p in options.place.glob("*/repo") if p.parent.name.partition("+")[2] not in left
        )
        with ProcessPoolExecutor(options.jobs) as pool, options.out.open("a") as out:
            for repo, rows in zip(repos, pool.map(mined, repos), strict=True):
                print(
                    repo.parent.name,
                    len(rows),
                    sum(bool(r["kind"]) for r in rows),
                    file=sys.stderr,
                    flush=True,
                )
                out.writelines(json.dumps(row) + "\n" for row in rows)
                out.flush()
        return
    every = [json.loads(line) for line in options.place.open()]
    rows = [row for row in every if row["kind"] in RULES]
    for row in rows:
        row["mass"] = {kind: mass for kind, mass in row["mass"].items() if kind in RULES}
    projects = sorted({row["project"] for row in every})
    halves = [
        [row for row in rows if projects.index(row["project"]) % 2 == half] for half in (0, 1)
    ]
    known = json.loads(WEIGHTS.read_text())["kinds"]
    prior = {kind: known[kind]["prior"] if kind in known else UNCOUNTED for kind in RULES}
    print(f"{len(every)} fixes of {len(projects)} projects, {len(rows)} have an edit")
    for name, weights in (("by hand", prior), ("counted", likeliest(halves[0], prior))):
        print(f"{name}: {surprise(halves[1], weights):.2f} bits a fix, on the half kept apart")
    whole, counts = likeliest(rows, prior), Counter(row["kind"] for row in rows)
    for kind in sorted(RULES, key=lambda one: -whole[one]):
        print(f"{kind:24} {counts[kind]:5} {prior[kind]:6.3f} -> {whole[kind]:6.3f}")
    if options.write:
        kinds = {
            kind: {"prior": prior[kind], "fixes": counts[kind], "weight": round(whole[kind], 4)}
            for kind in sorted(RULES)
        }
        source = [name.replace("+", "/") for name in projects]
        WEIGHTS.write_text(json.dumps({"projects": source, "kinds": kinds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
