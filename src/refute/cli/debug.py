"""`refute debug`: mend a function with generated tests."""

from __future__ import annotations

from pathlib import Path

import click

from refute.cli.options import (
    ModelOptions,
    budget_option,
    description_option,
    json_option,
    model_options,
    seed_option,
    target_argument,
    tests_option,
)
from refute.cli.output import consoles, diff_name, print_json, remark, warn
from refute.cli.status import status_of_states
from refute.cli.subject import given_tests

__all__ = ["command"]


@click.command("debug")
@target_argument
@click.option("--ask", is_flag=True, help="Ask which output is right where fixes differ.")
@click.option("--write", is_flag=True, help="Apply the fix to the file (see --proposed).")
@click.option("--proposed", is_flag=True, help="Let --write apply what is only proposed, too.")
@tests_option
@description_option
@model_options
@budget_option
@seed_option
@json_option
def command(
    target: str,
    ask: bool,
    write: bool,
    proposed: bool,
    tests: Path | None,
    description: Path | None,
    budget: float,
    seed: int,
    as_json: bool,
    asked: ModelOptions,
) -> int:
    """Mend the function with generated tests; print the fix as a diff.

    Without --model by search, with it by the method `hybrid`, or `utgen` where that is missing.

    Exit status 0: fixed; 1: wrong, and no fix was found; 4: a fix is proposed, not more;
    5: cannot tell, nothing is known; 6: passes what is known, nothing to change.
    """
    from refute.cli.asking import solver_of
    from refute.function import verbs
    from refute.function.contract import State
    from refute.function.target import open_target
    from refute.report import documents, tables, terminal

    module = open_target(target)
    text = verbs.read_description(description)
    given = given_tests(module, tests)
    out, err = consoles()
    name = diff_name(module.source.path)
    fixes = []
    with (
        terminal.working(f"debugging {target}", err) as status,
        verbs.open_box(module) as box,
        solver_of(asked, module, box, budget=budget, seed=seed) as solver,
    ):
        warn(err, box)
        known = len(module.skipped)
        module = verbs.present(module, box)
        remark(err, (f"skipped {line}" for line in module.skipped[known:]))
        for one in verbs.debug(
            module,
            solver=solver,
            description=text,
            tests=given,
            ask=terminal.asking(err, status) if ask else None,
            proposed=proposed,
        ):
            fixes.append(one)
            if not as_json:
                tables.print_fix(one, name, out, asked=ask)
            else:
                remark(err, (f"{one.hunt.function}: {note}" for note in one.hunt.notes))
    if as_json:
        print_json(documents.debug_document(fixes, name, proposed=proposed))
    code = verbs.mended(fixes, proposed=proposed)
    if write and code != module.source.text:
        module.source.rewrite(code)
        remark(err, [f"fix written to {module.source.path}"])
    left = [one.hunt.function for one in fixes if one.state is State.PROPOSED and not proposed]
    if write and left:
        remark(err, [f"only proposed, so not written without --proposed: {', '.join(left)}"])
    return status_of_states((one.state for one in fixes), mending=True)
