"""`prepare`: trees and environments of a dataset of issues, built ahead of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from refute.core.remarks import remark
from refute.errors import InputError, Unavailable
from refute.verbs.calling import Shown, path_of
from refute.workspace.archives import pack, unpack
from refute.workspace.base import Base
from refute_lab.datasets.swe import IssueItem, load_issues
from refute_lab.swt.workspaces import prepared


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
