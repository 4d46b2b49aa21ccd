"""What was found for failing tests, for people and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from refute.api.failing import FailingResult, Mended

_SHOWN = 3


def print_failing(result: FailingResult, console: Console) -> None:
    """Each failing test with what it suspects, then the fixes; nothing of them is applied."""
    green = {test for one in result.mended for test in one.green}
    for one, names in zip(result.failing, result.suspects, strict=True):
        suspected = ", ".join(names[:_SHOWN]) or "no function of the project"
        tail = "" if one.test in green else "; no small fix was found"
        line = Text.assemble((one.test, "bold"), f" suspects {suspected}{tail}")
        console.print(line, soft_wrap=True)
    for name, why in result.unsearched:
        console.print(Text(f"not searched: {name}: {why}", style="dim"), soft_wrap=True)
    for mended in result.mended:
        _print_fix(mended, console)


def _print_fix(one: Mended, console: Console) -> None:
    many = len(one.green)
    tests = f"turns {many} failing test{'s' * (many != 1)} green"
    stay = f"{one.stay} that pass{'es' * (one.stay == 1)} and run it stay{'s' * (one.stay == 1)} so"
    title = (f"{one.file}::{one.function}: {one.state}", "bold")
    console.print(Text.assemble(title, f": {tests}, {stay}"), soft_wrap=True)
    console.print(Text(one.diff.rstrip("\n")), soft_wrap=True)
