"""What may be set: the commands' options as settings, and which of them a file may set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["boolean", "integer", "number", "text", "file", "texts"]

OF_FILES = frozenset(
    {
        # how long, how much, how many
        "at-once",
        "budget",
        "budget-tokens",
        "budget-usd",
        "concurrency",
        "jobs",
        "n",
        "neighbours",
        "seed",
        "time-limit",
        "timeout",
        "total-budget",
        # what is looked at and believed: files that are read, or run in the sandbox
        "baseline",
        "description",
        "recorded",
        "targets",
        "tests",
        # how
        "as",
        "behaviour",
        "cache",
        "fail-on",
        "format",
        "method",
        "preset",
        "runner",
    }
)
"""The keys that `[tool.refute]` may hold, where the command has an option of the name.

Not among them is what starts a program (`python`, `agent`), names a server, a model or words for
it (`model`, `tester`, `base-url`, `prompts`), lets something out (`allow-network`), or writes
(`write`, `force`, `o`, `record`): whoever clones a repository has not agreed to these. They are for
the command line and the environment, which are the user's own. Of what is set by name
(`[tool.refute.set]`) a file sets what is a number or one of a few words.
"""


@dataclass(frozen=True, slots=True)
class Declared:
    """One option of a command, as a setting."""

    key: str
    """Its long flag without dashes in front: `total-budget`."""
    name: str
    """Of the command's parameter."""
    kind: Kind
    default: Any
    check: Callable[[Any], None]
    """Raises `ValueError`, with words for people, for a value that the option does not take."""
    of_model: bool = False
    """Whether `[tool.refute.model]` may hold it, too."""
    by_name: bool = False
    """Whether `--set` sets it, and it is a number or one of a few words."""

    @property
    def in_files(self) -> bool:
        """Whether `[tool.refute]` may set it."""
        return self.by_name or self.key in OF_FILES
