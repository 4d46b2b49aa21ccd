"""`diff`: what does a change do?

>>> result = refute.diff("main", repo=".")
>>> result.differences[0].scenario.source, result.unexplained
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.declared import OUTPUT, MethodCommand, offered
from refute.cli.exit_statuses import FOUND
from refute.cli.options import fail_on_option, form_options, with_options, write_baseline_option
from refute.cli.output import Form, consoles
from refute.cli.streams import read_targets
from refute.core.parameters import checked, options_with, parameter
from refute.core.remarks import remark
from refute.diffing.comparison import Effort, Settings
from refute.diffing.revisions import open_revisions
from refute.diffing.service import Compared, compare, work_of
from refute.diffing.working import Comparer
from refute.errors import InputError
from refute.models.asking import Asked, open_sessions
from refute.sandbox.deadline import end_after

if TYPE_CHECKING:
    from refute.api.diffing import DiffResult

PATIENCE, COUNTED = 4, 400
"""Where a model is asked: times the budget of seconds, and scenarios for one function."""
Show = Callable[[Compared, int, int], None]
"""Is told of each function, how many are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions(Asked):
    """What `diff` can be told; `set`: `rounds` and `calls` of `Effort`."""

    revisions: str | None = parameter(
        None,
        "BASE (against the working tree), BASE..HEAD, BASE...HEAD (from the merge base).",
        metavar="[BASE[..HEAD]]",
        positional=True,
        for_agents=True,
    )
    repo: Path = parameter(
        Path(), "The checkout (here).", flag="-C", metavar="REPO", for_agents=True
    )
    budget: float = parameter(
        5.0, "Seconds for one function.", metavar="SECONDS", above=0, in_files=True, for_agents=True
    )
    total_budget: float | None = parameter(
        None, "Seconds for all of them.", metavar="SECONDS", above=0, in_files=True
    )
    only: tuple[str, ...] = parameter(
        (), "Leave out all but these files, functions...", metavar="TARGET", for_agents=True
    )
    issue: Path | None = parameter(
        None, "What the change is for (`-`: stdin).", metavar="ISSUE.md", text=True, for_agents=True
    )
    seed: int = parameter(0, "Same seed, same work.", in_files=True)
    python: Path | None = parameter(
        None, "Interpreter to run on (active, or .venv's).", for_agents=True
    )
    jobs: int | None = parameter(
        None, "Worker processes (half of the cores).", at_least=1, in_files=True
    )
    baseline: Path | None = parameter(
        None, "Known differences: not shown, not counted.", in_files=True
    )


def diff(
    revisions: str | None = None,
    *,
    options: DiffOptions | None = None,
    listed: bool = False,
    show: Show = lambda one, done, total: None,
    **given: Any,
) -> DiffResult:
    """Find inputs on which the functions that changed between two revisions behave otherwise.

    `options`: a `DiffOptions`, or its fields by name (`refute diff --help` lists them).
    `revisions`: BASE (against the working tree), BASE..HEAD, BASE...HEAD (from the merge base);
    None: HEAD against the working tree. `only`: targets as of `hunt`; `listed`: they are a list of
    somebody's, which may be empty. `baseline`: a file of `DiffResult.write_baseline`. `model`: of
    functions of which no difference was found, or of which changed lines were not executed, it
    writes inputs, in up to `rounds` rounds with feedback, no more than `calls` samples for all
    functions; and it says of each difference whether it is stated, contradicted or not mentioned;
    without one the function is looked for by name. With a model scenarios are counted rather than
    timed, so that the same is asked another time. `show` is told of each function. Nothing of the
    repository runs outside the sandbox, and nothing in it is written. Raises `InputError`,
    `Unavailable`.
    """
    from refute.api.calling import apart
    from refute.api.diffing import DiffResult
    from refute.api.since import chosen_among
    from refute.issue.issue_text import read_issue

    if revisions is not None:
        given["revisions"] = revisions
    chosen = options_with(DiffOptions, options, given)
    checked(Effort, chosen.set)
    about = "" if chosen.issue is None else read_issue(str(chosen.issue))
    only = chosen.only if chosen.only or listed else None
    settings = Settings(seconds=chosen.budget, seed=chosen.seed, end=end_after(chosen.total_budget))
    if chosen.model is not None:
        patient = PATIENCE * chosen.budget
        settings = replace(settings, seconds=patient, most=COUNTED, steady=True)
    fresh = _fresh(chosen.baseline)

    def show_fresh(one: Compared, done: int, total: int) -> None:
        new = fresh(one)
        if new is not None:
            show(new, done, total)

    def work() -> DiffResult:
        with open_revisions(chosen.repo, chosen.revisions) as opened:
            how: dict[str, Any] = {"python": chosen.python}
            among = chosen_among(only, opened.repo)
            told: dict[str, Any] = {"about": about, "chosen": among, "show": show_fresh}
            found = compare(opened, settings, jobs=chosen.jobs, **told, **how)
            if chosen.model is not None and not found.interrupted:
                said = "\n\n".join(part for part in (about.strip(), *opened.messages) if part)
                with Comparer(work_of(opened, found.changes, settings, **how)) as comparer:
                    asking = _asked(found.functions, comparer, said, chosen)
                    found.functions = asyncio.run(asking)
        looked_at = len(found.functions)
        if only is not None and not looked_at and not found.interrupted:
            remark([f"nothing that changed lies in {', '.join(only) or 'an empty list'}"])
        found.functions = [new for one in found.functions if (new := fresh(one)) is not None]
        return DiffResult(found, looked_at - len(found.functions))

    return apart(work)


def _fresh(baseline: Path | None) -> Callable[[Compared], Compared | None]:
    """What came of a function without what the baseline knows; None where nothing is left of what
    differed."""
    if baseline is None:
        return lambda one: one
    from refute.results.baselines import read_baseline
    from refute.results.formats.changes import without_known

    return partial(without_known, read_baseline(baseline))


async def _asked(
    functions: Sequence[Compared], comparer: Comparer, said: str, asked: Asked
) -> list[Compared]:
    """The functions, with further inputs and with what a model says of the differences."""
    from refute.diffing.intent import with_intents
    from refute.diffing.written import with_written_inputs

    async with open_sessions(asked) as models:
        ask = models["model"].asker
        found = await with_written_inputs(functions, comparer, ask, Effort(**asked.set))
        return await with_intents(found, said or "(nothing)", ask)


_TESTS = (
    click.option(
        "--pin",
        type=click.Choice(["before", "after", "ask"]),
        help="Write each difference as a test in which this side is right.",
    ),
    click.option(
        "-o", "output", type=OUTPUT, metavar="test_x.py", help="Where (among the project's tests)."
    ),
    click.option("--force", is_flag=True, help="Let -o replace an existing file."),
    click.option(
        "--as",
        "style",
        type=click.Choice(["plain", "hypothesis"]),
        default="plain",
        help="Plain tests, or properties to fill in.",
    ),
)


@click.command("diff", cls=MethodCommand, more=(Effort,))
@offered(DiffOptions)
@with_options((*_TESTS, write_baseline_option, fail_on_option))
@form_options
def command(
    options: DiffOptions, pin: str | None, output: Path | None, force: bool, style: str,
    form: Form, write_baseline: bool, fail_on: str | None,
) -> int:  # fmt: skip
    """Find inputs on which what changed between two revisions behaves otherwise.

    BASE is compared with the working tree, BASE..HEAD two commits, BASE...HEAD the second with
    their merge base; without any, HEAD with the working tree.

    With --model, a model writes further inputs where none was found or changed lines were not
    executed, and says of each difference whether the change means it.

    Exit status 0: no difference, or each is mentioned by the change itself (a changed test,
    docstring, change log, commit message or --issue names the function; with --model: says that it
    changes so); 1: some is not.
    """
    from refute.api.diffing import check_output, write_pinned
    from refute.results.formats.changes import case_of_change
    from refute.results.text.changes import print_compared, print_end, which_side
    from refute.results.text.consoles import working

    baseline = options.baseline
    if write_baseline and baseline is None:
        raise InputError("--write-baseline: name the file with --baseline FILE")
    out, err = consoles()
    check_output(output, pin, force=force)
    # with a model, for what it says of them all
    waits = options.model is not None or not form.streams
    with working("comparing", err) as spinner:

        def show(one: Compared, done: int, total: int) -> None:
            if not waits:
                with spinner.paused():
                    if form.is_text:
                        print_compared(one, out)
                    form.show_case("diff", lambda: case_of_change(one))
            spinner.say(f"{done} of {total} functions, last {one.function.qualname}")

        told = replace(options, only=read_targets(options.only))
        told = replace(told, baseline=None if write_baseline else baseline)
        result = diff(options=told, listed=bool(options.only), show=show)
    if waits:
        form.show(result)
    else:
        if form.is_text:
            print_end(result.diffed, out)
        form.show_end(result)
    if baseline is not None and write_baseline:
        count = result.write_baseline(baseline)
        remark([f"{count} known problem{'s' * (count != 1)} in {baseline}"])
        fail_on = "never"
    elif result.known:
        remark([f"{result.known} function{'s' * (result.known != 1)} with known differences alone"])
    if pin is not None:
        side = which_side(err) if pin == "ask" else pin
        write_pinned(result, side, output, hypothesis=style == "hypothesis")
    if result.interrupted:
        raise KeyboardInterrupt
    return FOUND if result.unexplained and fail_on != "never" else 0
