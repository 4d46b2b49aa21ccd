"""`refute hunt`: unit tests that a function fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.functions import (
    Collected,
    Subject,
    collect,
    conclude,
    open_subject,
    report,
    subject_options,
)
from refute.cli.options import FILE, ModelOptions, json_option, model_options
from refute.cli.output import consoles, diff_name, print_json, remark

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module
    from refute.function.targets import Targets

__all__ = ["command"]


@click.command("hunt", short_help="Find unit tests that the function fails.")
@subject_options
@click.option(
    "-o", "output", type=FILE, metavar="test_x.py", help="Write them as a pytest file (or folder)."
)
@click.option("--force", is_flag=True, help="Let -o replace an existing file.")
@model_options
@json_option
def command(
    subject: Subject, output: Path | None, force: bool, as_json: bool, asked: ModelOptions
) -> int:
    """Find unit tests that the function fails (every public one, where none is named).

    A TARGET is FILE.py::FUNCTION, FILE.py, a folder, or a module as in `import`: pkg.mod or
    pkg.mod:FUNCTION. Without --model by search, with it by the method `hybrid`, or `utgen` where
    that is missing.

    Exit status 0: passes what is known, 1: wrong, 5: cannot tell, nothing is known.
    """
    from refute.function.verbs import Hunt
    from refute.report import documents, tables

    found, given, share = open_subject(subject)
    places = _places(output, found, force)
    out, err = consoles()

    def show(module: Module, one: Found) -> None:
        assert isinstance(one, Hunt)
        if as_json:
            remark(err, (f"{one.function}: {note}" for note in one.notes))
            return
        file = diff_name(module.source.path) if found.broad else ""
        tables.print_hunt(one, out, file=file)

    got = collect(subject, found, given, asked, show, fixing=False)
    if as_json:
        print_json(report(found, got, lambda ones, _: documents.hunt_document(ones), share))
    _write(places, got, force)
    return conclude(got)


def _places(output: Path | None, found: Targets, force: bool) -> dict[Path, Path]:
    """Module's file -> the file that its tests go to. Raises `InputError` before any work."""
    from refute.errors import InputError

    if output is None:
        return {}
    files = [module.source.path for module in found.modules]
    if output.is_dir():
        places = {file: output / f"test_{file.stem}_refuted.py" for file in files}
        if len(set(places.values())) < len(files):
            places = {
                module.source.path: output
                / f"test_{module.surroundings.name.replace('.', '_')}_refuted.py"
                for module in found.modules
            }
    elif len(files) > 1:
        raise InputError(f"{output}: tests of {len(files)} files go to a folder that exists")
    else:
        places = {files[0]: output}
    for place in places.values():
        if not place.parent.is_dir():
            raise InputError(f"{place}: there is no folder {place.parent}")
        if place.exists() and not force:
            raise InputError(f"{place}: exists; add --force to replace it")
    return places


def _write(places: dict[Path, Path], got: Collected, force: bool) -> None:
    from refute.function.testfile import render, write_tests
    from refute.function.verbs import Hunt

    for file, place in places.items():
        mine = [
            (module, one)
            for module, one in got.results
            if module.source.path == file and isinstance(one, Hunt) and one.found
        ]
        if mine:
            rows = [(one.function, one.failing, one.findings) for _, one in mine]
            write_tests(place, render(mine[0][0], rows, path=place), force=force)
            remark(consoles()[1], [f"tests written to {place}"])
