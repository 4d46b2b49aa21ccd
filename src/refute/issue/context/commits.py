"""Which files were changed together before the issue, as the repository's history has it.

Read on the trusted side from the clone, and only from the base commit backwards: a workspace holds
no history, and what came after the base commit is nobody's to know.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from refute.core.problems import IssueProblem
from refute.errors import InputError, WorkspaceUnavailable
from refute.workspace.repositories import GitFailed, find_clone

_COMMITS = 4000
"""That are read, the last ones before the issue: about two years of a busy project."""
_MOST_FILES = 30
"""Of a commit: one that changes more says nothing about any two of them."""
_ONE_PARENT = ("--min-parents=1", "--max-parents=1")
"""No merges, and no commit that a history begins with: all of its files are new together."""
_LOG = ("log", f"--max-count={_COMMITS}", *_ONE_PARENT, "--name-only", "--no-renames", "-z")


@dataclass(frozen=True, slots=True)
class History:
    """The files that each commit changed, the newest first."""

    commits: tuple[frozenset[str], ...] = ()

    def beside(self, paths: Sequence[str], among: Collection[str]) -> list[str]:
        """Those of `among` that were changed together with `paths`, most often first.

        The first path counts most; a commit counts less the more of `among` it changes.
        """
        scores: dict[str, float] = defaultdict(float)
        for files in self.commits:
            weight = sum(1 / place for place, path in enumerate(paths, 1) if path in files)
            if not weight:
                continue
            others = [path for path in files if path in among and path not in paths]
            for path in others:
                scores[path] += weight / len(others)
        return sorted(scores, key=lambda path: (-scores[path], path))


NO_HISTORY = History()


def read_history(problem: IssueProblem) -> History:
    """The history up to the issue's base commit; empty where there is no clone to read it from."""
    try:
        clone = find_clone(problem.repo)
        base = clone.resolve(problem.base_commit)
        log = clone.git(*_LOG, "--format=%x01", base, "--")
    except (GitFailed, WorkspaceUnavailable, InputError):
        return NO_HISTORY
    commits = (text.strip("\0\n").split("\0") for text in log.decode(errors="replace").split("\1"))
    changed = (frozenset(path.strip("\n") for path in paths if path) for paths in commits)
    return History(tuple(files for files in changed if 1 < len(files) <= _MOST_FILES))
