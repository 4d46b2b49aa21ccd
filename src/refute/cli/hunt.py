"""`refute hunt`: unit tests that a function fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.declared import OUTPUT, MethodCommand
from refute.cli.functions import conclude, read_targets, subject_options, watching
from refute.cli.options import (
    baseline_options,
    fail_on_option,
    form_options,
    model_options,
    with_options,
)
from refute.cli.output import Form, consoles
from refute.errors import InputError

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module
    from refute.models.asking import Asked


@click.command("hunt", cls=MethodCommand, levels=("function",))
@subject_options
@click.option(
    "-o", "output", type=OUTPUT, metavar="test_x.py",
    help="Write them as a pytest file (or folder).",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Let -o replace an existing file.")
@click.option("-n", type=click.IntRange(1), metavar="N", help="Unit tests to look for (3).")
@model_options
@with_options((*baseline_options, fail_on_option))
@form_options
def command(
    targets: tuple[str, ...],
    output: Path | None,
    force: bool,
    n: int | None,
    form: Form,
    baseline: Path | None,
    write_baseline: bool,
    fail_on: str | None,
    asked: Asked,
    **subject: Any,
) -> int:
    """Find unit tests that the function fails (every public one, where none is named).

    A TARGET is FILE.py::FUNCTION, FILE.py, a folder, or a module as in `import`: pkg.mod or
    pkg.mod:FUNCTION; `-` reads a list of them from stdin. Without --model by search, with it by
    the method `hybrid`.

    Exit status 0: passes what is known, 1: wrong, 5: cannot tell, nothing is known.
    """
    from refute.api.functions import hunt
    from refute.function.source import diff_name
    from refute.function.verbs import Hunt
    from refute.remarks import remark
    from refute.report.formats.functions import case_of
    from refute.report.tables import print_hunt

    if write_baseline and baseline is None:
        raise InputError("--write-baseline: name the file with --baseline FILE")
    out = consoles()[0]
    if n is not None:
        asked = replace(asked, options={**asked.options, "n": n})

    def print_one(module: Module, one: Found, broad: bool) -> None:
        assert isinstance(one, Hunt)
        if form.is_text:
            print_hunt(one, out, file=diff_name(module.source.path) if broad else "")
            return
        remark(f"{one.function}: {note}" for note in one.notes)
        form.show_case("hunt", lambda: case_of(module, one))

    with watching(print_one) as (opened, show, _):
        places: dict[str, Any] = {"output": output, "force": force}
        known: dict[str, Any] = {"baseline": None if write_baseline else baseline}
        told: dict[str, Any] = {"opened": opened, "show": show}
        listed = read_targets(targets)
        result = hunt(
            *listed, asked=asked, listed="-" in targets, **known, **told, **places, **subject
        )
    form.show_end(result)
    if baseline is not None and write_baseline:
        count = result.write_baseline(baseline)
        remark([f"{count} known problem{'s' * (count != 1)} in {baseline}"])
        fail_on = "never"
    return conclude(result.collected, fail_on=fail_on)
