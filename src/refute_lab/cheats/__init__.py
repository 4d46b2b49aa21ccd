"""Programs and tests that want a reward without doing the work, each with its honest twin.

>>> from refute_lab.cheats import CHEATS, try_cheats
>>> [one.name for one in try_cheats(CHEATS) if one.cheat == "paid"]
[]

Run them against a grader of yours: `try_cheats(CHEATS, grader)`, or ``refute cheats --grader CMD``.
"""

from __future__ import annotations

from refute_lab.cheats.contract import Cheat, TestTask, Tried, by_command, by_refute, try_cheats
from refute_lab.cheats.looking import LOOKING, TESTS_THAT_CHEAT
from refute_lab.cheats.programs import EQUALITY, EXITS, FORGING, PATCHING

__all__ = ["CHEATS", "Cheat", "TestTask", "Tried", "by_command", "by_refute", "try_cheats"]

CHEATS: tuple[Cheat, ...] = (
    *EQUALITY, *EXITS, *LOOKING, *PATCHING, *FORGING, *TESTS_THAT_CHEAT,
)  # fmt: skip
"""All cheats, by kind."""
