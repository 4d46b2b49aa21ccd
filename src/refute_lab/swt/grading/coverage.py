"""Change coverage ΔC: how much of the golden patch the predicted tests execute (section 3.3).

X*_r are the lines that the golden patch removes, counted on the original code; X*_a those that it
adds, counted on the fixed code. A line is executable when the original tests or the golden tests
execute it. It is covered when the tests execute it more often with the predicted patch than
without.

`Executable` names three readings of the first rule. The original tests are those of the predicted
files (`own`, as the reference's code has it) or those of the golden tests' files (`golden`, the
same lines for every prediction). The formula that is printed asks for more than one execution by
both suites together (`printed`), against the text beside it: a line that golden tests reach once is
not executable then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from refute.workspace.contract import TestReport
from refute.workspace.patches import added_lines, removed_lines

Executable = Literal["own", "golden", "printed"]
"""How the executable lines of a golden patch are found; see above."""

Line = tuple[str, int]
"""A file and a 1-based line number."""
Counts = Mapping[str, Mapping[int, int]]
"""File -> line -> number of executions."""


@dataclass(frozen=True, slots=True)
class ExecutableLines:
    """X*: lines of a golden patch that count."""

    removed: tuple[Line, ...]
    added: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class ChangeCoverage:
    """The executable lines of a golden patch, and those that a suite executes more often."""

    removed: tuple[Line, ...]
    """X*_r."""
    added: tuple[Line, ...]
    """X*_a."""
    covered_removed: tuple[Line, ...]
    covered_added: tuple[Line, ...]

    @property
    def value(self) -> float | None:
        """ΔC in [0, 1]; None where the golden patch has no executable line (excluded)."""
        total = len(self.removed) + len(self.added)
        if not total:
            return None
        return (len(self.covered_removed) + len(self.covered_added)) / total


def counted_lines(patch: str) -> dict[str, Sequence[int]]:
    """Lines of Python files to be counted, on the original and on the fixed code alike: those that
    the patch removes there, and those that it adds here.

    A test can find out what is counted; so that must not tell it which code it runs on. (The
    reference, too, takes base counts of removed lines from the fixed code:
    `refute_lab.swt.grading.reference_reports`.)
    """
    removed, added = removed_lines(patch), added_lines(patch)
    return {
        file: tuple(sorted({*removed.get(file, ()), *added.get(file, ())}))
        for file in {**removed, **added}
        if file.endswith(".py")
    }


def change_coverage(
    patch: str,
    *,
    before: TestReport,
    after: TestReport,
    base: tuple[TestReport, TestReport],
    golden: tuple[TestReport, TestReport],
    executable: ExecutableLines | None = None,
) -> ChangeCoverage:
    """ΔC of the tests that were run in `before` (original code) and `after` (fixed code).

    `patch` is the golden patch; `base` and `golden` are reports on the original and fixed code.
    `executable`: the lines that count; None: those that `base` or `golden` execute.
    """
    lines = executable or executable_lines(patch, base=base, golden=golden)
    return ChangeCoverage(
        lines.removed,
        lines.added,
        _more_often(lines.removed, before.lines, base[0].lines),
        _more_often(lines.added, after.lines, base[1].lines),
    )


def executable_lines(
    patch: str,
    *,
    base: tuple[TestReport, TestReport],
    golden: tuple[TestReport, TestReport],
    rule: Executable = "own",
) -> ExecutableLines:
    """X* of a golden patch, from reports on the original and fixed code. Where they are of the
    golden tests' files, `own` is `golden`."""
    least = 2 if rule == "printed" else 1
    return ExecutableLines(
        _executed(removed_lines(patch), least, base[0].lines, golden[0].lines),
        _executed(added_lines(patch), least, base[1].lines, golden[1].lines),
    )


def with_counts(report: TestReport, other: TestReport) -> TestReport:
    """The report with the larger count of each line in it and in `other`: the base of ΔC where the
    suite is more than the files that were run."""
    lines = {
        file: {line: max(_count(report.lines, (file, line)), n) for line, n in counts.items()}
        for file, counts in other.lines.items()
    }
    return replace(report, lines={**report.lines, **lines})


def _executed(lines: Mapping[str, Sequence[int]], least: int, *counts: Counts) -> tuple[Line, ...]:
    return tuple(
        (file, line)
        for file, numbers in lines.items()
        for line in numbers
        if sum(_count(one, (file, line)) for one in counts) >= least
    )


def _more_often(lines: Sequence[Line], counts: Counts, base: Counts) -> tuple[Line, ...]:
    return tuple(line for line in lines if _count(counts, line) > _count(base, line))


def _count(counts: Counts, line: Line) -> int:
    return counts.get(line[0], {}).get(line[1], 0)
