"""Options that several verbs of the lab share, as dataclasses that theirs inherit."""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
import msgspec

from refute.core.parameters import parameter
from refute.models.asking import Asked
from refute.verbs.output import Shown, consoles, show
from refute.workspace.factory import Backend
from refute_lab.runs.executors import Executor

if TYPE_CHECKING:
    from refute_lab.verbs.report import Tabled


class Plain(Shown):
    """A result whose JSON document has its fields."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        document: dict[str, Any] = json.loads(msgspec.json.encode(self, enc_hook=str))
        return document


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of a dataset that a verb is about."""

    dataset: str = parameter(MISSING, "A dataset, or a file of rows.", positional=True)
    data: Path | None = parameter(None, "Its file or folder (or REFUTE_DATA).", metavar="PATH")
    limit: int | None = parameter(None, "Only the first N rows.", at_least=1)
    ids: tuple[str, ...] = parameter((), "Only these rows.", metavar="A,B")

    @property
    def chosen_ids(self) -> tuple[str, ...] | None:
        """The rows that are named; None: all."""
        named = (part.strip() for one in self.ids for part in one.split(","))
        return tuple(filter(None, named)) or None


@dataclass(frozen=True, kw_only=True)
class RunOptions(Rows):
    """The folder of a run, and what does its work."""

    jobs: int | None = parameter(None, "Runs of tests or processes at once (cores).", at_least=1)
    executor: Executor | str | None = parameter(
        None,
        "Who does work that computes: processes, ray (docs/cluster.md), or a plugin's.",
        metavar="NAME[:ADDRESS]",
    )
    task: Literal["tests", "repair"] | None = parameter(
        None, "Issues: tests that reproduce them (tests), or fixes."
    )
    run: Path | None = parameter(None, "Folder of the run; resume where it stopped.", metavar="DIR")
    runs_dir: Path = parameter(Path("runs"), "Where runs go.", by_name=True)
    workspace: Backend | None = parameter(None, "Issues: where tests run (local).", by_name=True)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The tables that are printed, and their form."""

    form: Literal["text", "csv", "latex", "json"] = parameter(
        "text", "Every table as CSV or LaTeX, or one JSON document.", flag="--format"
    )
    tables: tuple[str, ...] = parameter(
        (),
        "Only this table, also one in a paper's form (utgen-2); a wrong name lists them.",
        flag="--table",
        metavar="NAME",
    )


def asked_of(options: Asked) -> Asked:
    """Return the part of a verb's options that is about methods and models."""
    return Asked(**{one.name: getattr(options, one.name) for one in fields(Asked)})


def show_tables(found: Tabled, options: Tables) -> None:
    """Print the tables that are asked for in the form that is. Raises `InputError`."""
    form, tables = options.form, options.tables
    if form == "csv":
        click.echo(found.csv(*tables), nl=False)
    elif form == "latex":
        click.echo(found.latex(*tables), nl=False)
    elif tables and form != "json":
        from refute_lab.report import print_grid

        for grid in found.chosen(tables):
            print_grid(grid, consoles()[0])
    else:
        show(found, as_json=form == "json")
