"""`fix`: a change of the code that resolves an issue, with the tests that show it.

>>> found = refute.fix("ISSUE.md", repo=".", model="openai:NAME")
>>> found.state, found.patch, found.tests
"""

from __future__ import annotations

import asyncio
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.core.methods import Bounds, Context, Given, Spawn
from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.core.storage import write_output
from refute.diffing.comparison import Difference
from refute.diffing.service import Diffed
from refute.errors import InputError
from refute.issue.choosing import check_task, chosen_reproducer
from refute.issue.contract import FixClaim, FixState, Reproduction, read_issue
from refute.issue.original import only_tests
from refute.models.asking import askers, open_sessions
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.issues import IssueOptions, with_bounds
from refute.verbs.options import form_options
from refute.verbs.output import CANNOT_TELL, PROPOSED, Form, Reported, apart, consoles
from refute.verbs.vet import changes_of
from refute.workspace.factory import Checkout, in_checkout
from refute.workspace.snapshot import apply_to_checkout

if TYPE_CHECKING:
    from refute.results.formats import Report
    from refute.results.issues import Fix


NO_CLAIM = FixClaim("proposed", ("the method writes no tests, so nothing shows that it is right",))
NO_FIX = FixClaim("cannot tell", ("the method found no fix",))


@dataclass(frozen=True, slots=True)
class FixResult(Reported):
    """Result of `fix`."""

    method: str
    found: Reproduction
    claim: FixClaim
    changes: Diffed | str | None = None
    """Changes of behaviour by the fix, or the reason that they are unknown; None: not asked."""
    separating: tuple[Difference, ...] = ()
    """Inputs on which a fix that is as well supported does something else."""

    @property
    def state(self) -> FixState:
        """`fixed`, `proposed` or `cannot tell`."""
        return self.claim.state

    @property
    def patch(self) -> str:
        """The fix, a unified diff; "" where there is none."""
        return self.found.prediction.patch

    @property
    def tests(self) -> str:
        """The tests that fail now and pass with it, a unified diff; "" where there are none."""
        return self.claim.tests

    def document(self) -> Fix:
        """The result as `fix/1`."""
        from refute.results.issues import fix_document

        return fix_document(self)

    def report(self) -> Report:
        """Return the findings as cases, for every format."""
        from refute.results.formats import Report
        from refute.results.formats.changes import cases_of_fix

        line = f"{self.state}: {'; '.join(self.claim.reasons)}".removesuffix(": ")
        return Report("fix", tuple(cases_of_fix(self)), summary=line)

    def write(self, repo: Path | str = ".", *, proposed: bool = False) -> tuple[str, ...]:
        """Apply fix and tests to a checkout, where the fix is called fixed, or proposed and
        `proposed`. Returns the files that changed. Raises `InputError`."""
        if not self.patch or not (self.state == "fixed" or (proposed and self.state == "proposed")):
            return ()
        changed = apply_to_checkout(self.patch, Path(repo))
        if self.tests.strip():
            changed += apply_to_checkout(self.tests, Path(repo))
        return tuple(changed)

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.results.text.issues import print_fix

        print_fix(self, console)


def compared(result: FixResult, repo: Path, python: Path | None) -> FixResult:
    """With what else the fix changes, and what tells it from a rival."""
    if not result.patch or result.state == "cannot tell":
        return result
    changes = changes_of(result.patch, repo, python)
    found, separating = confirmed(replace(result.found, claim=result.claim), repo, python)
    return replace(
        result, changes=changes, claim=found.claim or result.claim, separating=separating
    )


def confirmed(
    found: Reproduction, repo: Path, python: Path | None
) -> tuple[Reproduction, tuple[Difference, ...]]:
    """The claim as `fix` and `bench` make it: a rival that differs on an input that was found takes
    it back to proposed, as the tests do not say which of the two is right; with the differences."""
    claim = found.claim
    for rival in claim.rivals if claim is not None and claim.state == "fixed" else ():
        changes = changes_of(found.prediction.patch, repo, python, rival)
        if isinstance(changes, str):
            continue
        separating = tuple(d for one in changes.functions for d in one.comparison.differences)
        if claim is not None and separating:
            reason = "another fix that passes the same tests does something else on an input"
            step = {"kind": "claim", "state": "proposed", "reasons": [reason]}
            claim = replace(claim, state="proposed", reasons=(reason,))
            return replace(found, claim=claim, steps=(*found.steps, step)), separating
    return found, ()


def confirmed_in(found: Reproduction, python: Path, spawn: Spawn) -> Reproduction:
    """The same in a workspace of the issue's repository."""
    if found.claim is None or found.claim.state != "fixed":
        return found
    with spawn() as workspace:
        return confirmed(found, workspace.root, python)[0]


_STATUSES = {"fixed": 0, "proposed": PROPOSED, "cannot tell": CANNOT_TELL}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions(IssueOptions):
    """Options of `fix`."""

    issue: Path = parameter(MISSING, "The issue.", metavar="ISSUE.md", positional=True)
    behaviour: bool = parameter(
        True, "Look for what else the fix changes (`refute diff`).", in_files=True
    )
    output: Path | None = parameter(
        None, "Write fix and tests there.", flag="-o", metavar="fix.patch", writes=True
    )
    write: bool = parameter(
        False, "Apply fix and tests to the checkout.", flag="--write", writes=True
    )
    proposed: bool = parameter(
        False, "Let --write apply what is only proposed, too.", flag="--proposed"
    )


def fix(
    issue: Path | str | None = None, *, options: FixOptions | None = None, **given: Any
) -> FixResult:
    """Fix an issue: a change of the code that its own red tests turn green, and those tests.

    `options`: a `FixOptions`, or its fields by name. `behaviour`: look for what else the fix
    changes, and for an input that tells it from the next best one; where one is found, the fix is
    proposed only. The others as in `refute.reproduce`. Raises `InputError`, also without a model,
    and `Unavailable`.
    """
    named = given if issue is None else {**given, "issue": issue}
    asked, bounds = with_bounds(options_with(FixOptions, options, named))
    if asked.model is None:
        raise InputError("fix needs a model, which writes the fix: --model openai:NAME, batch:DIR")
    text = read_issue(str(asked.issue))
    name, spec, method_options = chosen_reproducer(asked)
    check_task(name, spec, "repair", Given())

    def work() -> FixResult:
        problem, spawn = in_checkout(Checkout(asked.repo, asked.python, asked.runner), text)

        async def repaired() -> Reproduction:
            async with open_sessions(asked) as models:
                by_name = askers(models, problem.id)
                ctx = Context(workspace=spawn, bounds=bounds, task="repair", **by_name)
                return await spec(problem, ctx=ctx, options=method_options)

        found = asyncio.run(repaired())
        claim = found.claim or (NO_CLAIM if found.prediction.patch else NO_FIX)
        if claim.tests:
            # as they may be written to a checkout: test files and nothing else
            claim = replace(
                claim, tests=only_tests(replace(found.prediction, patch=claim.tests)).patch
            )
        result = FixResult(name, found, claim)
        return compared(result, asked.repo, asked.python) if asked.behaviour else result

    result = apart(work)
    if result.patch and asked.output is not None:
        both = result.patch + result.tests
        write_output(asked.output, both.encode("utf-8", "surrogateescape"))
        remark([f"fix and tests written to {asked.output}"])
    if asked.write:
        remark([_written(result, asked)])
    return result


def _written(result: FixResult, options: FixOptions) -> str:
    """Write them to the checkout, and say what became of it."""
    if changed := result.write(options.repo, proposed=options.proposed):
        return f"written to {', '.join(changed)}"
    proposed = "the fix is only proposed (see --proposed)"
    why = proposed if result.state == "proposed" else "no fix can be shown"
    return f"nothing is written to the checkout: {why}"


@click.command("fix", cls=MethodCommand, levels=("issue",), more=(Bounds,))
@offered(FixOptions)
@form_options
def command(options: FixOptions, form: Form) -> int:
    """Fix an issue; print the change of the code with tests that it turns green.

    ISSUE.md: a text file, `-`, or GitHub's JSON of an issue. Needs a model (--model). It writes
    tests and fixes, each of which tries the others; the best fix runs beside existing tests near
    it. It counts as fixed only if independent evidence agrees: tests of several answers, several
    answers with an equal fix, existing tests, a review, and no input on which a rival behaves
    differently. Only --write changes the checkout.

    Exit status 0: fixed; 4: a fix is proposed only; 5: cannot tell, no test supports a fix.
    """
    from refute.results.text.consoles import working

    with working("fixing the issue", consoles()[1]):
        result = fix(options=options)
    form.show(result)
    return _STATUSES[result.state]
