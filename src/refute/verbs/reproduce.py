"""`reproduce`: a test that fails now for an issue's reason.

>>> found = refute.reproduce("ISSUE.md", repo=".")
>>> found.failing, found.patch
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import click

from refute.core.methods import Bounds
from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.core.storage import write_output
from refute.errors import WorkspaceUnavailable
from refute.issue.choosing import chosen_reproducer
from refute.issue.contract import read_issue
from refute.issue.original import WHOLE, Original
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.issues import IssueOptions, ReproduceResult, reproduced, with_bounds
from refute.verbs.options import form_options
from refute.verbs.output import FOUND, Form, apart, consoles
from refute.workspace.factory import Checkout, in_checkout


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceOptions(IssueOptions):
    """Options of `reproduce`."""

    issue: Path = parameter(
        MISSING,
        "The issue: title, a line feed, body. Sessions (>>>), scripts and tracebacks in it are what"
        " is worked from.",
        metavar="ISSUE.md",
        positional=True,
        text=True,
        for_agents=True,
    )
    output: Path | None = parameter(
        None, "Write the test patch there.", flag="-o", metavar="test.patch", writes=True
    )
    write: bool = parameter(
        False, "Apply the test patch to the checkout.", flag="--write", writes=True, for_agents=True
    )


def reproduce(
    issue: Path | str | None = None,
    *,
    options: ReproduceOptions | None = None,
    chosen: Callable[[str], None] = lambda method: None,
    **given: Any,
) -> ReproduceResult:
    """Write a test that fails now for the reason that an issue describes.

    `issue`: a text file or GitHub's JSON of an issue. `options`: a `ReproduceOptions`, or its
    fields by name; `set`: what it may cost, too, as `{"seconds": 60}`. The checkout `repo` is
    changed only with `write`: test files, of a test that was seen to fail. `chosen` receives the
    method's name before any work. Raises `WorkspaceUnavailable` where no test can be run.
    """
    named = given if issue is None else {**given, "issue": issue}
    asked, bounds = with_bounds(options_with(ReproduceOptions, options, named))
    text = read_issue(str(asked.issue))
    name, spec, method_options = chosen_reproducer(asked)
    chosen(name)

    def work() -> ReproduceResult:
        problem, spawn = in_checkout(Checkout(asked.repo, asked.python, asked.runner), text)
        found = asyncio.run(reproduced(spec, method_options, problem, spawn, asked, bounds))
        if not found.prediction.patch:
            return ReproduceResult(name, found, None)
        with spawn() as workspace:
            original = Original(workspace, bounds, whole=WHOLE)
            trial = original.attempt(found.prediction.patch)
            if fault := original.fault(trial):
                raise WorkspaceUnavailable(f"this interpreter cannot run tests: {fault}")
            return ReproduceResult(name, found, trial)

    result = apart(work)
    if result.patch and asked.output is not None:
        write_output(asked.output, result.patch.encode("utf-8", "surrogateescape"))
        remark([f"test patch written to {asked.output}"])
    if asked.write:
        changed = ", ".join(result.write(asked.repo))
        nothing = "nothing is written to the checkout: no test fails"
        remark([f"tests written to {changed}" if changed else nothing])
    return result


@click.command("reproduce", cls=MethodCommand, levels=("issue",), more=(Bounds,))
@offered(ReproduceOptions)
@form_options
def command(options: ReproduceOptions, form: Form) -> int:
    """Write a test that fails now for the reason that an issue describes.

    ISSUE.md: a text file, `-`, or GitHub's JSON of an issue. Works on the checkout as it is, dirty
    or clean, in a private copy; the checkout is changed only with --write, which writes test files
    and nothing else, and only a test that was seen to fail. Without a model, what the issue itself
    holds is run (method `snippet`).

    Exit status 1: such a test was found; 0: none was.
    """
    from refute.results.text.consoles import working

    with working("reproducing the issue", consoles()[1]) as spinner:

        def chosen(name: str) -> None:
            spinner.say(f"reproducing the issue ({name})")

        result = reproduce(options=options, chosen=chosen)
    form.show(result)
    return FOUND if result.failing else 0
