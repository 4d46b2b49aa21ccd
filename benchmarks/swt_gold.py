"""Do the golden tests reproduce their issues here, and do we find what the dataset lists?

    python benchmarks/swt_gold.py --data ../shared/data/swebench-lite.dev.jsonl.gz --run runs/gold
        [--ids A,B] [--jobs N] [--public]

Grades `gold` (resumable: `--run`) and empty predictions, and prints for each repository the share
of successes, the mean ΔC, and every FAIL_TO_PASS name that is not F→P here, with what it is.
The clones are looked for in REFUTE_REPOS. Wanted: 100 % success, 0 % for the empty prediction.
With `--public` the rows have no `environment`, as the published ones have none: it is inferred.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from refute.workspace.running import statuses
from refute_lab.datasets.rows import read_rows
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.figures import mean
from refute_lab.runs import ErrorRecord, Journal
from refute_lab.runs.executors import Run
from refute_lab.swt.grade import (
    RECORDS,
    GradeRecord,
    Summary,
    Terms,
    read_evidence,
    read_grade,
    summarize,
)
from refute_lab.swt.tasks import (
    GradingSettings,
    GradingTask,
    Prediction,
    default_jobs,
    gold_predictions,
    work_on,
)


def grade(items: Sequence[IssueItem], model: str, run: Path, jobs: int) -> Summary:
    """Grade `gold` or empty predictions into the run's folder."""
    keys = [item.key for item in items]
    found = gold_predictions(keys)
    if model != "gold":
        found = {key.id: Prediction(key.id, "", model) for key in keys}
    tasks = [GradingTask(item, found[item.key.id]) for item in items]
    settings = GradingSettings("swt", model, model, Terms())
    with Run(run, settings.header(tasks), RECORDS) as opened:
        work_on(opened, tasks, settings, jobs=jobs, progress=partial(say, model, len(tasks)))
        print()
        if model == "gold":
            details(items, opened.journal)
        return summarize(keys, opened.records)


def published(data: Path, folder: Path) -> Path:
    """The rows without what only our development data have."""
    path = folder / "public.jsonl"
    with path.open("w") as out:
        for row in read_rows(data):
            kept = {k: v for k, v in row.fields.items() if k not in ("environment", "measured")}
            out.write(json.dumps(kept) + "\n")
    return path


def say(model: str, count: int, done: int) -> None:
    print(f"\r{model}: {done}/{count}", end="", flush=True)


def details(items: Sequence[IssueItem], journal: Journal[GradeRecord]) -> None:
    rows: dict[str, list[tuple[bool, float | None]]] = defaultdict(list)
    for item in items:
        record = journal.records[item.key.id]
        if isinstance(record, ErrorRecord):
            print(f"{item.key.id}: no grade: {record.error}")
            continue
        one = read_grade(record)
        if not one.verdict.success:
            print(f"{item.key.id}: {one.verdict.status} {' '.join(one.verdict.remarks)}")
        value = None if one.coverage is None else one.coverage.value
        rows[item.problem.repo].append((one.verdict.success, value))
        exceptions(item, record, journal.directory)
    print(f"{'repository':24} {'n':>3} {'success':>8} {'ΔC':>6}")
    for repo, grades in rows.items():
        share = mean(float(success) for success, _ in grades)
        delta = mean(value for _, value in grades if value is not None)
        print(f"{repo:24} {len(grades):3} {share.value:8.1%} {delta.value:6.1%}")


def exceptions(item: IssueItem, record: GradeRecord, run: Path) -> None:
    """What a FAIL_TO_PASS name that is not F→P here does instead."""
    missing = record.golden.missing if record.golden is not None else ()
    evidence = read_evidence(run, item.key.id)
    if not missing or evidence is None:
        return
    before, after = (statuses(report) for report in evidence.golden)
    ids = {name: r.id for report in evidence.golden for r in report.results for name in r.names}
    for name in missing:
        test = ids.get(name, name)
        print(f"{item.key.id}: listed {name}: here {before.of(test)} → {after.of(test)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", default="../shared/data/swebench-lite.dev.jsonl.gz")
    parser.add_argument("--ids")
    parser.add_argument("--public", action="store_true")
    parser.add_argument("--jobs", type=int, default=default_jobs())
    parser.add_argument("--run", type=Path, default=Path("runs/swt-gold"))
    options = parser.parse_args()
    print(" ".join(f"{name}={value}" for name, value in vars(options).items()))
    ids = options.ids.split(",") if options.ids else None
    with tempfile.TemporaryDirectory() as folder:
        data = published(Path(options.data), Path(folder)) if options.public else options.data
        items = load_issues(data, ids=ids)
        gold = grade(items, "gold", options.run, options.jobs)
        empty = grade(items, "empty", Path(folder) / "run", options.jobs)
    for name, found in (("gold", gold), ("empty", empty)):
        figures = ", ".join(f"{k} {100 * f.value:.1f}" for k, f in found.figures.items())
        print(f"{name}: n {found.n}, errors {len(found.errors)}, {figures}")


if __name__ == "__main__":
    main()
