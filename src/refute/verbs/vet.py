"""`vet`: does a fix resolve an issue, and which of several is to be trusted?

>>> refute.vet("FIX.diff", issue="ISSUE.md").verdict
>>> refute.rank_fixes(["a.diff", "b.diff"], issue="ISSUE.md").results[0].verdict
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.core.methods import Bounds
from refute.core.parameters import options_with, parameter
from refute.diffing.comparison import Difference, Settings
from refute.diffing.revisions import open_patched
from refute.diffing.service import Diffed, compare
from refute.errors import InputError, RefuteError, WorkspaceUnavailable
from refute.gating.change import PatchedChange
from refute.gating.experiments import turned
from refute.gating.running import Runs, Standing, alone
from refute.gating.strength import free_number
from refute.issue.choosing import chosen_reproducer
from refute.issue.contract import read_issue
from refute.issue.observed_calls import (
    ObservedCall,
    calls_of,
    observed_differences,
    watch_tests,
)
from refute.issue.original import Original
from refute.issue.stated import inputs_of, tried
from refute.issue.vet import Vetted, vet_fix
from refute.sandbox.pool import end_after
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.issues import IssueOptions, VetResult, read_fix, reproduced, with_bounds
from refute.verbs.options import form_options
from refute.verbs.output import FOUND, Form, Reported, apart, consoles
from refute.workspace.contract import Workspace
from refute.workspace.factory import Checkout, in_checkout, root_and_recipe
from refute.workspace.patches import split_fix, touched_files
from refute.workspace.running import applied

if TYPE_CHECKING:
    from refute.results.formats import Report
    from refute.results.issues import Ranking


SECONDS = 3.0
"""For one function; `TOTAL`, or five times it, for all that one fix changes."""
TOTAL = 60.0
CHEAP = 20.0
"""For existing tests near it, beyond `neighbours` files of them."""


def changes_of(
    fix: str,
    repo: Path,
    python: Path | None = None,
    other: str | None = None,
    *,
    seconds: float = SECONDS,
    base: str | None = None,
) -> Diffed | str:
    """Compare the behaviour of a fixed tree with the checkout's or another fix's. Return a reason
    where that is impossible. `fix`, `other`: unified diffs against the checkout. `seconds`: for one
    function. `base`: the commit that the fixes are of; None: the checkout."""
    settings = Settings(seconds=seconds, end=end_after(max(TOTAL, 5 * seconds)))
    codes = [split_fix(one)[1] for one in (fix, other) if one is not None]
    try:
        with open_patched(repo, base, *codes) as revisions:
            return compare(revisions, settings, python=python)
    except RefuteError as error:
        return " ".join(str(error).split())


def doubted(
    vetted: Vetted, fix: str, tests: str, issue: str,
    place: Checkout, workspace: Workspace, bounds: Bounds,
) -> Vetted:  # fmt: skip
    """Return the verdict after the gate's experiments: the reproducing tests with the fix in
    disguise and knocked out, their calls where no test runs, calls beside them, and the inputs
    that the issue states."""
    code = split_fix(fix)[1]
    original, paths = Original(workspace, bounds), touched_files(code + tests)
    sides = []
    for patches in ((), (code, tests)):
        with applied(workspace, *patches):
            found = {path: original.source(path) for path in paths}
            sides.append({path: text for path, text in found.items() if text is not None})
    root, recipe = root_and_recipe(place)
    texts = sides[0], sides[1]
    change = PatchedChange(root, root, "", "", "", "", recipe, code + tests, texts=texts)
    runs = Runs(change, workspace, bounds.test_seconds)
    candidates = [Standing(one.id, one.file, "fail", "pass") for one in vetted.reproducing]
    chosen, rows = alone(candidates), list[dict[str, Any]]()
    runs.run("red", chosen, lambda tree: watch_tests(tree, chosen.files), rows)
    left = turned(runs, candidates, runs.run("new", chosen), calls_of(rows))
    tests_own = [call for call in calls_of(rows) if not call.chosen]
    stated = tried(inputs_of(issue), tests_own, code, workspace, bounds.test_seconds)
    against = {one.rule: one.what for one in left.findings if one.shown}
    special = against.pop("no-special-case", "")
    flaky = "".join(f"{one} comes out otherwise in each run" for one in left.flaky[:1])
    if special:
        return replace(vetted, verdict="not fixed", reason=special)
    files = [*dict.fromkeys((*chosen.files, *vetted.neighbours))]
    why = stated or next(iter(against.values()), flaky)
    try:
        why = why or free_number(change, workspace, files, issue)
    except WorkspaceUnavailable as error:  # edits are tried in pytest alone
        vetted = replace(vetted, notes=(*vetted.notes, f"numbers of the fix not tried: {error}"))
    return replace(vetted, verdict="cannot tell", reason=why) if why else vetted


@dataclass(frozen=True, slots=True)
class Pair:
    """Two fixes, by their places in what was given, and what tells them apart."""

    first: int
    second: int
    differences: tuple[Difference, ...] = ()
    """Inputs on which they differ, plainest first; `before` is the first fix's side."""
    observed: tuple[ObservedCall, ...] = ()
    """Without such an input: calls in the project's own tests that came out otherwise."""
    alike: bool = False
    """True: they were seen to do the same on inputs that reach what differs between them."""
    reason: str = ""
    """Reason that neither can be said."""


@dataclass(frozen=True, slots=True)
class RankedFixes(Reported):
    """Several fixes of one issue, most to be trusted first."""

    results: tuple[VetResult, ...]
    places: tuple[int, ...]
    """Of each result, its place in what was given."""
    fixes: tuple[str, ...]
    """Names of the files as given."""
    separating: tuple[Pair, ...]

    def document(self) -> Ranking:
        """The result as `ranking/1`."""
        from refute.results.issues import ranked_document

        return ranked_document(self)

    def report(self) -> Report:
        """Return the findings as cases: a case for each fix, and what speaks against it."""
        from refute.results.formats import Report
        from refute.results.formats.changes import cases_of_ranking

        first = self.results[0]
        line = f"{self.fixes[self.places[0]]}: {first.verdict}: {first.vetted.reason}"
        return Report("vet", tuple(cases_of_ranking(self)), summary=line)

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.results.text.issues import print_ranked

        print_ranked(self, console)


def pair_of(first: int, second: int, found: Diffed | str) -> Pair:
    if isinstance(found, str):
        return Pair(first, second, reason=found, alike=found.startswith("no difference"))
    shown = tuple(d for one in found.functions for d in one.comparison.differences)
    verdicts = {one.comparison.verdict for one in found.functions}
    alike = verdicts == {"no difference"}
    return Pair(first, second, shown, alike=alike and not shown)


MOST_FIXES = 8
_ORDER = ("fixed", "cannot tell", "not fixed", "breaks tests", "does not apply")


@dataclass(frozen=True, slots=True, kw_only=True)
class VetOptions(IssueOptions):
    """Options of `vet`."""

    fixes: tuple[Path, ...] = parameter(
        MISSING, "Unified diffs against the checkout.", metavar="FIX.diff...", positional=True,
        text=True, for_agents=True,
    )  # fmt: skip
    issue: Path = parameter(
        MISSING, "The issue (`-`: stdin).", metavar="ISSUE.md", text=True, for_agents=True
    )
    tests: Path | None = parameter(
        None, "Tests that reproduce it, as a diff.", metavar="TEST.patch", in_files=True, text=True,
        for_agents=True,
    )  # fmt: skip
    neighbours: int = parameter(
        5, "Existing test files to run (more if fast).", at_least=0, in_files=True
    )
    behaviour: bool = parameter(True, "Find what else it changes.", in_files=True, for_agents=True)
    against: str | None = parameter(
        None, "Commit that the diffs are of (the checkout).", metavar="REF", for_agents=True
    )


def vet(
    fix: Path | str | None = None,
    *,
    options: VetOptions | None = None,
    earlier: VetResult | None = None,
    **given: Any,
) -> VetResult:
    """Judge a fix by tests: does it resolve the issue, and does it break anything near?

    `fix`: a file with a unified diff against the checkout. `options`: a `VetOptions`, or its fields
    by name. `tests`: a test patch that reproduces the issue; None: it is written as `reproduce`
    does. `earlier`: a result for the issue, whose tests are used again. Raises as `reproduce`.
    """
    named = given if fix is None else {**given, "fixes": (fix,)}
    asked, bounds = with_bounds(options_with(VetOptions, options, named))
    text, diff = read_issue(str(asked.issue)), read_fix(asked.fixes[0])
    known = "" if asked.tests is None else read_fix(asked.tests)
    name, spec, method_options = ("given", None, None) if known else chosen_reproducer(asked)

    def work() -> VetResult:
        place = Checkout(asked.repo, asked.python, asked.runner, asked.against)
        problem, spawn = in_checkout(place, text)
        found, patch = None, known
        if earlier is not None:
            found, patch = earlier.reproduction, earlier.tests
        elif spec is not None:
            found = asyncio.run(reproduced(spec, method_options, problem, spawn, asked, bounds))
            patch = found.prediction.patch
        with spawn() as workspace:
            many, cheap = asked.neighbours, CHEAP * bool(asked.neighbours)
            vetted = vet_fix(diff, patch, workspace, bounds, most_neighbours=many, cheap=cheap)
            changes = None
            if asked.behaviour and vetted.verdict != _ORDER[-1]:
                changes = changes_of(diff, asked.repo, asked.python, base=asked.against)
            if vetted.verdict == "fixed":
                vetted = doubted(vetted, diff, patch, text, place, workspace, bounds)
        return VetResult(name, vetted, patch, found, changes)

    return apart(work)


def rank_fixes(
    fixes: Sequence[Path | str] = (), *, options: VetOptions | None = None, **given: Any
) -> RankedFixes:
    """Judge several fixes by the same tests, and find inputs that tell each pair of them apart.

    Parameters as of `vet`. Ranked by verdict, then by how many of the others do the same, then as
    given. Where no input tells two fixes apart, the tests near them are run with both, and their
    calls of what differs compared. Raises as `vet`.
    """
    named = {**given, "fixes": tuple(fixes)} if fixes else given
    told = options_with(VetOptions, options, named)
    asked, bounds = with_bounds(told)
    if not 2 <= len(asked.fixes) <= MOST_FIXES:
        raise InputError(f"{len(asked.fixes)} fixes: give 2 to {MOST_FIXES}")

    def work() -> RankedFixes:
        texts = [read_fix(fix) for fix in asked.fixes]
        alone = [replace(told, fixes=(fix,), behaviour=False) for fix in asked.fixes]
        first = vet(options=alone[0])
        results = [first, *(vet(options=one, earlier=first) for one in alone[1:])]
        usable = [i for i, one in enumerate(results) if one.verdict != "does not apply"]
        where = Checkout(asked.repo, asked.python, asked.runner)
        spawn = in_checkout(where, read_issue(str(asked.issue)))[1]
        pairs = []
        for i, j in combinations(usable, 2):
            found = changes_of(texts[i], asked.repo, asked.python, texts[j])
            pair = pair_of(i, j, found)
            if not pair.differences and isinstance(found, Diffed):
                two, functions = (texts[i], texts[j]), found.changes.functions
                with spawn() as workspace:
                    observed, _ = observed_differences(
                        two, functions, first.tests, workspace, bounds
                    )
                pair = replace(pair, observed=observed, alike=pair.alike and not observed)
            pairs.append(pair)
        agreeing = [
            sum(p.alike for p in pairs if i in (p.first, p.second)) for i in range(len(texts))
        ]
        order = sorted(
            range(len(texts)), key=lambda i: (_ORDER.index(results[i].verdict), -agreeing[i], i)
        )
        ranked = tuple(results[i] for i in order)
        return RankedFixes(ranked, tuple(order), tuple(map(str, asked.fixes)), tuple(pairs))

    return apart(work)


def judge_fixes(*, options: VetOptions) -> VetResult | RankedFixes:
    """Judge one fix, or rank several."""
    return rank_fixes(options=options) if len(options.fixes) > 1 else vet(options=options)


@click.command("vet", cls=MethodCommand, levels=("issue",), more=(Bounds,))
@offered(VetOptions)
@form_options
def command(options: VetOptions, form: Form) -> int:
    """Judge a fix by tests: does it resolve the issue, and does it break anything near?

    FIX.diff is a unified diff against the checkout as it is. Tests reproduce the issue (those of
    --tests, else written as `refute reproduce` does). They run without the fix and with it, beside
    existing tests near the change. Then a search finds inputs on which the fix changes behaviour.
    Several fixes are ranked, with an input that tells each pair apart. The checkout never changes.

    Exit status 0: shown to be fixed (of several, the first); 1: not fixed, breaks tests, or cannot
    tell.
    """
    from refute.results.text.consoles import working

    with working(f"vetting {', '.join(map(str, options.fixes))}", consoles()[1]):
        result = judge_fixes(options=options)
    form.show(result)
    best = result.results[0] if isinstance(result, RankedFixes) else result
    return 0 if best.verdict == "fixed" else FOUND
