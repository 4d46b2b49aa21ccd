"""`harden`: the tests that a change lacks.

>>> result = refute.harden(since="main")
>>> result.score, [one.test.text for one in result.offers]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Shown, apart, path_of
from refute.errors import InputError
from refute.hardening.offering import Offer
from refute.hardening.service import Hardened
from refute.remarks import remark

if TYPE_CHECKING:
    from refute.results.hardening import Harden


@dataclass(frozen=True, slots=True)
class HardenResult(Shown):
    """How many mutants the project's tests let live, and tests that kill some of them."""

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
        """Whether Ctrl-C ended it."""
        return self.hardened.interrupted

    @property
    def patch(self) -> str:
        """The tests, put among the project's own, as a unified diff from the root."""
        from refute.report.hardening import patch_of

        return patch_of(self.hardened)

    def write(self) -> list[Path]:
        """Put the tests among the project's own; returns the files that changed."""
        from refute.storage import write_output

        files = self.hardened.files()
        for path, text in files.items():
            write_output(path, text, folders=True)
        remark(f"tests written to {path}" for path in files)
        return list(files)

    def document(self) -> Harden:
        """The result as `harden/1`."""
        from refute.results.hardening import hardened_document

        return hardened_document(self.hardened)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.hardening import print_hardened

        print_hardened(self.hardened, console)


def harden(
    *targets: str,
    since: str | None = None,
    repo: Path | str | None = None,
    python: Path | str | None = None,
    recorded: Path | str | None = None,
    budget: float = 60.0,
    most: int = 5,
    seed: int = 0,
    jobs: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> HardenResult:
    """Find mutants that the project's tests do not kill, and a test that kills each.

    `since`: a commit; what changed since then, in `targets`, if any are named (files and folders).
    Without it the functions of `targets` (FILE.py::FUNCTION, FILE.py, a folder, a module); without
    either, what differs from HEAD. `repo`: the checkout, by default the one that holds the first
    target, else the working directory. `python`: the interpreter that runs its tests, with pytest.
    `recorded`: what `pytest --refute-record` wrote. `budget`: seconds for all of it. `most`: tests.
    `jobs`: mutants that are run at once; None: half as many as there are cores. `say` is told what
    is being done. The tests run in a workspace, and nothing in the checkout is written (see
    `HardenResult.write`). Raises `InputError`, `Unavailable`.
    """
    from refute.api.diffing import recorded_calls
    from refute.hardening import service
    from refute.runs.pool import cores
    from refute.workspace.snapshot import checkout_root

    if not budget > 0:
        raise InputError(f"budget = {budget}: must be above 0 seconds")
    if most < 1:
        raise InputError(f"most = {most}: must be above 0 tests")
    workers = max(1, cores() // 2) if jobs is None else jobs
    settings = service.Settings(budget=budget, most=most, seed=seed, jobs=workers)
    place = _place_of(targets) if repo is None else Path(repo)

    def work() -> HardenResult:
        calls = path_of(recorded) or recorded_calls(checkout_root(place))
        how: dict[str, Any] = {"since": since, "repo": place, "settings": settings, "say": say}
        return HardenResult(service.harden(targets, python=path_of(python), recorded=calls, **how))

    return apart(work)


def _place_of(targets: tuple[str, ...]) -> Path:
    """Where the first target lies; the working directory where it is none by its path."""
    file = Path(targets[0].partition("::")[0]) if targets else Path()
    return file if file.exists() else Path()
