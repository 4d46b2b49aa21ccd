"""`diff`: what does a change do?

>>> result = refute.diff("main", repo=".")
>>> result.differences[0].scenario.source, result.unexplained
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from refute.core.parameters import checked, options_with, parameter
from refute.core.remarks import remark
from refute.core.storage import write_output
from refute.diffing.changes import ChangedFunction, changed
from refute.diffing.comparison import Difference, Effort, Settings
from refute.diffing.definitions import is_private
from refute.diffing.revisions import NoDifference, open_revisions
from refute.diffing.service import Compared, Comparer, Diffed, compare, work_of
from refute.errors import InputError
from refute.models.asking import Asked, open_sessions
from refute.sandbox.pool import end_after
from refute.verbs.declared import OUTPUT, MethodCommand, offered
from refute.verbs.options import (
    fail_on_option,
    form_options,
    read_targets,
    with_options,
    write_baseline_option,
)
from refute.verbs.output import FOUND, Form, Reported, apart, consoles

if TYPE_CHECKING:
    from refute.diffing.pinning import Pin, PinnedTest, Side
    from refute.results.changes import Diff
    from refute.results.formats import Report


@dataclass(frozen=True, slots=True)
class DiffResult(Reported):
    """Result of `diff`: the differences in behaviour that were found."""

    diffed: Diffed
    known: int = 0
    """Functions of which only what the baseline knows differs; they are not here."""

    @property
    def functions(self) -> tuple[Compared, ...]:
        """Comparisons, one for each changed function."""
        return tuple(self.diffed.functions)

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Inputs on which the revisions differ, of all functions."""
        return tuple(d for one in self.functions for d in one.comparison.differences)

    @property
    def unexplained(self) -> bool:
        """True if a function behaves otherwise and no changed test, docstring, change log or
        message names it."""
        return self.diffed.unexplained

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the work; the results up to then are here."""
        return self.diffed.interrupted

    def tests(
        self, pin: Pin | Side, *, hypothesis: bool = False, placed: bool = True
    ) -> list[PinnedTest]:
        """A test for each difference, that pins one side, or for each the side that `pin` says.

        `hypothesis`: as properties to fill in. `placed`: in the style of the project's tests.
        """
        from refute.diffing.pinning import pinned_tests

        chosen: Pin = (lambda one, difference: pin) if isinstance(pin, str) else pin
        root = self.diffed.repo
        return list(pinned_tests(self.diffed, chosen, root, hypothesis=hypothesis, placed=placed))

    def document(self) -> Diff:
        """The result as `diff/1`."""
        from refute.results.changes import Diff, comparison

        return Diff(**asdict(comparison(self.diffed)), known=self.known)

    def report(self) -> Report:
        """Return the findings as cases, for every format."""
        from refute.function.contract import Skipped
        from refute.results.formats import Report
        from refute.results.formats.changes import case_of_change
        from refute.results.text.changes import summary_line

        left = tuple(
            Skipped(
                f"{one.path}:{one.line}" if one.line else one.path, "cannot be read", one.reason
            )
            for one in self.diffed.changes.unreadable
        )
        cases = tuple(map(case_of_change, self.functions))
        line = summary_line(self.diffed)
        return Report("diff", cases, left, line, self.known, self.interrupted)

    def write_baseline(self, file: Path | str) -> int:
        """Write the differences as known; what the file knows of other functions stays. Returns how
        many problems it knows then. Raises `InputError`."""
        from refute.results.baselines import OF_CHANGES, write_baseline

        return write_baseline(Path(file), self.report(), OF_CHANGES)

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.results.text.changes import print_diffed

        print_diffed(self.diffed, console)


def check_output(output: Path | None, pin: str | None, *, force: bool) -> None:
    """Raise `InputError` where the tests could not be written, before any work."""
    if output is None:
        return
    if pin is None:
        raise InputError(f"{output}: name the right side with --pin")
    if output.is_dir() or output.suffix != ".py":
        raise InputError(f"{output}: name a file, test_x.py")
    if not output.parent.is_dir():
        raise InputError(f"{output}: folder {output.parent} does not exist")
    if output.exists() and not force:
        raise InputError(f"{output}: exists; add --force to replace it")


def write_pinned(
    result: DiffResult, pin: Any, output: Path | None, *, hypothesis: bool = False
) -> list[Path]:
    """Write a test for each difference into `output`, or among the project's own tests.

    `pin`: see `DiffResult.tests`. Returns the files written.
    """
    tests = result.tests(pin, hypothesis=hypothesis, placed=output is None)
    left = len(result.differences) - len(tests)
    if left:
        remark([f"{left} of {len(result.differences)} differences are not written as tests"])
    if not tests:
        return []
    from refute.diffing.pinning import put_into_project, together

    files = put_into_project(tests) if output is None else {output: together(tests)}
    for path, text in files.items():
        write_output(path, text, folders=True)
    remark(f"tests written to {path}" for path in files)
    return list(files)


PATIENCE, COUNTED = 4, 400
"""With a model: times the budget of seconds, and scenarios for one function."""
Show = Callable[[Compared, int, int], None]
"""Is told of each function, how many are done, and how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffOptions(Asked):
    """Options of `diff`; `set`: `rounds` and `calls` of `Effort`."""

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
        (), "Only these files, functions...", metavar="TARGET", for_agents=True
    )
    issue: Path | None = parameter(
        None, "The change's purpose (`-`: stdin).", metavar="ISSUE.md", text=True, for_agents=True
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
    timed, so that the same is asked another time. `show` receives each function. Nothing of the
    repository runs outside the sandbox, and nothing in it is written. Raises `InputError`,
    `Unavailable`.
    """
    if revisions is not None:
        given["revisions"] = revisions
    chosen = options_with(DiffOptions, options, given)
    checked(Effort, chosen.set)
    about = ""
    if chosen.issue is not None:
        from refute.issue.contract import read_issue

        about = read_issue(str(chosen.issue))
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
            found = compare(opened, settings, jobs=chosen.jobs, in_tests=True, **told, **how)
            if chosen.model is not None and not found.interrupted:
                said = "\n\n".join(part for part in (about.strip(), *opened.messages) if part)
                with Comparer(work_of(opened, found.changes, settings, **how)) as comparer:
                    asking = _asked(found.functions, comparer, said, chosen)
                    found.functions = asyncio.run(asking)
        looked_at = len(found.functions)
        if only is not None and not looked_at and not found.interrupted:
            remark([f"no change in {', '.join(only) or 'an empty list'}"])
        found.functions = [new for one in found.functions if (new := fresh(one)) is not None]
        return DiffResult(found, looked_at - len(found.functions))

    return apart(work)


def _fresh(baseline: Path | None) -> Callable[[Compared], Compared | None]:
    """Return a filter that drops differences known to the baseline; it returns None where no other
    is left."""
    if baseline is None:
        return lambda one: one
    from refute.results.baselines import read_baseline
    from refute.results.formats.changes import without_known

    return partial(without_known, read_baseline(baseline))


async def _asked(
    functions: Sequence[Compared], comparer: Comparer, said: str, asked: Asked
) -> list[Compared]:
    """The functions, with further inputs and with what a model says of the differences."""
    from refute.diffing.written import with_intents, with_written_inputs

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
        "-o", "output", type=OUTPUT, metavar="test_x.py", help="Test file (in the project's)."
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
    """Find inputs on which changed functions behave differently in two revisions.

    BASE compares a commit with the working tree, BASE..HEAD two commits, BASE...HEAD their merge
    base with HEAD. Without BASE: HEAD with the working tree.

    With --model, a model proposes inputs where the search found none or missed changed lines, and
    says of each difference whether the change intends it.

    Exit status 0: no difference, or the change itself mentions each one (a changed test, docstring,
    change log, commit message or --issue names the function; with --model, the model agrees); 1:
    differences that it does not mention, or functions of which nothing can be told.
    """
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
        form.say_next(result)
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
    found = result.unexplained or any(one.is_dark for one in result.functions)
    return FOUND if found and fail_on != "never" else 0


def changed_since(targets: Sequence[str], since: str) -> tuple[str, ...]:
    """Targets for what is public and is other or new in the working tree, compared with a commit:
    `FILE.py::NAME`. Of `targets` (files and folders; none: all) only what lies in them.

    Raises `InputError` for an unknown commit, for another kind of target, outside of a repository.
    """
    places = [Path(target).resolve() for target in targets]
    for target, place in zip(targets, places, strict=True):
        if not place.exists():
            raise InputError(f"{target}: --since takes files and folders, which exist")
    start = places[0] if places else Path.cwd()
    try:
        with open_revisions(start if start.is_dir() else start.parent, since) as revisions:
            changes, root = changed(revisions), revisions.repo
    except NoDifference:
        changes, root = None, start
    found: list[str] = []
    if changes is not None:
        others = [one.after for one in changes.functions if not one.is_private]
        new = [place for place in changes.added if not is_private(place.qualname)]
        for one in sorted((*others, *new), key=lambda place: (place.file, place.line)):
            file = root / one.file
            if not places or any(file.is_relative_to(within) for within in places):
                found.append(f"{os.path.relpath(file)}::{one.qualname}")
    if not found:
        remark([f"no public function or method changed since {since}"])
    return tuple(dict.fromkeys(found))


_DOTTED = re.compile(r"([^\W\d][\w.]*)(?::([^\W\d][\w.]*))?")


def chosen_among(only: Sequence[str] | None, root: Path) -> Callable[[ChangedFunction], bool]:
    """Return a test for changed functions: does one lie in a target (None: every one does)? Targets
    are files, folders, `FILE.py::NAME`, `pkg.mod` and `pkg.mod:NAME`. `root`: of the checkout;
    paths are those from the working directory, else from there.

    Raises `InputError` for what is none of these.
    """
    places = [_place(target, root) for target in only or ()]

    def chosen(function: ChangedFunction) -> bool:
        after = function.after
        return only is None or any(
            (file is None or after.file == file or after.file.startswith(f"{file}/".lstrip("/")))
            and (module is None or f"{after.module}.".startswith(f"{module}."))
            and (name is None or f"{after.qualname}.".startswith(f"{name}."))
            for file, module, name in places
        )

    return chosen


def _place(target: str, root: Path) -> tuple[str | None, str | None, str | None]:
    """File or folder in the checkout ("": all of it), dotted module, and name in it."""
    path, _, name = target.partition("::")
    root = root.resolve()
    for place in (Path(path).resolve(), (root / path).resolve()) if path else ():
        if place.exists() and place.is_relative_to(root):
            inside = place.relative_to(root).as_posix()
            return ("" if inside == "." else inside), None, name or None
    dotted = _DOTTED.fullmatch(target)
    if dotted is None or dotted.group(1).endswith(".py"):
        raise InputError(f"{target}: no file, folder or module of {root}")
    return None, dotted.group(1), dotted.group(2)
