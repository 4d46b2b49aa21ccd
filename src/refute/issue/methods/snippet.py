"""The reproducer that asks no model: it runs what the issue itself contains.

    read -> complete -> probe on the original code -> claims -> tests -> run -> place

Every script that the issue's code, sessions and outputs make is run once, with notes of what each
expression was. What is then claimed needs evidence on both sides: the issue says that it is wrong,
and the original code does it. Without such evidence nothing is predicted.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from refute.core.methods import Bounds, Context, NoOptions, Spawn, method
from refute.core.problems import IssuePrediction, IssueProblem
from refute.errors import WorkspaceUnavailable
from refute.issue.contract import Reproduction
from refute.issue.original import WHOLE, Original
from refute.issue.snippet.assertion import claims, why_nothing
from refute.issue.snippet.issue_reader import likeness, read_issue_text, with_inline_code
from refute.issue.snippet.rendering import (
    Bench,
    Ran,
    Style,
    TestSketch,
    patch_of,
    probe,
    result_of,
    tested,
    with_tests,
)
from refute.issue.snippet.script import Claim, Script, missing_names, statements
from refute.issue.snippet.subject import Completed, IssueSubject
from refute.workspace.contract import Failure

LEAST_CONFIDENCE = 0.4
"""Below it nothing is predicted: half of the predictions should be right."""
MOST_CLAIMS = 6
MOST_SCRIPTS = 10
"""Of one reading of the issue."""


@method("snippet", summary="what the issue itself contains, run; no model")
async def snippet(problem: IssueProblem, *, ctx: Context, options: NoOptions) -> Reproduction:
    """See the module's docstring."""
    return await asyncio.to_thread(_reproduce, problem, ctx.workspace, ctx.bounds)


@dataclass(frozen=True, slots=True)
class Found:
    """A test that fails for the issue's reason, in a file of its own."""

    confidence: float
    why: str
    path: str
    patch: str
    drafts: tuple[TestSketch, ...]
    style: Style


def _reproduce(problem: IssueProblem, spawn: Spawn, bounds: Bounds) -> Reproduction:
    pieces = read_issue_text(problem.text)
    more = with_inline_code(pieces)
    more = more if len(more) > len(pieces) else ()
    nothing = all(p.kind == "prose" for p in pieces)
    if nothing and not more:
        return _abstained(problem, "the issue holds nothing to run")
    with spawn() as workspace:
        original = Original(workspace, bounds, whole=WHOLE)
        # these look for classes alone, and pass over functions
        in_classes = problem.recipe is not None and problem.recipe.runner in ("unittest", "django")
        rows = statements(pieces)
        subject = IssueSubject(problem.text, pieces, rows, original, in_classes=in_classes)
        case = Case(subject, Bench(original, bounds))
        found = None if nothing else case.best()
        if found is None and more:
            case.subject = subject.read_as(more, statements(more))
            found = case.best()
        if found is None and case.silent and (fault := case.fault()):
            raise WorkspaceUnavailable(fault)
        if found is None:
            return _abstained(problem, case.reason, case.steps)
        patch, path, tests = case.placed(found)
    prediction = IssuePrediction(
        problem.id, patch, confidence=found.confidence, tests=tests, notes=(found.why, f"in {path}")
    )
    return Reproduction(prediction, tuple(case.steps))


def _abstained(
    problem: IssueProblem, reason: str, steps: Sequence[dict[str, Any]] = ()
) -> Reproduction:
    return Reproduction(IssuePrediction(problem.id, "", 0.0, notes=(reason,)), tuple(steps))


class Case:
    """One run of the method: it tries claims until a test has enough evidence."""

    def __init__(self, subject: IssueSubject, bench: Bench) -> None:
        self.subject, self.bench = subject, bench
        self.steps: list[dict[str, Any]] = []
        self._probed: set[tuple[str, ...]] = set()
        """The sources of the scripts that were run."""
        self._said = -1, "the issue's code cannot be completed from the repository"
        self.silent = True
        """Scripts were run, and none of them came to its end."""
        self._packages: set[str] = set()
        """Packages of the repository that they import."""

    @property
    def reason(self) -> str:
        """Return the reason why no test was found."""
        return self._said[1]

    def best(self) -> Found | None:
        """The test with the best evidence, of what was not run yet; None where nothing has
        enough."""
        return self._tried(self._claims())

    # -- probes and claims -----------------------------------------------------------------------

    def _claims(self) -> list[tuple[Claim, tuple[str, ...]]]:
        style = self.subject.style
        ready = [r for r in self.subject.ready() if r.script.sources not in self._probed]
        ready = ready[:MOST_SCRIPTS]
        self._probed |= {one.script.sources for one in ready}
        if not ready:
            return []
        path = self.subject.new_path(self.subject.homes[0])
        drafts = [probe(f"probe_{n}", one.imports, one.script) for n, one in enumerate(ready)]
        # once more, in the same process: what counts, or tells the time, is another value then
        again = [replace(draft, name=f"{draft.name}_again") for draft in drafts]
        ran = self.bench.run(
            path,
            [*drafts, *again],
            style,
            self.subject.title,
        )
        by_name = {one.draft.name: one for one in ran}
        self.silent = all((seen := one.seen(path)) is None or seen.raised for one in ran)
        lines = [line for one in ready for line in (*one.imports, *one.script.sources)]
        self._packages |= {
            line.split()[1].partition(".")[0].rstrip(",")
            for line in lines
            if line.startswith(("import ", "from ")) and self.subject.names.of_repository(line)
        }
        found: list[tuple[Claim, tuple[str, ...]]] = []
        for draft, one in zip(drafts, ready, strict=True):
            first, second = (
                by_name[name].seen(path) if name in by_name else None
                for name in (draft.name, f"{draft.name}_again")
            )
            seen = None if first is None else first.agreeing(second)
            self.steps.append(_probed(one, by_name.get(draft.name)))
            self._said = max(self._said, why_nothing(self.subject.pieces, one.script, seen))
            if seen is not None:
                for claim in claims(self.subject.title, self.subject.pieces, one.script, seen):
                    if self._of_repository(claim, one.imports):
                        found += [(c, one.imports) for c in (claim, *_in_full(claim, one.script))]
        found.sort(key=lambda pair: (-pair[0].confidence, len(pair[0].setup)))
        return found

    def fault(self) -> str:
        """Explain why no test can be run here, whatever the issue is; "" where one can.

        A test of nothing tries the runner, and one that only imports a package the environment.
        """
        tests = [TestSketch("control", (), ("pass",))]
        for name in sorted(self._packages):
            tests.append(TestSketch(f"import_of_{name}", (), (f"import {name}",)))
        path = self.subject.new_path(self.subject.homes[0])
        text = with_tests("", tests, self.subject.style, title=self.subject.title)
        trial = self.bench.attempt(patch_of(path, text, self.bench.original.source))
        report = trial.report
        if report is None:
            return ""
        if result_of(tests[0], report.results) is None:
            said = report.remark or (report.output.strip().splitlines() or [report.status])[-1]
            return f"no test can be run with this interpreter: {said.strip()[:300]}"
        for test in tests[1:]:
            result = result_of(test, report.results)
            failure = None if result is None else result.failure
            if failure is None:
                continue
            if likeness(failure.type, failure.message, self.subject.errors) < 0.75:
                package = test.body[0].removeprefix("import ")
                why = _line(failure.type, failure.message)
                return f"{package} cannot be imported by this interpreter: {why}"
        return ""

    def _of_repository(self, claim: Claim, imports: tuple[str, ...]) -> bool:
        """Return whether the claim runs code of the repository, and not of Python alone."""
        rows = (*claim.setup, claim.focus)
        used = missing_names([row.node for row in rows])
        if "self" in used:
            return True
        own = [row.source for row in rows if row.source.startswith(("import ", "from "))]
        completed = [line for line in imports if any(_binds(line, name) for name in used)]
        return any(map(self.subject.names.of_repository, (*own, *completed)))

    def _tried(self, candidates: Sequence[tuple[Claim, tuple[str, ...]]]) -> Found | None:
        """The best candidate that fails as it claims; all are run in one file."""
        style = self.subject.style
        chosen: dict[str, tuple[Claim, TestSketch]] = {}
        for claim, imports in candidates:
            if claim.confidence < LEAST_CONFIDENCE or len(chosen) >= MOST_CLAIMS:
                continue
            draft = self._draft(claim, imports, f"claim_{len(chosen)}", style)
            chosen.setdefault("\n".join(draft.body), (claim, draft))
        if not chosen:
            return None
        path = self.subject.new_path(self.subject.homes[0])
        drafts = [draft for _, draft in chosen.values()]
        ran = self.bench.run(path, drafts, style, self.subject.title)
        by_name = {one.draft.name: one for one in ran}
        kept = dict[str, tuple[Claim, TestSketch]]()
        for claim, draft in chosen.values():
            one = by_name.get(draft.name)
            failure = one.failure if one is not None else None
            right = failure is not None and _as_claimed(claim, failure)
            how = "" if failure is None else _line(failure.type, failure.message)
            self.steps.append(
                {"kind": "claim", "why": claim.why, "confidence": claim.confidence,
                 "body": list(draft.body), "failure": how, "kept": right}
            )  # fmt: skip
            if right:
                kept.setdefault(claim.focus.value_source, (claim, draft))
        if kept:
            return self._alone([*kept.values()], path)
        self._said = 9, "a test of what the issue says does not fail as the issue says"
        return None

    def _draft(self, claim: Claim, imports: tuple[str, ...], name: str, style: Style) -> TestSketch:
        """Only the imports that the claim's statements still need."""
        script = Script((*claim.setup, claim.focus), ())
        kept = [line for line in imports if any(_binds(line, n) for n in script.missing())]
        if claim.kind == "raises":
            wanted = {claim.expected} | (set() if style.base else {"raises"})
            for missing in sorted(wanted - set(dir(builtins))):
                kept.append(
                    self.subject.names.import_of(missing) or f"from pytest import {missing}"
                )
        return tested(claim, name, tuple(dict.fromkeys(kept)), style)

    def _alone(self, kept: Sequence[tuple[Claim, TestSketch]], path: str) -> Found:
        """The best claim, and the values that the issue states as surely of other expressions."""
        first, style = kept[0][0], self.subject.style
        sure = ("equals", first.confidence)
        drafts = [d for one, d in kept if one is first or (one.kind, one.confidence) == sure]
        slug = self.subject.slug
        named = tuple(
            replace(one, name=f"{slug}_{n}" if n > 1 else slug) for n, one in enumerate(drafts, 1)
        )
        source = with_tests("", named, style, title=self.subject.title)
        patch = patch_of(path, source, self.bench.original.source)
        return Found(first.confidence, first.why, path, patch, named, style)

    # -- the right file --------------------------------------------------------------------------

    def placed(self, found: Found) -> tuple[str, str, tuple[str, ...]]:
        """Patch, path and ids of tests: at the end of the nearest test file where it fails there
        as it does alone, else in a new file beside it."""
        drafts, style = found.drafts, found.style
        home = self.subject.homes[0]
        existing = self.bench.original.source(home)
        if existing is not None:
            text = with_tests(existing, drafts, style, title=self.subject.title)
            trial = self.bench.attempt(patch_of(home, text, self.bench.original.source))
            own = [result_of(draft, trial.failing) for draft in drafts]
            mine = [one.id for one in own if one is not None and one.phase == "call"]
            finished = trial.report is not None and trial.report.status == "finished"
            if finished and len(mine) == len(drafts) == len(trial.failing):
                return trial.patch, home, tuple(mine)
        trial = self.bench.attempt(found.patch)
        return found.patch, found.path, tuple(result.id for result in trial.failing)


def _as_claimed(claim: Claim, failure: Failure) -> bool:
    name = failure.type.rpartition(".")[2]
    missed = claim.kind == "raises" and name == "Failed"  # as pytest and SymPy say it
    return missed or name == claim.failure.rpartition(".")[2]


def _in_full(claim: Claim, script: Script) -> list[Claim]:
    """The claim after all that the script ran before: for what hangs on a hidden state."""
    before = script.statements[: script.statements.index(claim.focus)]
    if len(before) == len(claim.setup):
        return []
    return [replace(claim, setup=before, confidence=round(claim.confidence - 0.05, 2))]


def _binds(line: str, name: str) -> bool:
    return line.replace(",", " ").split()[-1].partition(".")[0] == name


def _line(type_: str, message: str) -> str:
    return f"{type_}: {message}"[:300]


def _probed(one: Completed, ran: Ran | None) -> dict[str, Any]:
    failure = ran.failure if ran is not None else None
    return {
        "kind": "probe",
        "pieces": list(one.script.pieces),
        "source": [row.source for row in one.script.statements],
        "saw": "" if failure is None else f"{failure.type}: {failure.message}"[:2000],
        "outcome": "not run" if ran is None or ran.result is None else ran.result.outcome,
    }
