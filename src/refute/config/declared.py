"""What may be set: the commands' options as settings, and which of them a file may set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["boolean", "integer", "number", "text", "file", "texts"]

OF_FILES = frozenset({"as", "at-once", "budget", "fail-on", "format", "time-limit"})
"""What `[tool.refute]` may hold besides the fields that say so (`in_files`).

Not in a file is what starts a program (`python`, `agent`), names a server, a model or words for
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
    in_files: bool
    """Whether `[tool.refute]` may set it."""
    check: Callable[[Any], None] = lambda value: None
    """Raises `ValueError`, with words for people, for a value that the option does not take."""
    of_model: bool = False
    """Whether `[tool.refute.model]` may hold it, too."""
