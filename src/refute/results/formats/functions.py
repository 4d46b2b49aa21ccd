"""Results of `hunt` and `debug` as cases of a report."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from refute.core.problems import Trust
from refute.function.contract import FailingTest, Finding, State
from refute.function.formatting import call_source, describe, expected_source, status_of
from refute.function.verbs import Fix
from refute.results.formats import Case, Problem, Proposal, merged, short
from refute.sandbox import Raised
from refute.source.syntax import functions_in, parse_module

if TYPE_CHECKING:
    from refute.function.parallel import Found
    from refute.function.target import Module


def case_of(module: Module, one: Found) -> Case:
    """Return the case of one function."""
    hunt = one.hunt if isinstance(one, Fix) else one
    file, line = file_name(module.source.path), line_of(module.source.text, hunt.function)
    items: tuple[FailingTest | Finding, ...] = (*hunt.failing, *hunt.findings)
    problems = merged(problem_of(module, hunt.function, item) for item in items)
    if hunt.state is State.OUT_OF_DATE:
        problems = tuple(replace(one, rule="out-of-date") for one in problems)
    reason = "" if hunt.found else "; ".join(hunt.notes)
    proposal = _proposal(one) if isinstance(one, Fix) else None
    return Case(file, line, hunt.function, str(one.state), problems, reason, proposal)


def problem_of(module: Module, function: str, item: FailingTest | Finding) -> Problem:
    """Return the problem that a failing test or a finding shows."""
    where = file_name(module.source.path), line_of(module.source.text, function), function
    if isinstance(item, Finding):
        call, actual = short(call_source(item.call, function)), short(describe(item.actual))
        message = f"{call}: {actual} ({item.reason})"
        return Problem(item.kind, *where, message, _outcome(item))
    test = item.test
    call = call_source(test.call, function)
    actual, expected = describe(item.actual, test.call), expected_source(test)
    stated = test.trust < Trust.PREDICTED
    sure = "" if stated else f", {test.confidence:.0%} sure"
    message = f"{short(call)}: {short(actual)}, expected: {short(expected)} ({test.source}{sure})"
    if stated:
        return Problem("wrong-output", *where, message, f"{call} -> {expected}")
    return Problem("predicted-output", *where, message, _outcome(item))


def _outcome(item: FailingTest | Finding) -> str:
    """Name the failure in a word that does not depend on the input."""
    actual = item.actual
    return actual.type if isinstance(actual, Raised) else status_of(actual)


def _proposal(fix: Fix) -> Proposal | None:
    if not fix.result.candidates or fix.code == fix.before:
        return None
    best = fix.result.candidates[0]
    sure = "" if best.confidence is None else f" ({best.confidence:.0%})"
    return Proposal(fix.before, fix.code, f"{fix.state}{sure}: {'; '.join(best.edits)}")


# -- how a report names files, and on which line a function begins ---------------------------------


def file_name(path: Path) -> str:
    """A file as reports name it: from the root of its repository, else from the working directory,
    else in full. Always with `/`."""
    path = path.resolve()
    for root in (_root(path.parent), Path.cwd()):
        if root is not None and path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return path.as_posix()


@lru_cache(maxsize=1024)
def _root(folder: Path) -> Path | None:
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


@lru_cache(maxsize=16)
def _lines(source: str) -> dict[str, int]:
    return {name: node.lineno for name, node in functions_in(parse_module(source)).items()}


def line_of(source: str, function: str) -> int:
    """The line (1-based) of a function's `def` in its module's source; 1 where it has none."""
    return _lines(source).get(function, 1)
