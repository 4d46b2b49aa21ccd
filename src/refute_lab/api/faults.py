"""`build_fix`: a benchmark of faulty programs out of what models wrote.

>>> from refute_lab.api.faults import build_fix
>>> build_fix("mbpp+", ["runs/a", "runs/b"], output="fix.jsonl", least=0.5, most=0.95).kept
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core.storage import write_output
from refute.errors import InputError
from refute.verbs.output import Progress, Shown, apart, path_of, silent
from refute_lab.benches.records import RECORDS
from refute_lab.benches.settings import stored_settings
from refute_lab.datasets import load
from refute_lab.runs.journal import read_run
from refute_lab.runs.records import ErrorRecord


@dataclass(frozen=True, slots=True)
class BuiltFix(Shown):
    """What became of the programs."""

    output: Path
    kept: int
    """Problems with a faulty program."""
    problems: int
    """Problems that programs were written for."""
    programs: Mapping[str, int]
    """All samples by what they are: "right", "fits", "of another pass rate", "written twice",
    "unreadable"."""
    errors: Mapping[str, int]
    """Of those that were taken: what most of their failed tests see."""
    models: Mapping[str, int]
    """... and which model wrote them."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "output": str(self.output),
            "kept": self.kept,
            "problems": self.problems,
            "programs": dict(self.programs),
            "errors": dict(self.errors),
            "models": dict(self.models),
        }

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        console.print(f"{self.kept} of {self.problems} problems into {self.output}", markup=False)
        for what, counts in (
            ("programs", self.programs),
            ("errors", self.errors),
            ("models", self.models),
        ):
            said = ", ".join(f"{count} {name}" for name, count in counts.items())
            console.print(f"{what}: {said or 'none'}", markup=False)


def build_fix(
    dataset: Path | str,
    runs: Sequence[Path | str],
    *,
    output: Path | str,
    data: Path | str | None = None,
    least: float = 0.0,
    most: float = 1.0,
    seed: int = 0,
    progress: Progress = silent,
) -> BuiltFix:
    """Write one faulty program a problem, of those that the runs hold, as rows that `bench` reads.

    `runs`: folders of `refute bench DATASET --method judge:behaviour --set samples=N`, of one model
    each. `least`, `most`: the share of private tests that a program may pass, in [0, 1]; at least
    one must fail. Raises `InputError`.
    """
    if not 0.0 <= least <= most <= 1.0:
        raise InputError(f"pass rate from {least} to {most}: must be from 0 to 1, the least first")
    return apart(
        lambda: _built(str(dataset), runs, Path(output), path_of(data), least, most, seed, progress)
    )


def _built(
    dataset: str,
    runs: Sequence[Path | str],
    output: Path,
    data: Path | None,
    least: float,
    most: float,
    seed: int,
    progress: Progress,
) -> BuiltFix:
    from refute.sandbox.local import LocalSandbox
    from refute_lab.benches.faulty import Wanted, chosen_fault, row_of

    written = _by_problem(runs)
    items = [item for item in load(dataset, data=data) if item.problem.id in written]
    if not items:
        raise InputError(f"{dataset}: the runs hold no program for any of its problems")
    rows: list[dict[str, Any]] = []
    counts: tuple[Counter[str], Counter[str], Counter[str]] = (Counter(), Counter(), Counter())
    with LocalSandbox() as box:
        for number, item in enumerate(items, 1):
            found, kinds = chosen_fault(
                item, written[item.problem.id], Wanted(least, most), box, seed=seed
            )
            counts[0].update(kinds)
            row = None if found is None else row_of(item, found)
            if found is not None and row is not None:
                rows.append(row)
                counts[1][found.error] += 1
                counts[2][found.model] += 1
            progress(number, len(items))
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    write_output(output, text)
    by_number = [dict(one.most_common()) for one in counts]
    return BuiltFix(output, len(rows), len(items), *by_number)


def _by_problem(runs: Sequence[Path | str]) -> dict[str, dict[str, list[str | None]]]:
    """The programs that runs hold, by problem and model."""
    from refute_lab.benches.faulty import written_programs

    found: dict[str, dict[str, list[str | None]]] = {}
    for run in map(Path, runs):
        header, records = read_run(run, RECORDS)
        good = [record for record in records if not isinstance(record, ErrorRecord)]
        programs = written_programs(good)
        if not programs:
            raise InputError(
                f"{run}: holds no programs; make it with refute bench --method judge:behaviour"
            )
        model = str(stored_settings(header).model)
        for problem, sources in programs.items():
            found.setdefault(problem, {}).setdefault(model, []).extend(sources)
    return found
