"""Results of `diff`, `gate` and `harden` as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from refute.diffing.comparison import Difference, observed_source
from refute.function.source import unified_diff
from refute.results.formats import short
from refute.results.text.consoles import FittingTable

if TYPE_CHECKING:
    from refute.diffing.pinning import Pin, Side
    from refute.diffing.service import Compared, Diffed
    from refute.gating.judging import Judged
    from refute.hardening.service import Hardened, Offer
    from refute.workspace.contract import Failure

MOST_LINES = 12
"""Lines that are listed."""


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
    """Print what a fix changes in behaviour; one line for all that is the same."""
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
    console.print(Text.assemble((where, "bold"), f": {_claim(one)}"))
    if comparison.differences:
        console.print(differences_table(comparison.differences))
        if comparison.others:
            console.print(Text(f"and {comparison.others} more kinds of input", style="dim"))
    for call in () if comparison.differences else comparison.in_tests:
        console.print(Text(short(f"{call.test}: {call.source}"), style="dim"))
        console.print(Text(f"  before: {short(call.before)}\n  after:  {short(call.after)}"))
    if comparison.called:
        console.print(Text(f"seen through {comparison.called}", style="dim"))
    _missed(one, console)


def _claim(one: Compared) -> str:
    comparison = one.comparison
    if comparison.differences:
        return f"behaves otherwise ({_said(one)})"
    if comparison.in_tests:
        return f"behaves otherwise in tests ({_said(one)})"
    if comparison.broken:
        return f"loads on one side only: {comparison.broken}"
    if comparison.within:
        return f"reached only through {', '.join(comparison.within[:3])}, which changed too"
    if comparison.ran:
        return f"cannot tell: {_unchanged(one)}" if comparison.unseen else _unchanged(one)
    return f"cannot tell: {comparison.reason or 'nothing could be called'}"


def _said(one: Compared) -> str:
    said = "not mentioned" if one.stated is None else f"{one.stated.kind}: {one.stated.where}"
    return one.intent or said


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
        table.add(*map(short, (one.scenario.source, *observed)))
    return table


def which_side(console: Console) -> Pin:
    """Asks on stderr which side of a difference is right, and reads from stdin."""
    sides: dict[str, Side] = {"b": "before", "before": "before", "a": "after", "after": "after"}

    def ask(one: Compared, difference: Difference) -> Side | None:
        console.print(Text(f"{one.function.qualname}: {difference.scenario.source}"))
        console.print(Text(f"  b) before: {observed_source(difference.before, difference.kind)}"))
        console.print(Text(f"  a) after:  {observed_source(difference.after, difference.kind)}"))
        console.print(Text("which is right? b, a, or nothing for no test: "), end="")
        try:
            return sides.get(input().strip().lower())
        except EOFError:
            return None

    return ask


MOST_LISTED = 10


def said(failure: Failure) -> str:
    """A failure in one line."""
    first = failure.message.strip().partition("\n")[0]
    return f"{failure.type}: {first[:200]}".rstrip(": ")


def print_gate(judged: Judged, console: Console) -> None:
    """Print the verdict, tests that turned green, findings, and other changes of behaviour."""
    colour = "red" if judged.verdict == "not proven" else "green"
    console.print(Text.assemble((f"{judged.verdict}: ", f"bold {colour}"), judged.reason))
    console.print(Text(f"{judged.base} -> {judged.head}", style="dim"))
    for one in judged.turned[:MOST_LISTED]:
        console.print(Text.assemble(("red before, green now: ", "green"), (one.id, "bold")))
        if one.failure_before is not None:
            console.print(Text(f"  before: {said(one.failure_before)}", style="dim"))
    _print_more(len(judged.turned), console)
    if judged.kept:
        beside = f" (near: {', '.join(judged.near)})" if judged.near else ""
        many = "1 test" if judged.kept == 1 else f"{judged.kept} tests"
        console.print(Text(f"as before: {many}{beside}", style="dim"))
    if judged.issue is not None:
        console.print(Text(f"the issue: {judged.issue.verdict}: {judged.issue.reason}"))
    if judged.behaviour is not None:
        print_changes(judged.behaviour, console)
    for note in judged.notes:
        console.print(Text(f"note: {note}", style="dim"))
    for finding in judged.findings[:MOST_LISTED]:
        head = (f"{finding.rule}: ", "red")
        console.print(Text.assemble(head, (finding.where, "bold"), f": {finding.what}"))
    _print_more(len(judged.findings), console)


def _print_more(count: int, console: Console) -> None:
    if count > MOST_LISTED:
        console.print(Text(f"and {count - MOST_LISTED} more", style="dim"))


_WORDS = {
    "not run": "not run",
    "killed": "killed",
    "timeout": "never end",
    "survived": "survive",
    "unreached": "that no passing test reaches",
}


def patch_of(hardened: Hardened) -> str:
    """The offered tests as a unified diff from the root of the checkout."""
    return "".join(
        unified_diff(
            path.read_text("utf-8") if path.is_file() else "",
            text,
            path.relative_to(hardened.root).as_posix(),
        )
        for path, text in hardened.files().items()
    )


def print_hardened(hardened: Hardened, console: Console) -> None:
    """For each test what it would notice; then the tests as a patch, and how it came out."""
    for one in hardened.offers:
        _print_offer(one, console)
    if hardened.offers:
        console.print(Text(patch_of(hardened)), soft_wrap=True)
        said = "The tests pin what the code does today; nobody has said that it is right."
        console.print(Text(said, style="dim"))
    for line in _summary(hardened):
        console.print(Text(line, style="bold"), soft_wrap=True)


def _print_offer(one: Offer, console: Console) -> None:
    mutant = one.input.mutant
    why = "no passing test reaches this" if one.covers else "tests run this, and none notices"
    where = f"{mutant.file}:{mutant.line} {mutant.qualname}"
    more = len(one.kills) - 1
    others = f", nor {more} other mutant{'s' * (more != 1)} that the test kills" if more else ""
    console.print(Text.assemble((where, "bold"), f": {why}{others}"), soft_wrap=True)
    before, after = mutant.shown
    console.print(Text(f"  - {before}\n  + {after}"), soft_wrap=True)


def _summary(hardened: Hardened) -> list[str]:
    if not hardened.functions:
        return ["no function changed"]
    if not hardened.mutants:
        return [f"no mutant of {_many(hardened.functions, 'function')}"]
    counts = hardened.counts
    parts = ", ".join(f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state])
    drawn, possible = len(hardened.mutants), hardened.possible
    of = f"{drawn} of {possible} mutants" if drawn < possible else _many(drawn, "mutant")
    score = "" if hardened.score is None else f"; score {100 * hardened.score:.0f} %"
    broken = hardened.trial.broken.items()
    lines = [f"{file} cannot be collected: {why}" for file, why in broken]
    if hardened.trial.left:
        left = _many(hardened.trial.left, "test")
        lines.append(f"{left} of the project's not run for lack of time: see --budget")
    lines.append(f"{of} of {_many(hardened.functions, 'function')}: {parts}{score}")
    living = len(hardened.living)
    if living:
        looked = f"an input was looked for on {hardened.tried} of {living} that live"
        told = [f"none was found for {hardened.alike}"]
        told += [f"{count} not offered: {why}" for why, count in hardened.dropped.items()]
        offered = _many(len(hardened.offers), "test")
        lines.append(f"{looked}: {', '.join(told)}; {offered} offered")
    return lines


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
