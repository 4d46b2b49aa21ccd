"""`fix`.

>>> found = refute.fix("ISSUE.md", repo=".", model="openai:NAME")
>>> found.state, found.patch, found.tests
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Reported
from refute.api.fixes import changes_of
from refute.core.methods import Bounds, Spawn
from refute.diffing.differences import Difference
from refute.diffing.service import Diffed
from refute.issue.contract import FixClaim, FixState, Reproduction
from refute.workspace.snapshot import apply_to_checkout

if TYPE_CHECKING:
    from refute.results.formats import Report
    from refute.results.issues import Fix

_BOUNDS = Bounds()
NO_CLAIM = FixClaim("proposed", ("the method writes no tests, so nothing shows that it is right",))
NO_FIX = FixClaim("cannot tell", ("the method found no fix",))


@dataclass(frozen=True, slots=True)
class FixResult(Reported):
    """What `fix` found out."""

    method: str
    found: Reproduction
    claim: FixClaim
    changes: Diffed | str | None = None
    """What the fix changes in behaviour, or why that cannot be told; None: it was not asked."""
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
        """What there is to report."""
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
        """What the command prints on stdout."""
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
