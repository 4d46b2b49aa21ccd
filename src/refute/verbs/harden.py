"""`harden`: the tests that a change lacks.

>>> result = refute.harden(since="main")
>>> result.score, [one.test.text for one in result.offers]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.core.parameters import options_with, parameter
from refute.core.remarks import remark
from refute.verbs.declared import MethodCommand, offered
from refute.verbs.options import json_option
from refute.verbs.output import FOUND, Shown, apart, consoles, show

if TYPE_CHECKING:
    from refute.hardening.service import Hardened, Offer
    from refute.results.gate import Harden


@dataclass(frozen=True, slots=True)
class HardenResult(Shown):
    """Result of `harden`: surviving mutants, and tests that kill some of them."""

    hardened: Hardened

    @property
    def offers(self) -> tuple[Offer, ...]:
        """The tests, what matters most first. They pin what the code does today."""
        return tuple(self.hardened.offers)

    @property
    def score(self) -> float | None:
        """Share of mutants that the project's tests kill; None where there are none."""
        return self.hardened.score

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C ended the work."""
        return self.hardened.interrupted

    @property
    def patch(self) -> str:
        """The tests, put among the project's own, as a unified diff from the root."""
        from refute.results.text.changes import patch_of

        return patch_of(self.hardened)

    def write(self) -> list[Path]:
        """Put the tests among the project's own; returns the files that changed."""
        from refute.core.storage import write_output

        files = self.hardened.files()
        for path, text in files.items():
            write_output(path, text, folders=True)
        remark(f"tests written to {path}" for path in files)
        return list(files)

    def document(self) -> Harden:
        """The result as `harden/1`."""
        from refute.results.gate import hardened_document

        return hardened_document(self.hardened)

    def print(self, console: Any) -> None:
        """Print the result as the command does on stdout."""
        from refute.results.text.changes import print_hardened

        print_hardened(self.hardened, console)


@dataclass(frozen=True, slots=True, kw_only=True)
class HardenOptions:
    """Options of `harden`."""

    targets: tuple[str, ...] = parameter(
        (), "As of `refute hunt`.", metavar="[TARGET...]", positional=True, in_files=True
    )
    since: str | None = parameter(None, "Only code changed since this commit.", metavar="REF")
    repo: Path | None = parameter(
        None, "The checkout (that of the first target).", flag="-C", metavar="REPO"
    )
    budget: float = parameter(
        60.0, "Seconds, without the final runs.", metavar="SECONDS", above=0, in_files=True
    )
    most: int = parameter(5, "Tests to offer, at most.", at_least=1)
    seed: int = parameter(0, "Same seed, same work.", in_files=True)
    python: Path | None = parameter(None, "Interpreter to run on (active, or .venv's).")
    jobs: int | None = parameter(
        None, "Mutants run at once (half the cores).", at_least=1, in_files=True
    )
    write: bool = parameter(
        False, "Put the tests among the project's own.", flag="--write", writes=True
    )


def harden(
    *targets: str,
    options: HardenOptions | None = None,
    say: Callable[[str], None] = lambda text: None,
    **given: Any,
) -> HardenResult:
    """Find mutants that the project's tests do not kill, and a test that kills each.

    `options`: a `HardenOptions`, or its fields by name. Of `since` what changed, in `targets`, if
    any are named (files and folders). Without it the functions of `targets`; without either, what
    differs from HEAD. `python` runs the tests, with pytest. `say` receives the progress. The
    tests run in a workspace, and nothing in the checkout is written but with `write`. Raises
    `InputError`, `Unavailable`.
    """
    from refute.core.processes import cores
    from refute.hardening import service

    chosen = options_with(HardenOptions, options, given, targets)
    workers = chosen.jobs or max(1, cores() // 2)
    settings = service.Settings(
        budget=chosen.budget, most=chosen.most, seed=chosen.seed, jobs=workers
    )
    place = chosen.repo or _place_of(chosen.targets)

    def work() -> HardenResult:
        how: dict[str, Any] = {"since": chosen.since, "repo": place, "settings": settings}
        how |= {"python": chosen.python, "say": say}
        return HardenResult(service.harden(chosen.targets, **how))

    result = apart(work)
    if chosen.write:
        result.write()
    return result


def _place_of(targets: tuple[str, ...]) -> Path:
    """Return the path of the first target; the working directory if the target is no path."""
    file = Path(targets[0].partition("::")[0]) if targets else Path()
    return file if file.exists() else Path()


@click.command("harden", cls=MethodCommand)
@offered(HardenOptions)
@json_option
def command(options: HardenOptions, as_json: bool) -> int:
    """Find mutants of changed code that the project's tests do not kill, and a test for each.

    A TARGET is as in `refute hunt`; without one, and without --since: code that differs from HEAD.
    The tests pin today's behaviour, right or wrong: read them.

    Exit status 0: no test to offer; 1: some tests.
    """
    from refute.results.text.consoles import working

    with working("opening", consoles()[1]) as spinner:
        result = harden(options=replace(options, write=False), say=spinner.say)
    show(result, as_json=as_json)
    if options.write:
        result.write()
    if result.interrupted:
        raise KeyboardInterrupt
    return FOUND if result.offers else 0
