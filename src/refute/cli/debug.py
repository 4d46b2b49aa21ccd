"""`refute debug`: mend a function with generated tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.functions import Subject, find, open_subject, report, subject_options, summary
from refute.cli.options import ModelOptions, json_option, model_options
from refute.cli.output import consoles, diff_name, print_json, remark
from refute.cli.status import status_of_states

if TYPE_CHECKING:
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
    from refute.function.targets import Skipped
    from refute.function.verbs import Fix
    from refute.report import documents, tables, terminal

    found, given = open_subject(subject)
    out, err = consoles()
    fixes: list[tuple[Module, Fix]] = []
    skipped = list(found.skipped)
    interrupted = False
    with terminal.working("debugging", err) as shown:
        asking = terminal.asking(err, shown) if ask else None
        try:
            for unit, one in find(
                subject, found, given, asked, shown, fixing=True, ask=asking, proposed=proposed
            ):
                if isinstance(one, Skipped):
                    skipped.append(one)
                    continue
                assert isinstance(one, Fix)
                fixes.append((unit.module, one))
                with shown.paused():
                    if not as_json:
                        name = diff_name(unit.module.source.path)
                        tables.print_fix(one, name, out, asked=ask)
                    else:
                        remark(err, (f"{one.hunt.function}: {note}" for note in one.hunt.notes))
        except KeyboardInterrupt:  # what is done is not lost
            interrupted = True
    if as_json:
        results = [(module.source.path, one) for module, one in fixes]

        def document(ones: list[Fix], path: Path) -> dict[str, Any]:
            return documents.debug_document(ones, diff_name(path), proposed=proposed)

        print_json(report(found, results, skipped, document))
    if write:
        _write(fixes, proposed)
    states = [one.state for _, one in fixes]
    if len(fixes) + len(skipped) > 1:
        remark(err, [summary(states, skipped)])
    if interrupted:
        raise KeyboardInterrupt
    return status_of_states(states, mending=True)


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
