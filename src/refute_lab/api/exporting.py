"""Problems for training by rewards: `write_rows`, `export_harbor`.

>>> from refute_lab.api.exporting import write_rows
>>> write_rows("humaneval+", output="rows.jsonl").rows
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core.extras import requirement
from refute.core.remarks import remark
from refute.errors import InputError, Unavailable
from refute.verbs.output import Shown, path_of
from refute.workspace.archives import pack, unpack
from refute.workspace.contract import Base
from refute_lab.adapters import harbor, harbor_issues
from refute_lab.adapters.rows import Answers, rows
from refute_lab.datasets.swe import IssueItem, holds_issues, load_issues
from refute_lab.swt.workspaces import prepared
from refute_lab.train.data import write_lines


@dataclass(frozen=True, slots=True)
class Exported(Shown):
    """What was written."""

    output: Path
    rows: int
    """Problems."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {"output": str(self.output), "rows": self.rows}

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        console.print(f"{self.rows} problems into {self.output}", markup=False)


def write_rows(
    dataset: str,
    *,
    output: Path | str,
    answers: Answers = "program",
    data: Path | str | None = None,
    ids: Collection[str] | None = None,
    limit: int | None = None,
) -> Exported:
    """Write a row for each problem of a dataset: see `refute_lab.adapters.rows.rows`."""
    made = [row.to_dict() for row in _rows(dataset, answers, data, ids, limit)]
    write_lines(Path(output), made)
    return Exported(Path(output), len(made))


def export_harbor(
    dataset: str,
    *,
    output: Path | str,
    answers: Answers | None = None,
    data: Path | str | None = None,
    ids: Collection[str] | None = None,
    limit: int | None = None,
) -> Exported:
    """Write a Harbor task for each problem of a dataset: see `refute_lab.adapters.harbor`, and
    `harbor_issues` for one of issues. `answers`: None is "program", and "test" for issues.

    The verifiers' images install refute from where this copy came from. Raises `InputError`,
    `SandboxUnavailable`, and of issues `WorkspaceUnavailable`.
    """
    source = requirement()
    if not source or source.startswith("/"):
        remark(
            [
                f"no image can install refute from {source or 'an unknown place'}: export with a"
                " refute that was installed from an address (git+https://...)"
            ]
        )
    if not holds_issues(dataset):
        made = _rows(dataset, answers or "program", data, ids, limit)
        return Exported(Path(output), harbor.write_tasks(made, output))
    if answers == "program":
        raise InputError(f"{dataset}: of issues only tests are asked for: leave --answers out")
    items = load_issues(dataset, data=path_of(data), ids=ids or None, limit=limit)
    return Exported(Path(output), harbor_issues.write_issue_tasks(items, output))


def _rows(
    dataset: str, answers: Answers, data: Path | str | None, ids: Collection[str] | None,
    limit: int | None,
) -> Any:  # fmt: skip
    if answers not in ("program", "test"):
        raise InputError(f"answers: {answers!r} is neither program nor test")
    return rows(dataset, answers=answers, data=data, ids=ids or None, limit=limit)


# -- preparing -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared(Shown):
    """What is in the cache now."""

    ready: tuple[str, ...]
    """Ids of the issues whose tree and environment are there."""
    errors: Mapping[str, str]
    """By issue: why they are not."""
    archived: int = 0
    """Trees and environments that were written to an archive, or taken out of one."""

    @property
    def complete(self) -> bool:
        """Whether all could be built."""
        return not self.errors

    def to_dict(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "ready": list(self.ready),
            "errors": dict(self.errors),
            "archived": self.archived,
        }

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        archived = f", {self.archived} trees and environments archived" * bool(self.archived)
        console.print(f"{len(self.ready)} ready, {len(self.errors)} not{archived}")


def prepare(
    dataset: Path | str | None = None,
    *,
    data: Path | str | None = None,
    limit: int | None = None,
    ids: Sequence[str] | None = None,
    jobs: int | None = None,
    output: Path | str | None = None,
    archive: Path | str | None = None,
) -> Prepared:
    """Build trees and environments of the issues of a dataset, `jobs` at once.

    `archive`: a file that was made by `output`, which is put into the cache first, so that only
    what it lacks is built; without a dataset nothing is. Raises `InputError`.
    """
    if dataset is None and (archive is None or output is not None):
        raise InputError("name a dataset, or an archive with --from")
    taken = 0 if archive is None else unpack(Path(archive))
    if dataset is None:
        return Prepared((), {}, taken)
    items = load_issues(str(dataset), data=path_of(data), ids=ids, limit=limit)

    def build(item: IssueItem) -> Base | str:
        try:
            return prepared(item.problem, "local")
        except (Unavailable, InputError) as error:
            return " ".join(str(error).split())

    with ThreadPoolExecutor(jobs or 1) as threads:
        built = dict(zip((i.problem.id for i in items), threads.map(build, items), strict=True))
    bases = {id: one for id, one in built.items() if isinstance(one, Base)}
    errors = {id: one for id, one in built.items() if isinstance(one, str)}
    remark(f"{id}: not prepared: {reason}" for id, reason in errors.items())
    packed = 0 if output is None else pack(bases.values(), Path(output))
    return Prepared(tuple(bases), errors, packed or taken)
