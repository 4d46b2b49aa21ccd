"""Stage I: faulty versions of a reference, by a model or by the search's mutation operators.

UTGen (§3.2) asks a model for faults. The operators are ours: they need no model, and each fault is
one small slip. Both kinds are versions that load and differ from the reference in their source;
those by operators were seen to differ in what they return as well. Stage II shows whether an input
tells a fault from the reference.
"""

from __future__ import annotations

import ast
import asyncio
import io
import math
import tokenize
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from refute.function.llm.answers import final_text
from refute.function.llm.code_extraction import merge_into_module, read_program
from refute.function.llm.generation import samples, user
from refute.function.llm.search_partner import multiplied
from refute.function.search.edit import Edit, applied, copy_of, same
from refute.function.search.engine import trusted_tests
from refute.function.search.facts import gather
from refute.function.search.mutants import singles
from refute.function.search.rewrite import rewrite
from refute.function.search.variants import compiled
from refute.models.contract import Asker, Sampling
from refute.prompts import render
from refute.sandbox import Limits, Outcome, Program, Raised, Returned
from refute.sandbox.equality import Expected, matches
from refute.sandbox.pool import AsyncSandbox
from refute.source.syntax import find_function, parse_module
from refute_lab.train.filters import Solution, loads

MUTANTS = 40
"""Mutants of a reference that are run, drawn by the weights of the operators."""
INPUTS = 40
"""Inputs that they are run on."""
_RUN = Limits(cpu=0.2, wall=1.0, memory=512 << 20, output=64 << 10, stop_after=1)


@dataclass(frozen=True, slots=True)
class Fault:
    """A faulty version of a reference."""

    code: str
    """The whole module."""
    by: Literal["model", "mutation"]
    kind: str = ""
    """Name of the operator."""


@dataclass(slots=True)
class Corrupted:
    """Faults, and why others fell out: reason -> number."""

    faults: list[Fault] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)


# -- by a model ------------------------------------------------------------------------------------


async def by_model(
    solution: Solution, count: int, *, ask: Asker, box: AsyncSandbox, sampling: Sampling
) -> Corrupted:
    """Up to `count` faults that a model writes, in two rounds of samples.

    Raises what `Asker.ask` raises besides `ContextTooLong`, and `SandboxUnavailable`.
    """
    text = render(
        "train_corrupt",
        signature=solution.signature,
        description=solution.description,
        code=solution.code.strip("\n"),
    )
    made = Corrupted()
    first = 0
    for _ in range(2):
        missing = count - len(made.faults)
        if missing <= 0:
            break
        answers = await samples(ask, [user(text)], first=first, n=missing, sampling=sampling)
        first += missing
        for answer in answers:
            found = "too long for the model" if answer is None else _version(answer.text, solution)
            if isinstance(found, str):
                made.dropped[found] += 1
            elif not await loads(found.code, solution.entry_point, box):
                made.dropped["does not load"] += 1
            elif not all(_differ(found.code, fault.code) for fault in made.faults):
                made.dropped["the same fault again"] += 1
            else:
                made.faults.append(found)
    return made


def _version(answer: str, solution: Solution) -> Fault | str:
    """The module with the answer's function in it, or why there is none."""
    program = read_program(final_text(answer), solution.entry_point)
    code = (
        None if program is None else merge_into_module(solution.code, program, solution.entry_point)
    )
    if code is None:
        return "no program"
    code = _without_new_comments(code, solution.code)
    if not _differ(code, solution.code):
        return "same as the reference"
    old, new = (find_function(parse_module(c), solution.entry_point) for c in (solution.code, code))
    if old is None or new is None or not same(_names(old), _names(new)):
        return "other parameters"
    return Fault(code, "model")


def _names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [n.arg for n in ast.walk(function.args) if isinstance(n, ast.arg)]


def _differ(one: str, other: str) -> bool:
    """Return whether two modules are different programs, comments aside."""
    return not same(parse_module(one), parse_module(other))


def _without_new_comments(code: str, reference: str) -> str:
    """The code without comments that the reference has not: they speak of the mistake."""
    known = {text for _, text in _comments(reference)}
    lines = code.split("\n")
    for (row, column), text in reversed(_comments(code)):
        if text not in known:
            rest = lines[row - 1][:column].rstrip()
            lines[row - 1 : row] = [rest] if rest else []
    return "\n".join(lines)


def _comments(code: str) -> list[tuple[tuple[int, int], str]]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [(t.start, t.string) for t in tokens if t.type == tokenize.COMMENT]


# -- by mutation operators -------------------------------------------------------------------------


async def by_mutation(solution: Solution, count: int, *, box: AsyncSandbox, seed: int) -> Corrupted:
    """Up to `count` faults by one edit each, those that are wrong for a part of the inputs first.

    Deterministic for (solution, seed). Raises `SandboxUnavailable`.
    """
    made = Corrupted()
    # In a thread: where a model writes the other faults, the event loop has to keep running.
    drafts = await asyncio.to_thread(_drafts, solution, seed)
    problem = solution.problem()
    known = [test.call for test in trusted_tests(problem)[0]]
    calls = await multiplied(problem, known, box, seed=seed, most=INPUTS)
    entry = solution.entry_point
    right = await box.run(Program(solution.code, entry), calls, _RUN) if calls else []
    usable = [
        (call, Expected(outcome.data))
        for call, outcome in zip(calls, right, strict=True)
        if isinstance(outcome, Returned)
    ]
    if not usable:
        made.dropped["no input that the reference takes"] += 1
        return made
    programs = [Program(fault.code, entry) for fault in drafts]
    rows = await box.run_variants(programs, [call for call, _ in usable], _RUN) if programs else []
    ranked: list[tuple[int, int]] = []
    for number, row in enumerate(rows):
        rank = _rank(row, [expected for _, expected in usable])
        if rank is None:
            made.dropped["mutant not seen to be wrong"] += 1
        else:
            ranked.append((rank, number))
    seen: set[tuple[object, ...]] = set()
    for _, number in sorted(ranked):
        if len(made.faults) >= count:
            break
        behaviour = tuple(repr(outcome) for outcome in rows[number])
        if behaviour not in seen:
            seen.add(behaviour)
            made.faults.append(drafts[number])
    return made


def _drafts(solution: Solution, seed: int) -> list[Fault]:
    """Mutants, each by one edit in a function, drawn without replacement by the edits' weights."""
    tree = parse_module(solution.code)
    facts = gather(tree, solution.description)
    edits = singles(tree, facts, lambda stmts: 0.0 if stmts else None)
    rng = Random(f"{seed}:{solution.id}")
    # The largest of weights with Gumbel noise are a weighted draw without replacement.
    keyed = [(edit.weight - math.log(rng.expovariate(1.0)), edit) for edit in edits]
    keyed.sort(key=lambda pair: -pair[0])
    drafts: dict[str, Fault] = {}
    for _, edit in keyed:
        if len(drafts) >= MUTANTS:
            break
        code = _written(solution.code, tree, edit)
        if code is not None:
            drafts.setdefault(code, Fault(code, "mutation", edit.kind))
    return list(drafts.values())


def _written(code: str, tree: ast.Module, edit: Edit) -> str | None:
    """The source with an edit; None where the edit makes no other program that compiles."""
    with applied([edit]):
        new = copy_of(tree)
    text = rewrite(code, new)
    try:
        changed = _differ(text, code)
    except SyntaxError:
        return None
    return text if changed and compiled(new) is not None else None


def _rank(row: Sequence[Outcome], wanted: Sequence[Expected]) -> int | None:
    """Rank a fault, 0 the best; None if it was not seen to be wrong, or is broken."""
    right = sum(map(matches, row, wanted))
    wrong = [o for o, e in zip(row, wanted, strict=True) if not matches(o, e)]
    if not wrong or not all(isinstance(outcome, Returned | Raised) for outcome in wrong):
        return None
    returned = any(isinstance(outcome, Returned) for outcome in wrong)
    if right:
        return 0 if returned else 1
    return 2 if returned else None
