"""`refute debug`: mend a function with generated tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.functions import Subject, collect, conclude, open_subject, report, subject_options
from refute.cli.options import ModelOptions, json_option, model_options
from refute.cli.output import consoles, diff_name, print_json, remark

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module
    from refute.function.verbs import Fix

__all__ = ["command"]


@click.command("debug")
@subject_options
@click.option("--ask", is_flag=True, help="Ask which output is right where fixes differ.")
@click.option("--write", is_flag=True, help="Apply the fix to the file (see --proposed).")
@click.option("--proposed", is_flag=True, help="Let --write apply what is only proposed, too.")
@model_options
@json_option
def command(
    subject: Subject, ask: bool, write: bool, proposed: bool, as_json: bool, asked: ModelOptions
) -> int:
    """Mend the function with generated tests; print the fix as a diff.

    A TARGET is FILE.py::FUNCTION, FILE.py, a folder, or a module as in `import`: pkg.mod or
    pkg.mod:FUNCTION. Without --model by search, with it by the method `hybrid`, or `utgen` where
    that is missing.

    Exit status 0: fixed; 1: wrong, and no fix was found; 4: a fix is proposed, not more;
    5: cannot tell, nothing is known; 6: passes what is known, nothing to change.
    """
    from refute.function.verbs import Fix
    from refute.report import documents, tables

    found, given, share = open_subject(subject)
    out, err = consoles()

    def show(module: Module, one: Found) -> None:
        assert isinstance(one, Fix)
        if as_json:
            remark(err, (f"{one.hunt.function}: {note}" for note in one.hunt.notes))
            return
        name = diff_name(module.source.path)
        tables.print_fix(one, name, out, asked=ask, file=name if found.broad else "")

    def document(ones: list[Fix], path: Path) -> dict[str, Any]:
        return documents.debug_document(ones, diff_name(path), proposed=proposed)

    got = collect(subject, found, given, asked, show, fixing=True, ask=ask, proposed=proposed)
    if as_json:
        print_json(report(found, got, document, share))
    if write:
        fixes = [(module, one) for module, one in got.results if isinstance(one, Fix)]
        _write(fixes, proposed)
    return conclude(got, mending=True)


def _write(fixes: list[tuple[Module, Fix]], proposed: bool) -> None:
    """Apply the fixes of each module, and what is only proposed where `proposed` is set."""
    from refute.function.contract import State
    from refute.function.verbs import mended

    lines = []
    for source in {module.source.path: module.source for module, _ in fixes}.values():
        mine = [one for module, one in fixes if module.source.path == source.path]
        code = mended(mine, proposed=proposed)
        if code != source.text:
            source.rewrite(code)
            lines.append(f"fix written to {source.path}")
    left = [one.hunt.function for _, one in fixes if one.state is State.PROPOSED and not proposed]
    if left:
        lines.append(f"only proposed, so not written without --proposed: {', '.join(left)}")
    remark(consoles()[1], lines)
