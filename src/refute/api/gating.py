"""`gate`: is a change that claims to be done shown to be?

>>> result = refute.gate(repo=".", base="main")
>>> result.verdict, [finding.what for finding in result.judged.findings]
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.api.calling import Shown, apart, path_of
from refute.errors import InputError
from refute.gating.change import Change, Place, open_change
from refute.gating.findings import chosen_rules
from refute.gating.hook import BLOCK, Memory, read_message, reason_of
from refute.gating.judging import Judged, Settings, judge
from refute.methods import Bounds
from refute.models.asking import Asked
from refute.workspace.snapshot import checkout_root

if TYPE_CHECKING:
    from refute.results.gate import Gate

_BOUNDS = Bounds()
BEHAVIOUR_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class GateResult(Shown):
    """What `gate` found out."""

    judged: Judged

    @property
    def verdict(self) -> str:
        """`proven`, `not proven`, `nothing against it` or `nothing to prove`."""
        return self.judged.verdict

    @property
    def passed(self) -> bool:
        """Whether nothing is against the change."""
        return self.verdict != "not proven"

    def document(self) -> Gate:
        """The result as `gate/1`."""
        from refute.results.gate import gate_document

        return gate_document(self.judged)

    def print(self, console: Any) -> None:
        """What the command prints on stdout."""
        from refute.report.gate import print_gate

        print_gate(self.judged, console)


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What the hook answers."""

    status: int
    """Exit status: 2 keeps the agent at work, 0 lets it stop."""
    reason: str = ""
    """What the agent is told, on stderr."""
    result: GateResult | None = None
    """None: nothing was run."""


def gate(
    *,
    repo: Path | str = ".",
    base: str | None = None,
    head: str | None = None,
    issue: Path | str | None = None,
    about: str = "",
    tests: Sequence[str] = (),
    rules: Sequence[str] = (),
    without: Sequence[str] = (),
    neighbours: int = 5,
    behaviour: bool = True,
    behaviour_seconds: float = BEHAVIOUR_SECONDS,
    python: Path | str | None = None,
    runner: str | None = None,
    asked: Asked | None = None,
    bounds: Bounds = _BOUNDS,
) -> GateResult:
    """Judge what a checkout has beside a base: was something red that is green now, does what is
    near still pass, do the tests demand what they did, and what else is different?

    `base`, `head`, `python`, `runner` as in `refute.red_green`. `issue`: the issue that the change
    is for; a test of its own is made of it as `refute.reproduce` does (`asked`: by which method and
    model), and must go from red to green. `about`: what the change is for, in a few words. `tests`:
    test files or ids to run besides. `rules`: only these (names of `refute.gating.findings.RULES`);
    `without`: not these. `neighbours`: existing test files near the change to run. `behaviour`:
    whether to look for what else the change does (`refute.diff`), for `behaviour_seconds` in all.
    `bounds`: what the issue's test, and one run of tests, may cost.

    Everything runs in a workspace; nothing in the checkout is changed. Raises `InputError`,
    `Unavailable`.
    """
    settings = _settings(rules, without, tests, neighbours, behaviour, behaviour_seconds, bounds)

    def work() -> GateResult:
        change = open_change(Place(Path(repo), path_of(python), runner), base, head)
        return GateResult(_judged(change, settings, issue, about, asked, bounds))

    return apart(work)


def gate_hook(message: str, *, repo: Path | str | None = None, **how: Any) -> HookAnswer:
    """Answer the hook that a coding agent runs when it stops.

    `message`: what the hook was given on stdin. `repo`: the checkout; None: where the agent works.
    The others as in `gate`. The agent may stop where it is kept at work already, where it works in
    no repository, and where this state of the checkout was judged in its session before. Raises as
    `gate`.
    """
    told = read_message(message)
    if told.active:
        return HookAnswer(0)
    where = Path(repo) if repo is not None else told.cwd or Path()
    try:
        checkout_root(where)
    except InputError:
        return HookAnswer(0)
    place = Place(where, path_of(how.get("python")), how.get("runner"))
    change = open_change(place, how.get("base"), how.get("head"))
    asks = (str(how.get("rules", ())), str(how.get("without", ())), str(how.get("issue")))
    memory = Memory(told.session, change.base, change.head, *asks)
    if memory.knows():
        return HookAnswer(0)
    result = gate(repo=where, **how)
    memory.keep(result.judged)
    if result.passed:
        return HookAnswer(0, result=result)
    return HookAnswer(BLOCK, reason_of(result.judged), result)


def _settings(
    rules: Sequence[str], without: Sequence[str], tests: Sequence[str], neighbours: int,
    behaviour: bool, seconds: float, bounds: Bounds,
) -> Settings:  # fmt: skip
    if seconds <= 0:
        raise InputError(f"behaviour_seconds = {seconds}: must be above 0")
    return Settings(
        rules=chosen_rules(without, rules),
        tests=tuple(tests),
        neighbours=neighbours,
        timeout=bounds.test_seconds,
        behaviour=behaviour,
        behaviour_seconds=seconds,
    )


def _judged(
    change: Change, settings: Settings, issue: Path | str | None, about: str,
    asked: Asked | None, bounds: Bounds,
) -> Judged:  # fmt: skip
    if issue is None:
        return judge(change, settings, about=about)
    from refute.issue.issue_text import read_issue

    text = read_issue(str(issue))
    written = _issue_tests(change, text, asked or Asked(), bounds)
    return judge(change, settings, about=f"{text}\n\n{about}".strip(), issue_tests=written)


def _issue_tests(change: Change, text: str, asked: Asked, bounds: Bounds) -> str:
    """A test patch that reproduces the issue on the base; "" where none was found."""
    from refute.api.issues import reproduced
    from refute.issue.choosing import chosen_reproducer
    from refute.problems import IssueProblem
    from refute.workspace.factory import open_local, prepare

    _, spec, options = chosen_reproducer(asked)
    base = prepare(str(change.store), change.base, change.recipe, checkout=change.root)
    problem = IssueProblem(change.root.name, str(change.store), change.base, text, change.recipe)
    found = asyncio.run(reproduced(spec, options, problem, lambda: open_local(base), asked, bounds))
    return found.prediction.patch
