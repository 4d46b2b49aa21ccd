"""`refute hunt`: unit tests that a function fails."""

from __future__ import annotations

from pathlib import Path

import click

from refute.cli.options import (
    FILE,
    ModelOptions,
    budget_option,
    description_option,
    json_option,
    model_options,
    seed_option,
    target_argument,
    tests_option,
)
from refute.cli.output import consoles, print_json, remark, warn
from refute.cli.status import status_of_states
from refute.cli.subject import given_tests

__all__ = ["command"]


@click.command("hunt", short_help="Find unit tests that the function fails.")
@target_argument
@click.option("-o", "output", type=FILE, metavar="test_x.py", help="Write them as a pytest file.")
@click.option("--force", is_flag=True, help="Let -o replace an existing file.")
@tests_option
@description_option
@model_options
@budget_option
@seed_option
@json_option
def command(
    target: str,
    output: Path | None,
    force: bool,
    tests: Path | None,
    description: Path | None,
    budget: float,
    seed: int,
    as_json: bool,
    asked: ModelOptions,
) -> int:
    """Find unit tests that the function fails (every public one, where none is named).

    Without --model by search, with it by the method `hybrid`, or `utgen` where that is missing.

    Exit status 0: passes what is known, 1: wrong, 5: cannot tell, nothing is known.
    """
    from refute.cli.asking import solver_of
    from refute.errors import InputError
    from refute.function import verbs
    from refute.function.target import open_target
    from refute.function.testfile import render, write_tests
    from refute.report import documents, tables, terminal

    module = open_target(target)
    text = verbs.read_description(description)
    given = given_tests(module, tests)
    if output is not None and output.exists() and not force:
        raise InputError(f"{output}: exists; add --force to replace it")
    out, err = consoles()
    hunts = []
    with (
        terminal.working(f"hunting in {target}", err),
        verbs.open_box(module) as box,
        solver_of(asked, module, box, budget=budget, seed=seed, m=0) as solver,
    ):
        warn(err, box)
        known = len(module.skipped)
        module = verbs.present(module, box)
        remark(err, (f"skipped {line}" for line in module.skipped[known:]))
        for one in verbs.hunt(
            module, solver=solver, count=asked.n or 3, description=text, tests=given
        ):
            hunts.append(one)
            if not as_json:
                tables.print_hunt(one, out)
            else:
                remark(err, (f"{one.function}: {note}" for note in one.notes))
    if as_json:
        print_json(documents.hunt_document(hunts))
    rows = [(one.function, one.failing, one.findings) for one in hunts if one.found]
    if output is not None and rows:
        write_tests(output, render(module, rows, path=output), force=force)
        remark(err, [f"tests written to {output}"])
    return status_of_states(one.state for one in hunts)
