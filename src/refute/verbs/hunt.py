"""`hunt`: unit tests that functions fail.

>>> import refute
>>> result = refute.hunt("examples/shipping.py::shipping_cost", budget=3)
>>> result.state, result.tests
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.errors import InputError
from refute.function.service import Collected, FunctionOptions, Opened, collect
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.functions import (
    HuntResult,
    Show,
    conclude,
    notice,
    opened_subject,
    places_of_tests,
    subject_of,
    watching,
)
from refute.verbs.options import fail_on_option, form_options, read_targets, write_baseline_option
from refute.verbs.output import Form, consoles

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions(FunctionOptions):
    """Options of `hunt`."""

    n: int | None = parameter(
        None,
        "Failing tests of one function to look for (3).",
        flag="-n",
        at_least=1,
        in_files=True,
        for_agents=True,
    )
    output: Path | None = parameter(
        None,
        "Write the tests there: a new file, or a folder.",
        flag="-o",
        metavar="test_x.py",
        writes=True,
        for_agents=True,
    )
    force: bool = parameter(False, "Let -o replace an existing file.", flag="--force", writes=True)
    baseline: Path | None = parameter(
        None, "Known problems: not shown, not counted.", in_files=True
    )


def hunt(
    *targets: str,
    options: HuntOptions | None = None,
    listed: bool = False,
    opened: Callable[[Opened], None] = lambda opened: None,
    show: Show = lambda module, one, how_far: None,
    **given: Any,
) -> HuntResult:
    """Find unit tests that functions fail.

    `options`: a `HuntOptions`; or its fields by name, which come first (`refute hunt --help` lists
    them; `set`: the method's, as `{"k": 3}`). `listed`: the targets are a list of somebody's, which
    may be empty. `opened` receives once what was opened, `show` each result.
    """
    from refute.verbs.output import apart

    chosen = options_with(HuntOptions, options, given, targets)
    subject = subject_of(chosen, listed=listed)
    if chosen.n is not None:
        subject = replace(subject, set={**subject.set, "n": chosen.n})

    def work() -> HuntResult:
        found = opened_subject(subject)
        if not found.functions:
            return HuntResult(found, Collected())
        known = _unknown(chosen.baseline)
        if chosen.output is not None:
            places_of_tests(chosen.output, found, force=chosen.force)
        opened(found)
        result = HuntResult(
            found, collect(subject, found, fixing=False, notice=notice, fresh=known, show=show)
        )
        if chosen.output is not None:
            written = result.write_pytest(chosen.output, force=chosen.force)
            remark(f"tests written to {place}" for place in written)
        return result

    return apart(work)


def _unknown(baseline: Path | None) -> Callable[[Module, Found], Found | None]:
    """A result without what the baseline knows; None where it knows all of it."""
    if baseline is None:
        return lambda module, one: one
    from refute.results.baselines import read_baseline, without_known

    return partial(without_known, read_baseline(baseline))


@click.command("hunt", cls=MethodCommand, levels=("function",))
@offered(HuntOptions)
@write_baseline_option
@fail_on_option
@form_options
def command(options: HuntOptions, form: Form, write_baseline: bool, fail_on: str | None) -> int:
    """Find unit tests that a function fails; without a name, for every public function.

    A TARGET is FILE.py::FUNCTION, FILE.py, a folder, or a module as in `import`: pkg.mod or
    pkg.mod:FUNCTION; `-` reads a list of them from stdin. Without a model (--model) it searches;
    with one, the method is `hybrid`.

    Exit status 0: passes what is known, 1: wrong, 5: cannot tell, no examples or tests.
    """
    from refute.function.verbs import Hunt
    from refute.results.functions import case_of
    from refute.results.text.functions import print_hunt

    baseline = options.baseline
    if write_baseline and baseline is None:
        raise InputError("--write-baseline: name the file with --baseline FILE")
    out = consoles()[0]

    def print_one(module: Module, one: Found, file: str, others: bool) -> None:
        assert isinstance(one, Hunt)
        if form.is_text:
            print_hunt(one, out, file=file, others=others)
            return
        remark(f"{one.function}: {note}" for note in one.notes)
        form.show_case("hunt", lambda: case_of(module, one))

    with watching(print_one) as (opened, show, _):
        listed = "-" in options.targets
        told = replace(
            options,
            targets=read_targets(options.targets),
            baseline=None if write_baseline else baseline,
        )
        result = hunt(options=told, listed=listed, opened=opened, show=show)
    form.show_end(result)
    if baseline is not None and write_baseline:
        count = result.write_baseline(baseline)
        remark([f"{count} known problem{'s' * (count != 1)} in {baseline}"])
        fail_on = "never"
    return conclude(result, form, False, fail_on)
