"""What `harden` found, for people and as JSON."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from refute.function.source import unified_diff
from refute.hardening.offering import Offer
from refute.hardening.service import Hardened

_WORDS = {
    "killed": "killed",
    "timeout": "never end",
    "survived": "survive",
    "unreached": "that no passing test reaches",
    "not run": "not run",
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
    lines = [f"{of} of {_many(hardened.functions, 'function')}: {parts}{score}"]
    for file, why in hardened.trial.broken.items():
        lines.append(f"{file} cannot be collected: {why}")
    if hardened.trial.left:
        left = _many(hardened.trial.left, "test")
        lines.append(f"{left} of the project's not run for lack of time: see --budget")
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
