"""`debug`: functions fixed with generated tests.

>>> import refute
>>> result = refute.debug("examples/shipping.py::shipping_cost")
>>> result.state, result.diff, result.tests
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.function.contract import Ask
from refute.function.service import Collected, FunctionOptions, Opened, collect
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.functions import (
    DebugResult,
    Show,
    conclude,
    notice,
    opened_subject,
    subject_of,
    watching,
)
from refute.verbs.options import fail_on_option, form_options, read_targets
from refute.verbs.output import Form, consoles

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugOptions(FunctionOptions):
    """Options of `debug`."""

    proposed: bool = parameter(
        False, "Count and --write proposed fixes, too.", flag="--proposed", for_agents=True
    )
    write: bool = parameter(
        False, "Apply the fix to the file.", flag="--write", writes=True, for_agents=True
    )


def debug(
    *targets: str,
    options: DebugOptions | None = None,
    listed: bool = False,
    ask: Callable[[str], Ask] | None = None,
    opened: Callable[[Opened], None] = lambda opened: None,
    show: Show = lambda module, one, how_far: None,
    **given: Any,
) -> DebugResult:
    """Fix functions with generated tests; written with `write`, or by `DebugResult.write`.

    `options`: a `DebugOptions`, or its fields by name. `ask` gives, for a function's name, who
    answers which of two outputs is right. The others as in `hunt`.
    """
    from refute.verbs.output import apart

    chosen = options_with(DebugOptions, options, given, targets)
    subject, proposed = subject_of(chosen, listed=listed), chosen.proposed

    def work() -> DebugResult:
        found = opened_subject(subject)
        if not found.functions:
            return DebugResult(found, Collected(), proposed)
        opened(found)
        got = collect(
            subject, found, fixing=True, notice=notice, ask=ask, proposed=proposed, show=show
        )
        return DebugResult(found, got, proposed)

    result = apart(work)
    if chosen.write:
        result.write()
    return result


@click.command("debug", cls=MethodCommand, levels=("function",))
@offered(DebugOptions)
@click.option("--ask", is_flag=True, help="Ask which output is right where fixes differ.")
@fail_on_option
@form_options
def command(options: DebugOptions, ask: bool, form: Form, fail_on: str | None) -> int:
    """Fix a function with generated tests; print the fix as a diff.

    A TARGET is FILE.py::FUNCTION, FILE.py, a folder, or a module as in `import`: pkg.mod or
    pkg.mod:FUNCTION; `-` reads a list of them from stdin. Without a model (--model) it searches;
    with one, the method is `hybrid`.

    Exit status 0: fixed; 1: wrong, and no fix was found; 4: a fix is proposed only; 5: cannot tell,
    no examples or tests; 6: passes what is known, nothing to change.
    """
    from refute.function.source import diff_name
    from refute.function.verbs import Fix
    from refute.results.functions import case_of
    from refute.results.text.functions import asking, print_fix

    out, err = consoles()

    def print_one(module: Module, one: Found, file: str, others: bool) -> None:
        assert isinstance(one, Fix)
        if not form.is_text:
            remark(f"{one.hunt.function}: {note}" for note in one.hunt.notes)
            form.show_case("debug", lambda: case_of(module, one))
            return
        name = diff_name(module.source.path)
        print_fix(one, name, out, asked=ask, file=file, others=others)

    with watching(print_one) as (opened, show, spinner):
        who: dict[str, Any] = {"ask": asking(err, spinner) if ask else None}
        told: dict[str, Any] = {"opened": opened, "show": show, "listed": "-" in options.targets}
        shown_first = replace(options, targets=read_targets(options.targets), write=False)
        result = debug(options=shown_first, **who, **told)
    form.show_end(result)
    if options.write:
        result.write()
    return conclude(result, form, True, fail_on)
