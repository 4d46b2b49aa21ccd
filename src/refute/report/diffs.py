"""What a change does, as text for people and as the JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from refute.diffing.differences import Difference
from refute.diffing.service import Compared, Diffed
from refute.function.formatting import value_source
from refute.function.scenarios.observation import Observation
from refute.report.fitting import FittingTable
from refute.report.tables import CELL
from refute.sandbox.values import Iterated

MOST_LINES = 12
"""Lines that are listed."""


def observed_source(seen: Observation, kind: str = "value") -> str:
    """What a call did, as source where it has one: of the kind that a difference is of."""
    if seen.kind == "raised":
        return f"raises {seen.error}: {seen.message}".rstrip(": ")
    if seen.kind != "returned":
        return seen.error or seen.kind
    if kind == "output":
        return f"prints {seen.printed!r}"
    if kind == "effect":
        if not seen.changed:
            return "changes nothing"
        return "; ".join(f"{name} becomes {_source(value)}" for name, _, value in seen.changed)
    return _source(seen.value)


def _source(value: Any) -> str:
    if isinstance(value, Iterated):
        return value_source(list(value.items)) + (" and more" if value.more else "")
    return value_source(value)


# -- text ------------------------------------------------------------------------------------------


def print_diffed(diffed: Diffed, console: Console) -> None:
    """Every function, then the summary."""
    for one in diffed.functions:
        print_compared(one, console)
    print_end(diffed, console)


def print_end(diffed: Diffed, console: Console) -> None:
    """The summary, and what was not compared."""
    console.print(Text(summary_line(diffed), style="bold"))
    for place in diffed.changes.unreadable:
        where = f"{place.path}:{place.line}" if place.line else place.path
        console.print(Text(f"not compared: {where} ({place.side}): {place.reason}", style="dim"))


def print_changes(changes: Diffed | str, console: Console) -> None:
    """What a fix changes in behaviour, in short: what is the same everywhere is one line."""
    if isinstance(changes, str):
        console.print(Text(f"what else it changes cannot be told: {changes}", style="dim"))
        return
    for one in changes.functions:
        if one.comparison.differences:
            print_compared(one, console)
    console.print(Text(f"behaviour: {summary_line(changes)}"))


def summary_line(diffed: Diffed) -> str:
    """`2 functions differ (1 not mentioned), 3 no difference found, 1 cannot tell`."""
    counts = diffed.counts
    silent = sum(one.unexplained for one in diffed.functions)
    parts = []
    if counts["differs"]:
        many = counts["differs"] != 1
        said = f" ({silent} not mentioned)" if silent else ""
        parts.append(
            f"{counts['differs']} function{'s' * many} behave{'s' * (not many)} otherwise{said}"
        )
    if counts["no difference"]:
        parts.append(f"{counts['no difference']} without a difference found")
    if counts["cannot tell"]:
        parts.append(f"{counts['cannot tell']} cannot tell")
    added, removed = len(diffed.changes.added), len(diffed.changes.removed)
    more = [f"{n} {word}" for n, word in ((added, "added"), (removed, "removed")) if n]
    nothing = "nothing new to show" if diffed.changes.functions else "no function or method changed"
    nothing = "interrupted before there was a result" if diffed.interrupted else nothing
    whole = ", ".join(parts) or nothing
    return f"{diffed.before} -> {diffed.after}: {whole}" + (f"; {', '.join(more)}" if more else "")


def print_compared(one: Compared, console: Console) -> None:
    """One function: what differs, or how far nothing does."""
    comparison, function = one.comparison, one.function
    where = f"{function.after.file}:{function.after.line} {function.qualname}"
    if comparison.differences:
        said = one.intent or ("not mentioned" if one.stated is None else _said(one))
        console.print(Text.assemble((where, "bold"), f": behaves otherwise ({said})"))
        console.print(differences_table(comparison.differences))
        if comparison.others:
            console.print(Text(f"and {comparison.others} more kinds of input", style="dim"))
    elif comparison.broken:
        console.print(
            Text.assemble((where, "bold"), f": loads on one side only: {comparison.broken}")
        )
    elif comparison.ran:
        console.print(Text.assemble((where, "bold"), f": {_unchanged(one)}"))
    elif comparison.within:
        names = ", ".join(comparison.within[:3])
        console.print(Text.assemble((where, "bold"), f": see {names}, which changed too"))
    else:
        reason = comparison.reason or "nothing could be called"
        console.print(Text.assemble((where, "bold"), f": cannot tell: {reason}"))
    if comparison.called:
        console.print(Text(f"seen through {comparison.called}", style="dim"))
    _missed(one, console)


def _said(one: Compared) -> str:
    assert one.stated is not None
    return f"{one.stated.kind}: {one.stated.where}"


def _unchanged(one: Compared) -> str:
    comparison = one.comparison
    old, new = one.function.lines_before, one.function.lines_after
    missed = len(comparison.missed_before) + len(comparison.missed_after)
    total = len(old) + len(new)
    lines = f"all {total}" if not missed else f"{total - missed} of {total}"
    tail = f" that execute {lines} changed lines" if total else ""
    said = f" ({comparison.written} written by the model)" if comparison.written else ""
    return f"no difference on {comparison.ran} inputs{said}{tail}"


def _missed(one: Compared, console: Console) -> None:
    comparison = one.comparison
    if not comparison.ran:
        return
    for side, lines in (("before", comparison.missed_before), ("after", comparison.missed_after)):
        if lines:
            shown = ", ".join(map(str, lines[:MOST_LINES])) + ", ..." * (len(lines) > MOST_LINES)
            console.print(Text(f"changed lines never executed, {side}: {shown}", style="dim"))


def differences_table(
    differences: Sequence[Difference], sides: tuple[str, str] = ("before", "after")
) -> FittingTable:
    """`input | before | after`, a row for each."""
    plain: Any = {"show_edge": False, "pad_edge": False, "box": None, "header_style": "bold"}
    table = FittingTable(("input", *sides), **plain)
    for one in differences:
        observed = (observed_source(side, one.kind) for side in (one.before, one.after))
        table.add(*(text[:CELL] for text in (one.scenario.source, *observed)))
    return table
