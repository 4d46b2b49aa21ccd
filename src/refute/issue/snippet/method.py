"""The reproducer that asks no model: it runs what the issue itself contains.

    read -> complete -> probe on the original code -> claims -> tests -> run -> place

Every script that the issue's code, sessions and outputs make is run once, with notes of what each
expression was. What is then claimed needs evidence on both sides: the issue says that it is wrong,
and the original code does it. Without such evidence nothing is predicted.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from refute.issue.contract import Bounds, Reproduction, Spawn
from refute.issue.original import Original
from refute.issue.snippet.assertion import claims
from refute.issue.snippet.complete import Completed, Prelude, completed, models_of, stub_models
from refute.issue.snippet.errors import Shown, likeness
from refute.issue.snippet.evidence import Claim
from refute.issue.snippet.frameworks import framework_claims
from refute.issue.snippet.given import given_tests, relative_home
from refute.issue.snippet.names import Names
from refute.issue.snippet.place import frame_files, test_homes
from refute.issue.snippet.promise import missing_attribute
from refute.issue.snippet.read import Piece, read_issue_text
from refute.issue.snippet.script import Script, Statement, scripts, statements
from refute.issue.snippet.styles import home_for_models, styles_of
from refute.issue.snippet.trials import Bench, Ran, free_path, result_of
from refute.issue.snippet.write import Draft, Style, patch_of, probe, slug, tested, with_tests
from refute.models.contract import Asker
from refute.problems import IssuePrediction, IssueProblem
from refute.workspace.contract import Failure

__all__ = ["snippet"]

LEAST_CONFIDENCE = 0.4
"""Below it nothing is predicted: half of the predictions should be right."""
MOST_CLAIMS = 6


async def snippet(
    problem: IssueProblem, spawn: Spawn, *, ask: Asker | None, bounds: Bounds
) -> Reproduction:
    """See the module's docstring and `Reproducer`. `ask` is not used."""
    return await asyncio.to_thread(_reproduce, problem, spawn, bounds)


@dataclass(frozen=True, slots=True)
class Found:
    """A test that fails for the issue's reason, in a file of its own."""

    claim: Claim | None
    """None: the issue's own tests."""
    confidence: float
    why: str
    path: str
    patch: str
    tests: tuple[str, ...]


def _reproduce(problem: IssueProblem, spawn: Spawn, bounds: Bounds) -> Reproduction:
    title = problem.text.strip().partition("\n")[0]
    pieces = read_issue_text(problem.text)
    rows = statements(pieces)
    if not any(piece.kind != "prose" for piece in pieces) and not missing_attribute(problem.text):
        return _abstained(problem, "the issue holds nothing to run")
    with spawn() as workspace:
        case = Case(problem.text, title, pieces, rows, Original(workspace, bounds), bounds)
        found = case.best()
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
    """One issue in its repository."""

    def __init__(
        self,
        text: str,
        title: str,
        pieces: tuple[Piece, ...],
        rows: Mapping[int, tuple[Statement, ...]],
        original: Original,
        bounds: Bounds,
    ) -> None:
        self.text, self.title, self.pieces = text, title, pieces
        self.rows = dict(rows)
        self.bench = Bench(original, bounds)
        self.files = original.sources()
        self.names = Names(self.files)
        self.steps: list[dict[str, Any]] = []
        self.reason = "the issue's code cannot be completed from the repository"
        self._all = [row for part in self.rows.values() for row in part]
        self._prelude = self._models()
        self._homes: list[str] | None = None

    def best(self) -> Found | None:
        """The test with the best evidence; None where nothing has enough."""
        given = self._given()
        if given is not None:
            return given
        candidates = self._claims()
        if not candidates:
            candidates = framework_claims(self.pieces, self.files)
        promised = missing_attribute(self.text)
        if promised is not None and not candidates:
            statement = self.names.import_of(promised.owner)
            if statement is not None:
                candidates = [(promised.claim(), (statement,))]
        return self._tried(candidates)

    # -- what the issue makes --------------------------------------------------------------------

    def _models(self) -> Prelude:
        prelude = models_of(self._all)
        missing = Script(tuple(self._all), ()).missing(prelude.names)
        stubs = stub_models(self._all, missing)
        if not prelude.names and not stubs:
            return prelude
        names = prelude.names | stubs.keys()
        return Prelude(prelude.statements, tuple(stubs.values()), names)

    def _ready(self) -> list[Completed]:
        """The scripts that can be run."""
        more = ("self",) if self._class_style else ()
        made = (completed(one, self.names, self._prelude, more) for one in scripts(self.rows))
        return [one for one in made if one is not None]

    @property
    def _class_style(self) -> bool:
        return bool(self._styles()[0].base)

    def _styles(self) -> list[Style]:
        home = self.homes()
        return styles_of(self.files, home[0] if home else "", bool(self._prelude.names))

    def homes(self) -> list[str]:
        """Test files that the test may go to, the best first."""
        if self._homes is None:
            code = frame_files(self.text, self.files)
            for row in self._all:
                code += _modules(row, self.names)
            for name in sorted(Script(tuple(self._all), ()).missing()):
                code += _homes_of(self.names.import_of(name), self.names)
            self._homes = test_homes(self.text, list(dict.fromkeys(code)), self.files)
            if self._prelude.names:
                self._homes = home_for_models(self._homes, self._prelude.names, self.files)
        return self._homes

    def _prelude_source(self) -> str:
        """The models with their imports, at the level of the module."""
        if not self._prelude.names:
            return ""
        nodes = [row.node for row in self._prelude.statements]
        wanted = Script(tuple(self._prelude.statements), ()).missing(self._prelude.names)
        if self._prelude.stubs:
            wanted |= {"models"}
        imports = [self.names.import_of(name) or "" for name in sorted(wanted)]
        own = [row.source for row in self._prelude.statements]
        head = "\n".join(line for line in imports if line)
        return (
            "\n\n\n".join([head, *own, *self._prelude.stubs])
            if nodes or own
            else ("\n\n\n".join([head, *self._prelude.stubs]))
        )

    # -- the issue's own tests -------------------------------------------------------------------

    def _given(self) -> Found | None:
        if "src/_pytest/__init__.py" in self.files:
            return None  # tests in its issues are examples of what pytest does with tests
        base = "TestCase"
        source = given_tests(self._all, self.names, self._prelude, base)
        homes = self.homes()
        if source is None or not homes:
            return None
        folder = relative_home(source, self.text, self.files)
        home = f"{folder}/tests.py" if folder else homes[0]
        path = free_path(home, slug(self.title), self.bench.original.paths())
        trial = self.bench.attempt(patch_of(path, source, self.bench.original.source))
        errors = [error for piece in self.pieces for error in piece.errors]
        failing = trial.failing
        self.steps.append(
            {"kind": "given", "source": source, "failing": [r.id for r in failing],
             "how": [_line(r.failure.type, r.failure.message) for r in failing if r.failure],
             "rejected": trial.rejected}
        )  # fmt: skip
        right = [
            r for r in failing
            if r.phase == "call" and r.failure is not None
            and (r.failure.type == "AssertionError"
                 or likeness(r.failure.type, r.failure.message, errors) >= 0.75)
        ]  # fmt: skip
        if not right or len(right) != len(failing):
            return None
        shown = max(likeness(r.failure.type, r.failure.message, errors) for r in right if r.failure)
        confidence = 0.8 if shown >= 0.75 else 0.6
        why = "the test that the issue gives fails" + (" as the issue shows" * (shown >= 0.75))
        return Found(None, confidence, why, path, trial.patch, tuple(r.id for r in right))

    # -- probes and claims -----------------------------------------------------------------------

    def _claims(self) -> list[tuple[Claim, tuple[str, ...]]]:
        ready, homes = self._ready(), self.homes()
        if not ready or not homes:
            return []
        path = free_path(homes[0], slug(self.title), self.bench.original.paths())
        drafts = [probe(f"probe_{n}", one.imports, one.script) for n, one in enumerate(ready)]
        ran = self.bench.run(path, drafts, self._styles(), self._prelude_source(), self.title)
        by_name = {one.draft.name: one for one in ran}
        found: list[tuple[Claim, tuple[str, ...]]] = []
        self.reason = "what the issue shows is not what the code does here"
        for draft, one in zip(drafts, ready, strict=True):
            seen = by_name[draft.name].seen(path) if draft.name in by_name else None
            self.steps.append(_probed(one, by_name.get(draft.name)))
            if seen is not None:
                for claim in claims(self.title, self.pieces, one.script, seen):
                    found.append((claim, one.imports))
        found.sort(key=lambda pair: (-pair[0].confidence, len(pair[0].setup)))
        return found

    def _tried(self, candidates: Sequence[tuple[Claim, tuple[str, ...]]]) -> Found | None:
        """The best candidate that fails as it claims; all are run in one file."""
        homes = self.homes()
        if not homes:
            self.reason = "the repository has no tests to put one to"
            return None
        # pytest's fixtures are given to functions only
        styles = [Style()] if any(c.fixtures for c, _ in candidates) else self._styles()
        chosen: dict[str, tuple[Claim, Draft]] = {}
        for claim, imports in candidates:
            if claim.confidence < LEAST_CONFIDENCE or len(chosen) >= MOST_CLAIMS:
                continue
            draft = self._draft(claim, imports, f"claim_{len(chosen)}", styles[0])
            chosen.setdefault("\n".join(draft.body), (claim, draft))
        if not chosen:
            return None
        path = free_path(homes[0], slug(self.title), self.bench.original.paths())
        drafts = [draft for _, draft in chosen.values()]
        ran = self.bench.run(path, drafts, styles, self._prelude_source(), self.title)
        by_name = {one.draft.name: one for one in ran}
        for claim, draft in chosen.values():
            one = by_name.get(draft.name)
            failure = one.failure if one is not None else None
            right = failure is not None and _as_claimed(claim, failure)
            how = "" if failure is None else _line(failure.type, failure.message)
            self.steps.append(
                {"kind": "claim", "why": claim.why, "confidence": claim.confidence,
                 "body": list(draft.body), "failure": how, "kept": right}
            )  # fmt: skip
            if right and one is not None and one.result is not None:
                return self._alone(claim, draft, one.style, path)
        return None

    def _draft(self, claim: Claim, imports: tuple[str, ...], name: str, style: Style) -> Draft:
        """Only the imports that the claim's statements still need."""
        script = Script((*claim.setup, claim.focus), ())
        kept = [line for line in imports if any(_binds(line, n) for n in script.missing())]
        if claim.kind == "raises":
            wanted = {claim.expected} | (set() if style.base else {"raises"})
            for missing in sorted(wanted - set(dir(builtins))):
                kept.append(self.names.import_of(missing) or f"from pytest import {missing}")
        return tested(claim, name, tuple(dict.fromkeys(kept)), style)

    def _alone(self, claim: Claim, draft: Draft, style: Style, path: str) -> Found:
        named = replace(draft, name=slug(self.title))
        source = with_tests("", [named], style, title=self.title, prelude=self._prelude_source())
        self._final = (named, style)
        patch = patch_of(path, source, self.bench.original.source)
        return Found(claim, claim.confidence, claim.why, path, patch, ())

    # -- the right file --------------------------------------------------------------------------

    def placed(self, found: Found) -> tuple[str, str, tuple[str, ...]]:
        """Patch, path and ids of tests: at the end of the nearest test file where it fails there
        as it does alone, else in a new file beside it."""
        if found.claim is None:
            return found.patch, found.path, found.tests
        draft, style = self._final
        home = self.homes()[0]
        existing = self.bench.original.source(home)
        if style.base == "SimpleTestCase" and "SimpleTestCase" not in (existing or ""):
            style = replace(style, base="TestCase")  # what the file has imported serves as well
        if existing is not None and not self._prelude.names:
            text = with_tests(existing, [draft], style, title=self.title)
            trial = self.bench.attempt(patch_of(home, text, self.bench.original.source))
            mine = result_of(draft, trial.failing)
            finished = trial.report is not None and trial.report.status == "finished"
            if finished and mine is not None and mine.phase == "call" and len(trial.failing) == 1:
                return trial.patch, home, (mine.id,)
        trial = self.bench.attempt(found.patch)
        return found.patch, found.path, tuple(result.id for result in trial.failing)


def _as_claimed(claim: Claim, failure: Failure) -> bool:
    if failure.type.rpartition(".")[2] != claim.failure.rpartition(".")[2]:
        return False
    shown = Shown(claim.failure.rpartition(".")[2], claim.message)
    return not claim.message or likeness(failure.type, failure.message, [shown]) >= 0.75


def _modules(row: Statement, names: Names) -> list[str]:
    """Paths of the repository's modules that a statement imports from."""
    return _homes_of(row.source, names) if row.source.startswith(("import ", "from ")) else []


def _homes_of(statement: str | None, names: Names) -> list[str]:
    if not statement:
        return []
    words = statement.replace(",", " ").split()
    paths: list[str] = []
    if words[0] == "from" and len(words) > 3:
        for name in words[3:]:
            paths += names.modules(f"{words[1]}.{name}")
            paths += names.home_of(name)
    return [*paths, *names.modules(words[1])]


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
