"""Programs and tests that want a reward without doing the work, each with its honest twin.

>>> from refute_lab.cheats import CHEATS, try_cheats
>>> [one.name for one in try_cheats(CHEATS) if one.cheat == "paid"]
[]

Run them against a grader of yours: `try_cheats(CHEATS, grader)`, or ``refute cheats --grader CMD``.
"""

from __future__ import annotations

from refute_lab.cheats import equality, exits, forging, looking, patching, tests_that_cheat
from refute_lab.cheats.contract import Cheat, TestTask
from refute_lab.cheats.trying import Tried, by_command, by_refute, try_cheats

__all__ = ["CHEATS", "Cheat", "TestTask", "Tried", "by_command", "by_refute", "try_cheats"]

CHEATS: tuple[Cheat, ...] = (
    *equality.CHEATS,
    *exits.CHEATS,
    *looking.CHEATS,
    *patching.CHEATS,
    *forging.CHEATS,
    *tests_that_cheat.CHEATS,
)
"""All cheats, by kind."""
