"""`fix`: a change of the code that resolves an issue, with the tests that show it.

>>> found = refute.fix("ISSUE.md", repo=".", model="openai:NAME")
>>> found.state, found.patch, found.tests
"""

from __future__ import annotations

import asyncio
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any

import click

from refute.api.calling import apart
from refute.api.fixing import NO_CLAIM, NO_FIX, FixResult, compared
from refute.cli.declared import MethodCommand, offered
from refute.cli.exit_statuses import CANNOT_TELL, PROPOSED
from refute.cli.options import form_options
from refute.cli.output import Form, consoles
from refute.core.methods import Bounds, Context, Given
from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.core.storage import write_output
from refute.errors import InputError
from refute.issue.choosing import check_task, chosen_reproducer
from refute.issue.contract import Reproduction
from refute.issue.drafting.submission import only_tests
from refute.issue.issue_text import read_issue
from refute.models.asking import askers, open_sessions
from refute.verbs.issues import IssueOptions, with_bounds
from refute.workspace.checkout import Checkout, in_checkout

_STATUSES = {"fixed": 0, "proposed": PROPOSED, "cannot tell": CANNOT_TELL}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions(IssueOptions):
    """What `fix` can be told."""

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
    why = proposed if result.state == "proposed" else "there is no fix that can be shown"
    return f"nothing is written to the checkout: {why}"


@click.command("fix", cls=MethodCommand, levels=("issue",), more=(Bounds,))
@offered(FixOptions)
@form_options
def command(options: FixOptions, form: Form) -> int:
    """Fix an issue: a change of the code that its own tests turn green, printed with these tests.

    ISSUE.md: a text file, `-`, or GitHub's JSON of an issue. A model is needed (--model); it writes
    tests and fixes, each of which tries the others, and the best fix is run beside existing tests
    near it. It is called fixed only where independent evidence agrees: tests of several answers,
    several answers that hold a fix that does the same, existing tests, a review, and no input on
    which a rival does something else. The checkout is changed only with --write.

    Exit status 0: fixed; 4: a fix is proposed, not more; 5: cannot tell, no fix that any test
    speaks for.
    """
    from refute.results.text.consoles import working

    with working("fixing the issue", consoles()[1]):
        result = fix(options=options)
    form.show(result)
    return _STATUSES[result.state]
