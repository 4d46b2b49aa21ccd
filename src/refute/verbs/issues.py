"""Common parts of the verbs about issues: options, bounds of a method, results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec.structs import asdict

from refute.core.methods import Bounds, Context, MethodSpec, Spawn
from refute.core.parameters import checked, parameter, parameters_of
from refute.core.storage import read_file
from refute.errors import InputError
from refute.issue.original import only_tests
from refute.models.asking import Asked, askers, open_sessions
from refute.prompts import prompts_from
from refute.verbs.output import Reported
from refute.workspace.snapshot import apply_to_checkout

if TYPE_CHECKING:
    from refute.core.problems import IssueProblem
    from refute.diffing.service import Diffed
    from refute.issue.contract import Reproduction
    from refute.issue.original import TrialRun
    from refute.issue.vet import Vetted
    from refute.results.formats import Report
    from refute.results.issues import Reproduce, Vet
    from refute.workspace.contract import TestResult


Chosen = TypeVar("Chosen", bound="IssueOptions")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueOptions(Asked):
    """A checkout, how its tests run, and who works on it; `set`: the fields of `Bounds`, too."""

    repo: Path = parameter(
        Path(), "The checkout (here).", flag="-C", metavar="REPO", for_agents=True
    )
    python: Path | None = parameter(
        None, "Interpreter of its tests (active, or .venv's).", for_agents=True
    )
    runner: Literal["pytest", "unittest", "django", "sympy"] | None = parameter(
        None, "pytest, unittest, django, sympy (read from it).", metavar="NAME", in_files=True
    )


def with_bounds(options: Chosen) -> tuple[Chosen, Bounds]:
    """The options, with what `set` says of the method alone, and the bounds that it says.

    Raises `InputError`.
    """
    names = {one.name for one in parameters_of(Bounds)}
    bounds = {name: value for name, value in options.set.items() if name in names}
    checked(Bounds, bounds)
    of_method = {name: value for name, value in options.set.items() if name not in names}
    return replace(options, set=of_method), Bounds(**bounds)


@dataclass(frozen=True, slots=True)
class ReproduceResult(Reported):
    """Result of `reproduce`."""

    method: str
    found: Reproduction
    trial: TrialRun | None
    """Run of its tests now; None without a test."""

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
        """Return the findings as cases, for every format."""
        from refute.results.formats import Report
        from refute.results.formats.changes import cases_of_reproduction

        count = len(self.failing)
        line = f"{count} test{'s' * (count != 1)} fail{'s' * (count == 1)} for the issue's reason"
        return Report("reproduce", tuple(cases_of_reproduction(self)), summary=line)

    def write(self, repo: Path | str = ".") -> tuple[str, ...]:
        """Apply the test patch to a checkout: test files and nothing else, and only a test that was
        seen to fail. Returns the files that changed. Raises `InputError`."""
        return tuple(apply_to_checkout(self.patch, Path(repo))) if self.failing else ()

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.results.text.issues import print_reproduction

        print_reproduction(self.method, self.found, self.trial, console)


@dataclass(frozen=True, slots=True)
class VetResult(Reported):
    """Result of `vet`."""

    method: str
    """Method that wrote the tests; "given": the caller."""
    vetted: Vetted
    tests: str
    """The test patch that was used."""
    reproduction: Reproduction | None
    """Reproduction, if the tests were written for it."""
    changes: Diffed | str | None = None
    """Changes of behaviour by the fix, or the reason that they are unknown; None: not asked."""

    @property
    def verdict(self) -> str:
        """`fixed`, `not fixed`, `breaks tests` or `cannot tell`."""
        return self.vetted.verdict

    def document(self) -> Vet:
        """The result as `vet/1`."""
        from refute.results.issues import Vet, vetted_document

        return Vet(**asdict(vetted_document(self)))

    def report(self) -> Report:
        """Return the findings as cases, for every format."""
        from refute.results.formats import Report
        from refute.results.formats.changes import cases_of_vetted

        line = f"{self.verdict}: {self.vetted.reason}"
        return Report("vet", tuple(cases_of_vetted(self)), summary=line)

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.results.text.issues import print_vetted

        print_vetted(self.method, self.vetted, self.tests, console, found=self.reproduction)
        if self.changes is not None:
            from refute.results.text.changes import print_changes

            print_changes(self.changes, console)


async def reproduced(
    spec: MethodSpec[Any, Reproduction],
    options: Any,
    problem: IssueProblem,
    spawn: Spawn,
    asked: Asked,
    bounds: Bounds,
) -> Reproduction:
    """Return what a method finds for one issue, with the named model if any: tests only."""
    async with open_sessions(asked) as models:
        ctx = Context(workspace=spawn, bounds=bounds, **askers(models, problem.id))
        with prompts_from(asked.prompts):
            found = await spec(problem, ctx=ctx, options=options)
        return replace(found, prediction=only_tests(found.prediction))


def read_fix(path: Path) -> str:
    """A diff as it is, also where a line of it is not UTF-8."""
    try:
        return read_file(path, pipe=True).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
