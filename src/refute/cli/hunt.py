"""`refute hunt`: unit tests that a function fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from refute.cli.functions import Subject, find, open_subject, report, subject_options, summary
from refute.cli.options import FILE, ModelOptions, json_option, model_options
from refute.cli.output import consoles, print_json, remark
from refute.cli.status import status_of_states

if TYPE_CHECKING:
    from refute.function.target import Module
    from refute.function.targets import Targets
    from refute.function.verbs import Hunt

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
    from refute.function.targets import Skipped
    from refute.function.verbs import Hunt
    from refute.report import documents, tables, terminal

    found, given = open_subject(subject)
    places = _places(output, found, force)
    out, err = consoles()
    hunts: list[tuple[Module, Hunt]] = []
    skipped = list(found.skipped)
    interrupted = False
    with terminal.working("hunting", err) as shown:
        try:
            for unit, one in find(subject, found, given, asked, shown, fixing=False):
                if isinstance(one, Skipped):
                    skipped.append(one)
                    continue
                assert isinstance(one, Hunt)
                hunts.append((unit.module, one))
                with shown.paused():
                    if not as_json:
                        tables.print_hunt(one, out)
                    else:
                        remark(err, (f"{one.function}: {note}" for note in one.notes))
        except KeyboardInterrupt:  # what is done is not lost
            interrupted = True
    if as_json:
        results = [(module.source.path, one) for module, one in hunts]
        print_json(report(found, results, skipped, lambda ones, _: documents.hunt_document(ones)))
    _write(places, hunts, force)
    states = [one.state for _, one in hunts]
    if len(hunts) + len(skipped) > 1:
        remark(err, [summary(states, skipped)])
    if interrupted:
        raise KeyboardInterrupt
    return status_of_states(states)


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


def _write(places: dict[Path, Path], hunts: list[tuple[Module, Hunt]], force: bool) -> None:
    from refute.function.testfile import render, write_tests

    for file, place in places.items():
        mine = [(module, one) for module, one in hunts if module.source.path == file and one.found]
        if mine:
            rows = [(one.function, one.failing, one.findings) for _, one in mine]
            write_tests(place, render(mine[0][0], rows, path=place), force=force)
            remark(consoles()[1], [f"tests written to {place}"])
