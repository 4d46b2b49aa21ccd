"""Inputs that are found by running: scenarios, which make objects and observe one expression.

Which are of use is seen on the code under test; how candidates are told apart by them, in `told`. A
scenario that only calls the function with plain values is that call.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeGuard

from refute.core.problems import (
    Call,
    DoctestSession,
    FunctionProblem,
    Invocation,
    Scenario,
    UnitTest,
    Want,
)
from refute.function.formatting import call_source
from refute.function.scenarios.observation import (
    LIMITS,
    fingerprint,
    observe,
    read_observation,
    same_value,
)
from refute.function.search.inputs import Tier, near_inputs
from refute.function.search.trial import starved
from refute.sandbox import NotRun, Outcome, Program, Raised, Returned, Sandbox, TimedOut
from refute.sandbox.values import crosses, encode
from refute.source.literals import NotLiteral, read_call, source_of
from refute.source.syntax import parse_expression, try_parse_statements

__all__ = ["is_staged", "proposed_inputs", "stated", "told"]

TRIED = 160
"""Scenarios that are run to find some of use."""


def is_staged(call: Invocation) -> TypeGuard[DoctestSession | Scenario]:
    """Return whether this is more than a call and what it returns."""
    return isinstance(call, DoctestSession | Scenario)


def proposed_inputs(
    problem: FunctionProblem,
    known: Sequence[Invocation],
    *,
    box: Sandbox,
    seed: int,
    most: int,
    seconds: float | None = None,
) -> list[tuple[Invocation, Tier]]:
    """Inputs, with how far each is from the known ones: calls near these; where they are few, what
    is found by running, within so many `seconds` (None: whatever the time)."""
    found: list[tuple[Invocation, Tier]] = [*islice(near_inputs(problem, known, seed=seed), most)]
    if len(found) < most:
        found += _explored(problem, known, box, seed, seconds)
    return found[:most]


def _explored(
    problem: FunctionProblem,
    invocations: Sequence[Invocation],
    box: Sandbox,
    seed: int,
    seconds: float | None,
) -> list[tuple[Invocation, Tier]]:
    """Scenarios that the code under test answers, twice alike, with how far each is from what is
    known to be meant: one that raises is at the edge. Raises `SandboxUnavailable`.

    `seconds`: for all of it; None: `TRIED` scenarios, whatever the time.
    """
    # which reads inputs with what is in this package
    from refute.function.scenarios.described import ANY, describe_names
    from refute.function.scenarios.proposing import Proposer, Target, explore, runner

    start = time.monotonic()
    program = Program(problem.code, problem.entry_point)
    owner, _, last = problem.entry_point.rpartition(".")
    name = owner if owner and last in ("__init__", "__new__") else problem.entry_point
    described = describe_names(box, program, [name])
    if isinstance(described, str) or name not in described[1].names:
        return []
    signature = described[1].names[name]
    target = Target(described[0], name, signature, problem.code)
    scenarios = (_as_scenario(one, problem.entry_point) for one in invocations)
    known = [one for one in scenarios if one is not None]
    proposer = Proposer(
        target,
        described[1],
        lambda file: problem.code if file == signature.file else None,
        known,
        seed,
    )
    # arguments of any type are no sign of what is meant, even where the code as given takes them
    guessed = any(one.type == ANY for one in proposer.target.signature.parameters or ())
    left = None if seconds is None else 0.5 * (start + seconds - time.monotonic())
    shown = [
        one
        for one in explore(proposer, runner(box, program), most=TRIED, seconds=left)
        if one.seen.answered and not one.seen.misused
    ]
    made = [one.proposal.scenario for one in shown]
    again = observe(box, program, made, replace(LIMITS, seed=1)) if made else []
    found: list[tuple[Invocation, Tier]] = []
    for one, other in zip(shown, again, strict=True):
        if fingerprint(one.seen) == fingerprint(other) and one.proposal.scenario not in known:
            drawn = guessed and one.proposal.choices
            tier = Tier.EDGE if drawn or one.seen.kind == "raised" else Tier.IN_DOMAIN
            found.append((_plain(one.proposal.scenario, problem.entry_point), tier))
    return found


def _plain(scenario: Scenario, entry_point: str) -> Call | Scenario:
    """The call that a scenario is, where it only calls the function with plain values."""
    if scenario.setup or scenario.imports:
        return scenario
    try:
        return read_call(parse_expression(scenario.expression), entry_point)
    except (NotLiteral, SyntaxError):
        return scenario


def _as_scenario(call: Invocation, entry_point: str) -> Scenario | None:
    """A call, or a session whose last step is an expression, as a scenario."""
    if isinstance(call, Scenario):
        return call
    source = "".join(call.steps) if isinstance(call, DoctestSession) else None
    statements = try_parse_statements(source or call_source(call, entry_point))
    match statements:
        case [*setup, ast.Expr(value=value)]:
            return Scenario(ast.unparse(value), tuple(map(ast.unparse, setup)))
    return None


# -- what a scenario showed, as an outcome ---------------------------------------------------------


def told(outcome: Outcome) -> Outcome:
    """The outcome of a scenario as one compares: all that was seen of it, as a text."""
    seen = read_observation(outcome)
    if seen.kind == "not run":
        return NotRun()
    if seen.kind == "returned":
        return Returned(encode(fingerprint(seen)))
    if seen.kind in ("raised", "setup"):
        raised = Raised(seen.error, seen.message)
        return TimedOut() if starved(raised) else raised
    return TimedOut()


def stated(scenario: Scenario, wanted: Outcome, got: Outcome) -> UnitTest | None:
    """The test that the scenario's expression shows the value that one program gives, which another
    does not give; None where that value has no literal, or is not what tells them apart."""
    one, other = read_observation(wanted), read_observation(got)
    if one.kind != "returned" or one.value is None or not crosses(one.value):
        return None
    if other.kind == "returned" and same_value(one.value, other.value):
        return None
    try:
        source_of(one.value)
    except NotLiteral:
        return None
    imports = (_import(*pair) for pair in scenario.imports)
    steps = (*imports, *scenario.setup, scenario.expression)
    session = DoctestSession(tuple(f"{step}\n" for step in steps))
    return UnitTest(session, Want(f"{one.value!r}\n"))


def _import(name: str, place: str) -> str:
    module, _, qualname = place.partition(":")
    first, _, rest = qualname.partition(".")
    if not qualname:
        return f"import {module}" if name == module else f"import {module} as {name}"
    if rest:
        return f"{name} = __import__({module!r}, fromlist=['*']).{qualname}"
    return f"from {module} import {first}" + ("" if first == name else f" as {name}")
