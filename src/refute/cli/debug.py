"""`refute debug`: fix a function with generated tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.declared import FILE, MethodCommand
from refute.cli.exit_statuses import status_of_states
from refute.cli.functions import conclude, read_targets, subject_options, watching
from refute.cli.options import fail_on_option, form_options, model_options
from refute.cli.output import Form, consoles
from refute.cli.output import show as show_result

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module
    from refute.models.asking import Asked


@click.command("debug", cls=MethodCommand, levels=("function",))
@subject_options
@click.option(
    "--failing",
    type=FILE,
    metavar="FILE",
    help="Of pytest --refute-debug: what failing tests suspect.",
)
@click.option("--ask", is_flag=True, help="Ask which output is right where fixes differ.")
@click.option("--write", is_flag=True, help="Apply the fix to the file (see --proposed).")
@click.option("--proposed", is_flag=True, help="Let --write apply what is only proposed, too.")
@model_options
@fail_on_option
@form_options
def command(
    targets: tuple[str, ...],
    failing: Path | None,
    ask: bool,
    write: bool,
    proposed: bool,
    form: Form,
    fail_on: str | None,
    asked: Asked,
    **subject: Any,
) -> int:
    """Fix the function with generated tests; print the fix as a diff.

    A TARGET is FILE.py::FUNCTION, FILE.py, a folder, or a module as in `import`: pkg.mod or
    pkg.mod:FUNCTION; `-` reads a list of them from stdin. Without --model by search, with it by
    the method `hybrid`.

    Exit status 0: fixed; 1: wrong, and no fix was found; 4: a fix is proposed, not more;
    5: cannot tell, nothing is known; 6: passes what is known, nothing to change.
    """
    from refute.api.functions import debug
    from refute.function.source import diff_name
    from refute.function.verbs import Fix
    from refute.remarks import remark
    from refute.report import terminal
    from refute.report.formats.functions import case_of
    from refute.report.tables import print_fix

    if failing is not None:
        return _of_failing(failing, targets, form, **subject)
    out, err = consoles()

    def print_one(module: Module, one: Found, broad: bool) -> None:
        assert isinstance(one, Fix)
        if not form.is_text:
            remark(f"{one.hunt.function}: {note}" for note in one.hunt.notes)
            form.show_case("debug", lambda: case_of(module, one))
            return
        name = diff_name(module.source.path)
        print_fix(one, name, out, asked=ask, file=name if broad else "")

    with watching(print_one) as (opened, show, spinner):
        who: dict[str, Any] = {"ask": terminal.asking(err, spinner) if ask else None}
        told: dict[str, Any] = {"opened": opened, "show": show}
        how: dict[str, Any] = {"asked": asked, "proposed": proposed, "listed": "-" in targets}
        result = debug(*read_targets(targets), **how, **who, **told, **subject)
    form.show_end(result)
    if write:
        result.write()
    return conclude(result.collected, fixing=True, fail_on=fail_on)


def _of_failing(path: Path, targets: tuple[str, ...], form: Form, **subject: Any) -> int:
    from refute.api.failing import debug_failing
    from refute.errors import InputError

    if targets:
        raise InputError(f"{targets[0]}: with --failing, the failing tests say what is searched")
    if form.name not in ("text", "json") or form.saved:
        raise InputError("--failing: its result is shown as text or as json")
    how = {name: subject[name] for name in ("python", "budget", "seed")}
    result = debug_failing(path, **how)
    show_result(result, as_json=form.name == "json")
    return status_of_states([result.state], fixing=True)
