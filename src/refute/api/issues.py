"""`reproduce` and `vet`.

>>> found = refute.reproduce("ISSUE.md", repo=".")
>>> found.failing, found.patch
>>> refute.vet("FIX.diff", issue="ISSUE.md").verdict
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from refute.api.calling import Reported, apart, path_of
from refute.errors import InputError, WorkspaceUnavailable
from refute.files import read_file
from refute.issue.choosing import chosen_reproducer
from refute.issue.contract import Reproduction
from refute.issue.drafting.original import WHOLE, Original, TrialRun
from refute.issue.drafting.submission import only_tests
from refute.issue.issue_text import read_issue
from refute.issue.vet import MOST, Vetted, vet_fix
from refute.methods import Bounds, Context, MethodSpec, Spawn
from refute.models.asking import Asked, askers, open_sessions
from refute.problems import IssueProblem
from refute.prompts import prompts_from
from refute.workspace.checkout import Checkout, in_checkout
from refute.workspace.contract import TestResult
from refute.workspace.snapshot import apply_to_checkout

if TYPE_CHECKING:
    from refute.diffing.service import Diffed
    from refute.report.formats.contract import Report
    from refute.results.issues import Reproduce, Vet

_BOUNDS = Bounds()


@dataclass(frozen=True, slots=True)
class ReproduceResult(Reported):
    """What `reproduce` found out."""

    method: str
    found: Reproduction
    trial: TrialRun | None
    """How its tests fail now; None where there is no test."""

    @property
    def patch(self) -> str:
        """The test patch, a unified diff; "" where there is none."""
        return self.found.prediction.patch

    @property
    def failing(self) -> tuple[TestResult, ...]:
        """The tests of the patch that fail now."""
        return () if self.trial is None else tuple(self.trial.failing)

    def document(self) -> Reproduce:
        """The result as `reproduce/1`."""
        from refute.results.issues import reproduction_document

        return reproduction_document(self)

    def report(self) -> Report:
        """What there is to report."""
        from refute.report.formats.changes import cases_of_reproduction
        from refute.report.formats.contract import Report

        count = len(self.failing)
        line = f"{count} test{'s' * (count != 1)} fail{'s' * (count == 1)} for the issue's reason"
        return Report("reproduce", tuple(cases_of_reproduction(self)), summary=line)

    def write(self, repo: Path | str = ".") -> tuple[str, ...]:
        """Apply the test patch to a checkout: test files and nothing else, and only a test that was
        seen to fail. Returns the files that changed. Raises `InputError`."""
        return tuple(apply_to_checkout(self.patch, Path(repo))) if self.failing else ()

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.issues import print_reproduction

        print_reproduction(self.method, self.found, self.trial, console)


@dataclass(frozen=True, slots=True)
class VetResult(Reported):
    """What `vet` found out."""

    method: str
    """What wrote the tests; "given": the caller."""
    vetted: Vetted
    tests: str
    """The test patch that was used."""
    reproduction: Reproduction | None
    """Where the tests were written for it."""
    changes: Diffed | str | None = None
    """What the fix changes in behaviour, or why that cannot be told; None: it was not asked."""

    @property
    def verdict(self) -> str:
        """`fixed`, `not fixed`, `breaks tests` or `cannot tell`."""
        return self.vetted.verdict

    def document(self) -> Vet:
        """The result as `vet/1`."""
        from refute.results.issues import Vet, vetted_document

        return Vet(**asdict(vetted_document(self)))

    def report(self) -> Report:
        """What there is to report."""
        from refute.report.formats.changes import cases_of_vetted
        from refute.report.formats.contract import Report

        line = f"{self.verdict}: {self.vetted.reason}"
        return Report("vet", tuple(cases_of_vetted(self)), summary=line)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.issues import print_vetted

        print_vetted(self.method, self.vetted, self.tests, console, found=self.reproduction)
        if self.changes is not None:
            from refute.report.diffs import print_changes

            print_changes(self.changes, console)


def reproduce(
    issue: Path | str,
    *,
    repo: Path | str = ".",
    python: Path | str | None = None,
    runner: str | None = None,
    method: str | None = None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
    bounds: Bounds = _BOUNDS,
    chosen: Callable[[str], None] = lambda method: None,
) -> ReproduceResult:
    """Write a test that fails now for the reason that an issue describes.

    `issue`: a text file or GitHub's JSON of an issue. `repo`: the checkout, which is not changed;
    `python` and `runner`: how its tests run. `method`, `model`, `options`, `asked` as in
    `refute.hunt`. `bounds`: what it may cost. `chosen` is told the method's name before any work.
    Raises `WorkspaceUnavailable` where no test can be run.
    """
    asked = asked or Asked(method=method, model=model, options=options or {})
    text = read_issue(str(issue))
    name, spec, chosen_options = chosen_reproducer(asked)
    chosen(name)

    def work() -> ReproduceResult:
        problem, spawn = in_checkout(_checkout(repo, python, runner), text)
        found = asyncio.run(reproduced(spec, chosen_options, problem, spawn, asked, bounds))
        if not found.prediction.patch:
            return ReproduceResult(name, found, None)
        with spawn() as workspace:
            original = Original(workspace, bounds, whole=WHOLE)
            trial = original.attempt(found.prediction.patch)
            if fault := original.fault(trial):
                raise WorkspaceUnavailable(f"no test can be run with this interpreter: {fault}")
            return ReproduceResult(name, found, trial)

    return apart(work)


def vet(
    fix: Path | str,
    *,
    issue: Path | str,
    tests: Path | str | None = None,
    neighbours: int = MOST,
    behaviour: bool = True,
    given: VetResult | None = None,
    against: str | None = None,
    repo: Path | str = ".",
    python: Path | str | None = None,
    runner: str | None = None,
    method: str | None = None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
    bounds: Bounds = _BOUNDS,
) -> VetResult:
    """Judge a fix by tests: does it resolve the issue, and does it break anything near?

    `fix`: a file with a unified diff against the checkout. `tests`: a file with a test patch that
    reproduces the issue; None: it is written as `reproduce` does. `neighbours`: existing test files
    to run for regressions. `behaviour`: whether to look for what else the fix changes (see
    `refute.diff`). `given`: an earlier result for the issue, whose tests are used again.
    `against`: the commit that the fix is a diff of, where the checkout has it already ("HEAD"). The
    others as in `reproduce`.
    """
    asked = asked or Asked(method=method, model=model, options=options or {})
    text, diff = read_issue(str(issue)), read_fix(Path(fix))
    known = "" if tests is None else read_fix(Path(tests))
    name, spec, chosen_options = ("given", None, None) if known else chosen_reproducer(asked)

    def work() -> VetResult:
        problem, spawn = in_checkout(_checkout(repo, python, runner, against), text)
        found, patch = None, known
        if given is not None:
            found, patch = given.reproduction, given.tests
        elif spec is not None:
            found = asyncio.run(reproduced(spec, chosen_options, problem, spawn, asked, bounds))
            patch = found.prediction.patch
        with spawn() as workspace:
            vetted = vet_fix(diff, patch, workspace, bounds, most_neighbours=neighbours)
        changes = None
        if behaviour and vetted.verdict != "does not apply":
            from refute.api.fixes import changes_of  # loads the engine of `diff`

            changes = changes_of(diff, Path(repo), path_of(python), base=against)
        return VetResult(name, vetted, patch, found, changes)

    return apart(work)


async def reproduced(
    spec: MethodSpec[Any, Reproduction],
    options: Any,
    problem: IssueProblem,
    spawn: Spawn,
    asked: Asked,
    bounds: Bounds,
) -> Reproduction:
    """What the method finds for one issue, with the model that is named, if any: tests only."""
    async with open_sessions(asked) as models:
        ctx = Context(workspace=spawn, bounds=bounds, **askers(models, problem.id))
        with prompts_from(asked.prompts):
            found = await spec(problem, ctx=ctx, options=options)
        return replace(found, prediction=only_tests(found.prediction))


def _checkout(
    repo: Path | str, python: Path | str | None, runner: str | None, commit: str | None = None
) -> Checkout:
    return Checkout(Path(repo), path_of(python), runner, commit)


def read_fix(path: Path) -> str:
    """A diff as it is, also where a line of it is not UTF-8."""
    try:
        return read_file(path, pipe=True).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
