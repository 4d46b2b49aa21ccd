"""The verbs that agents call: each is a verb of the command line, with its name and its options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from refute.doors.arguments import arguments_of, inside
from refute.verbs.debug import DebugOptions, debug
from refute.verbs.diff import DiffOptions, diff
from refute.verbs.gate import GateOptions, gate
from refute.verbs.hunt import HuntOptions, hunt
from refute.verbs.issues import IssueOptions
from refute.verbs.reproduce import ReproduceOptions, reproduce
from refute.verbs.vet import VetOptions, judge_fixes

if TYPE_CHECKING:
    from refute.function.service import Opened
    from refute.verbs.output import Shown

WITHIN = 0.9
"""Part of a call's time that a verb over issues takes for itself: it ends before it is ended."""
Tell = Callable[[str], None]
"""Is told in a line how far the work is."""


@dataclass(frozen=True)
class Verb:
    """A verb, what a model reads of it, and how it tells how far it is."""

    run: Callable[..., Shown]
    options: type[Any]
    text: str
    progress: Callable[[Tell, bool], dict[str, Any]]
    """Arguments for `run`, of whom to tell and whether files outside of the folder are allowed."""

    @cached_property
    def arguments(self) -> type[Any]:
        """The type of its arguments."""
        seconds = 900.0 if issubclass(self.options, IssueOptions) else 300.0
        return arguments_of(self.options, self.run.__name__, seconds)

    def limits(self, seconds: float) -> dict[str, Any]:
        """What bounds its work where it may take so many seconds: fields of `set`."""
        return {"seconds": WITHIN * seconds} if issubclass(self.options, IssueOptions) else {}


def _functions(tell: Tell, outside: bool) -> dict[str, Any]:
    def opened(found: Opened) -> None:
        for module in () if outside else found.targets.modules:
            inside(module.source.path)
        tell(f"functions to look at: {found.functions}")

    return {"opened": opened, "show": lambda module, one, how_far: tell(how_far)}


def _changes(tell: Tell, outside: bool) -> dict[str, Any]:
    return {
        "show": lambda one, done, total: tell(
            f"{done} of {total} functions, last {one.function.qualname}"
        )
    }


def _issue(tell: Tell, outside: bool) -> dict[str, Any]:
    return {"chosen": lambda method: tell(f"reproducing the issue ({method})")}


def _silent(tell: Tell, outside: bool) -> dict[str, Any]:
    tell("running tests on the old code and on the new")
    return {}


VERBS = {
    "hunt": Verb(
        hunt,
        HuntOptions,
        "Is this function wrong? Finds inputs on which it fails its docstring, doctests or tests. "
        "Next: debug.",
        _functions,
    ),
    "debug": Verb(
        debug,
        DebugOptions,
        "Finds a small fix of a wrong function, as a diff. `fixed` means that given examples show "
        "it, `proposed` that you must check it. Next: apply the diff, then gate.",
        _functions,
    ),
    "reproduce": Verb(
        reproduce,
        ReproduceOptions,
        "Writes a test that fails now for the reason that an issue describes. Next: fix the code, "
        "then vet or gate.",
        _issue,
    ),
    "vet": Verb(
        judge_fixes,
        VetOptions,
        "Does this patch resolve the issue, and does it break anything near? Several patches are "
        "ranked. Next: apply it, or change it.",
        _silent,
    ),
    "diff": Verb(
        diff,
        DiffOptions,
        "On which inputs does my change behave otherwise than before? For refactorings and "
        "reviews. Next: gate.",
        _changes,
    ),
    "gate": Verb(
        gate,
        GateOptions,
        "Is my change shown to be done? Its tests must fail on the old code and pass on the new, "
        "and nothing near may break. Call it before you say that you are done.",
        _silent,
    ),
}
"""By the name of the command."""
