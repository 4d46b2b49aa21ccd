"""`refute hunt`: unit tests that a function fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.functions import conclude, subject_options, watching
from refute.cli.method_options import MethodCommand
from refute.cli.options import FILE, json_option, model_options
from refute.cli.output import consoles, print_json

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module
    from refute.models.asking import Asked

__all__ = ["command"]


@click.command("hunt", cls=MethodCommand, levels=("function",))
@subject_options
@click.option(
    "-o", "output", type=FILE, metavar="test_x.py", help="Write them as a pytest file (or folder)."
)
@click.option("--force", is_flag=True, help="Let -o replace an existing file.")
@click.option("-n", type=click.IntRange(1), metavar="N", help="Unit tests to look for (3).")
@model_options
@json_option
def command(
    targets: tuple[str, ...],
    output: Path | None,
    force: bool,
    n: int | None,
    as_json: bool,
    asked: Asked,
    **subject: Any,
) -> int:
    """Find unit tests that the function fails (every public one, where none is named).

    A TARGET is FILE.py::FUNCTION, FILE.py, a folder, or a module as in `import`: pkg.mod or
    pkg.mod:FUNCTION. Without --model by search, with it by the method `hybrid`.

    Exit status 0: passes what is known, 1: wrong, 5: cannot tell, nothing is known.
    """
    from refute.api.functions import hunt
    from refute.function.source import diff_name
    from refute.function.verbs import Hunt
    from refute.remarks import remark
    from refute.report.tables import print_hunt

    out = consoles()[0]
    if n is not None:
        asked = replace(asked, options={**asked.options, "n": n})

    def print_one(module: Module, one: Found, broad: bool) -> None:
        assert isinstance(one, Hunt)
        if as_json:
            remark(f"{one.function}: {note}" for note in one.notes)
        else:
            print_hunt(one, out, file=diff_name(module.source.path) if broad else "")

    with watching(print_one) as (opened, show, _):
        places: dict[str, Any] = {"output": output, "force": force}
        result = hunt(*targets, asked=asked, opened=opened, show=show, **places, **subject)
    if as_json:
        print_json(result.to_dict() or None)
    return conclude(result.collected)
