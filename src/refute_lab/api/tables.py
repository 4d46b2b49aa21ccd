"""Results that are tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from refute.errors import InputError
from refute.verbs.calling import Shown
from refute_lab.report.exports import as_csv, as_latex
from refute_lab.report.grid_text import print_grid
from refute_lab.report.grids import Grid


class Tabled(Shown):
    """A result of tables, which also says them as CSV and as LaTeX."""

    __slots__ = ()

    def tables(self) -> list[Grid]:
        """All tables, those that are printed on request alone too."""
        raise NotImplementedError

    def print(self, console: Console) -> None:
        """What the command prints on stdout."""
        for grid in self.tables():
            if grid.shown:
                print_grid(grid, console)

    def chosen(self, names: Sequence[str]) -> list[Grid]:
        """The tables of these names; all for none. Raises `InputError` for a name without one."""
        tables = self.tables()
        known = list(dict.fromkeys(grid.name for grid in tables))
        for name in names:
            if name not in known:
                raise InputError(
                    f"--table {name}: no such table here; there are {', '.join(known)}"
                )
        return [grid for grid in tables if not names or grid.name in names]

    def csv(self, *names: str) -> str:
        """The tables of these names (all) as CSV. Raises `InputError`."""
        return as_csv(self.chosen(names))

    def latex(self, *names: str) -> str:
        """The tables of these names (all) as LaTeX `tabular`s. Raises `InputError`."""
        return as_latex(self.chosen(names))
