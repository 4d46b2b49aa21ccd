"""Stage I: faulty versions of a reference, by a model or by the search's mutation operators.

UTGen (§3.2) asks a model for faults. The operators are ours: they need no model, and each fault is
one small slip. Both kinds are versions that load and differ from the reference in their source;
those by operators were seen to differ in what they return as well. Stage II shows whether an input
tells a fault from the reference.
"""

from __future__ import annotations

import ast
import asyncio
import difflib
import io
import math
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from random import Random
from typing import Any, Literal

from refute.core.problems import Call, Invocation
from refute.function.formatting import call_source
from refute.function.llm.answers import final_text, read_output, read_test
from refute.function.llm.code_extraction import merge_into_module, read_program
from refute.function.llm.generation import (
    read_proposal,
    resolve_call,
    resolve_output,
    samples,
    shape_of,
    test_request,
    user,
)
from refute.function.llm.results import Output, Unreadable
from refute.function.llm.search_partner import multiplied
from refute.function.search.edit import Edit, applied, copy_of, same
from refute.function.search.engine import trusted_tests
from refute.function.search.facts import gather
from refute.function.search.mutants import singles
from refute.function.search.rewrite import rewrite
from refute.function.search.variants import compiled
from refute.models.contract import Asker, Completion, Sampling
from refute.prompts import render
from refute.sandbox import Limits, NotRun, Outcome, Program, Raised, Returned, values
from refute.sandbox.equality import Expected, matches
from refute.sandbox.pool import AsyncSandbox
from refute.sandbox.values import MalformedValue
from refute.source.literals import NotLiteral, source_of
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


async def corrupted_by_model(
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


async def corrupted_by_mutation(
    solution: Solution, count: int, *, box: AsyncSandbox, seed: int
) -> Corrupted:
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


# -- attempts --------------------------------------------------------------------------------------
# Stage II: inputs on which a fault and its reference differ, with the reference's output.


# -- preferences -----------------------------------------------------------------------------------


PAIRS = 2
"""Pairs that are kept of one fault; five answers make up to six."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer of a model that could be read, and what its test is worth."""

    text: str
    attacks: bool
    """Reference and fault differ on its input."""
    right: bool
    """The reference returns the output that it states."""

    @property
    def both(self) -> bool:
        """Return whether the test fails on the fault and would pass on the reference."""
        return self.attacks and self.right

    @property
    def lacks(self) -> str:
        """Reason for rejecting it; "" if kept."""
        missing = {"no attack": not self.attacks, "wrong output": not self.right}
        return ", ".join(name for name, lacking in missing.items() if lacking)


def pairs(
    answers: Sequence[JudgedAnswer], most: int | None = PAIRS
) -> list[tuple[JudgedAnswer, JudgedAnswer]]:
    """Up to `most` pairs (chosen, rejected), None: all; in the order of the answers.

    Answers take turns, so that a small number of pairs holds as many different ones as it can.
    """
    chosen = [one for one in answers if one.both]
    rejected = [one for one in answers if not one.both]
    found = [
        (one, rejected[(at + shift) % len(rejected)])
        for shift in range(len(rejected))
        for at, one in enumerate(chosen)
    ]
    return found[:most]


def preference_row(
    name: str, solution: str, prompt: str, chosen: JudgedAnswer, rejected: JudgedAnswer
) -> dict[str, Any]:
    """A pair in TRL's conversational form of preferences."""
    return {
        "id": name,
        "solution": solution,
        "lacks": rejected.lacks,
        "prompt": [{"role": "user", "content": prompt}],
        "chosen": [{"role": "assistant", "content": chosen.text}],
        "rejected": [{"role": "assistant", "content": rejected.text}],
    }


def answer_counts(
    answers: Iterable[Sequence[JudgedAnswer]], rows: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """For the data card. `answers`: of each fault, held-out solutions included."""
    faults = list(answers)
    every = [one for group in faults for one in group]
    return {
        "answers_read": len(every),
        "attack": sum(one.attacks for one in every),
        "right": sum(one.right for one in every),
        "attack_and_right": sum(one.both for one in every),
        "faults_with_a_pair": sum(bool(pairs(group, 1)) for group in faults),
        "pairs": len(kept := list(rows)),
        "rejected_for": dict(Counter(one["lacks"] for one in kept).most_common()),
    }


SEARCHED = 100
"""Inputs of the search that are run for one fault: it need not ask for each."""
MAX_CALL = 1000
"""Characters of a call's source."""
MAX_OUTPUT = 1000
"""Characters of an output's source."""
_TELLING = Limits(cpu=1.0, memory=512 << 20, output=64 << 10, stop_after=1)


@dataclass(frozen=True, slots=True)
class AttackingInput:
    """An input on which the two differ."""

    call: str
    """Source of the call."""
    output: str
    """Source of what the reference returns."""
    by: Literal["model", "search"]
    answer: str = ""
    """Text of the model up to and with its call."""


@dataclass(slots=True)
class Attempted:
    """Kept attempts at one fault, and the reasons for dropping the others."""

    kept: list[AttackingInput] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    answers: list[JudgedAnswer] = field(default_factory=list)
    """Of a model, the different ones with a whole test on which there is a verdict."""


async def inputs_by_model(
    solution: Solution,
    fault: Fault,
    count: int,
    *,
    ask: Asker,
    box: AsyncSandbox,
    sampling: Sampling,
) -> Attempted:
    """`count` answers to the prompt that is used at inference.

    The outputs that they state count for nothing in what is kept, only in how an answer is judged.
    Raises what `Asker.ask` raises besides `ContextTooLong`, and `SandboxUnavailable`.
    """
    problem = solution.problem(fault.code)
    request = test_request(problem, fault.code, "prompted")
    answers = await samples(ask, request, first=0, n=count, sampling=sampling)
    shape = shape_of(problem)
    drafts: list[tuple[Call, str]] = []
    whole: list[tuple[int, str, Output]] = []
    made = Attempted()
    seen: dict[str, int] = {}
    for answer in answers:
        proposal = await read_proposal(answer, problem, shape, box)
        if isinstance(proposal.call, Unreadable):
            made.dropped[f"unreadable: {proposal.call}"] += 1
        elif not isinstance(proposal.call, Call):
            made.dropped["input needs the program's own names"] += 1
        else:
            source = call_source(proposal.call, solution.entry_point)
            if source in seen:
                made.dropped["the same input again"] += 1
            else:
                seen[source] = len(drafts)
                drafts.append((proposal.call, proposal.before_output))
            cut = answer is not None and answer.finish_reason == "length"
            if isinstance(proposal.stated, Output) and not cut:
                whole.append((seen[source], proposal.answer, proposal.stated))
    told = await _told_apart(solution, fault, [call for call, _ in drafts], box)
    for (call, before), one in zip(drafts, told, strict=True):
        _keep(made, call, one, solution, "model", before)
    judged = (_judged(text, stated, told[number]) for number, text, stated in whole)
    made.answers = list(dict.fromkeys(one for one in judged if one is not None))
    return made


def _judged(text: str, stated: Output, told: Told) -> JudgedAnswer | None:
    """Judge a written test; None if its input gives no verdict.

    A test that expects an exception is never right: no row of the data is one.
    """
    if told.attacks is None:
        return None
    right = told.expected is not None and stated.raises is None
    if right and told.expected is not None:
        right = matches(Returned(values.encode(stated.value)), told.expected)
    return JudgedAnswer(text, told.attacks, right)


async def inputs_by_search(
    solution: Solution, fault: Fault, count: int, *, box: AsyncSandbox, seed: int
) -> Attempted:
    """The first `count` of the search's inputs that tell the two apart.

    Deterministic for (solution, fault, seed). Raises `SandboxUnavailable`.
    """
    problem = solution.problem()
    known = [test.call for test in trusted_tests(problem)[0]]
    given = [call for call in known if isinstance(call, Call)]
    legal = await multiplied(problem, known, box, seed=seed, most=SEARCHED)
    # The examples come last: what a description shows is not new.
    calls = chain(legal, given)
    made = Attempted()
    while len(made.kept) < count and (part := list(islice(calls, 25))):
        told = await _told_apart(solution, fault, part, box)
        for call, one in zip(part, told, strict=True):
            if len(made.kept) < count:
                _keep(made, call, one, solution, "search", "")
    return made


def _keep(
    made: Attempted,
    call: Call,
    told: Told,
    solution: Solution,
    by: Literal["model", "search"],
    before: str,
) -> None:
    if told.output is None:
        made.dropped[told.reason] += 1
        return
    source = call_source(call, solution.entry_point)
    if len(source) > MAX_CALL or len(told.output) > MAX_OUTPUT:
        made.dropped["input or output too long"] += 1
    else:
        made.kept.append(AttackingInput(source, told.output, by, before))


@dataclass(frozen=True, slots=True)
class Told:
    """Outcomes of reference and fault on one input."""

    reason: str = ""
    """Reason that it gives no unit test."""
    output: str | None = None
    """Source of what the reference returns, where it does give one."""
    attacks: bool | None = None
    """None: there is no verdict."""
    expected: Expected | None = None
    """Output of the reference; None: it does not take the input, or there is no verdict."""


async def _told_apart(
    solution: Solution, fault: Fault, calls: Sequence[Call], box: AsyncSandbox
) -> list[Told]:
    """For each input, whether the two differ on it, and the reference's output.

    Both run twice, the second time in the other order: a function that keeps a state, rolls dice or
    looks at the clock shows.
    """
    if not calls:
        return []
    right, again = await _twice(Program(solution.code, solution.entry_point), calls, box)
    wrong, anew = await _twice(Program(fault.code, solution.entry_point), calls, box)
    return [_told(*four) for four in zip(right, again, wrong, anew, strict=True)]


async def _twice(
    program: Program, calls: Sequence[Invocation], box: AsyncSandbox
) -> tuple[list[Outcome], list[Outcome]]:
    first = await box.run(program, calls, _TELLING)
    second = await box.run(program, calls[::-1], _TELLING)
    return first, second[::-1]


def _told(right: Outcome, again: Outcome, wrong: Outcome, anew: Outcome) -> Told:
    if not isinstance(right, Returned):
        # Only an exception says that the input is the fault of who wrote it.
        verdict = False if isinstance(right, Raised) and isinstance(again, Raised) else None
        return Told("not valid for the reference", attacks=verdict)
    try:
        source = source_of(right.value)
    except (NotLiteral, MalformedValue):
        return Told("output has no source")
    expected = Expected(right.data)
    if not matches(again, expected):
        return Told("the reference is not deterministic")
    if any(isinstance(outcome, NotRun) for outcome in (wrong, anew)):
        return Told("not run: the fault was cut short before")
    if matches(wrong, expected) or matches(anew, expected):
        return Told("does not tell fault and reference apart", None, False, expected)
    return Told("", source, True, expected)


# -- rows ------------------------------------------------------------------------------------------
# Rows of training data: the `utgen` prompt as it is at inference, and an answer in its form.


# -- rationales ------------------------------------------------------------------------------------


TRIES = 2
"""Rationales that are asked for, where the first one falls out."""
_OUTPUT = re.compile(r"\n[*_# ]*(?:final\s+)?output\b[*_ ]*:", re.I)
_CODE = re.compile(
    r"^\s*(?:def |class |import |from \w+ import |return\b|for .+:\s*$|while .+:\s*$)", re.M
)
_GIVEN = re.compile(
    r"\b(?:given|provided|stated|expected|known)\s+(?:output|value|result|answer)\b"
    r"|\b(?:matches|match|agrees with|consistent with) the (?:output|value|result|answer)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """The error of a fault, and the inputs that show it."""

    reason: str
    pattern: str


@dataclass(slots=True)
class Rationale:
    """The reasoning, None where no try was good enough, and why tries fell out."""

    text: str | None = None
    dropped: Counter[str] = field(default_factory=Counter)


async def rationale(
    solution: Solution,
    attempt: AttackingInput,
    *,
    ask: Asker,
    box: AsyncSandbox,
    sampling: Sampling,
) -> Rationale:
    """Ask why the reference's output follows from the task, for one input.

    Raises what `Asker.ask` raises besides `ContextTooLong`, and `SandboxUnavailable`.
    """
    request = user(
        render(
            "train_rationale",
            signature=solution.signature,
            description=solution.description,
            call=attempt.call,
            output=attempt.output,
        )
    )
    made = Rationale()
    for number in range(TRIES):
        [answer] = await samples(ask, [request], first=number, n=1, sampling=sampling)
        if answer is None:
            made.dropped["too long for the model"] += 1
            break
        reason = await _fault_of(answer, solution, attempt, box)
        if reason is None:
            made.text = _reasoning(answer.text)
            break
        made.dropped[reason] += 1
    return made


async def _fault_of(
    answer: Completion, solution: Solution, attempt: AttackingInput, box: AsyncSandbox
) -> str | None:
    """Return the reason not to learn from a rationale; None if it is good."""
    if answer.finish_reason == "length":
        return "cut off"
    text = _reasoning(answer.text)
    if not text:
        return "no reasoning that ends with an output"
    if _CODE.search(text):
        return "codes the task up"
    if _GIVEN.search(text):
        return "speaks of the output as given"
    written = read_output(answer.text, solution.entry_point)
    said = await resolve_output(written, box)
    if not isinstance(said, Output) or said.raises is not None:
        return "its last value cannot be read"
    try:
        same = source_of(said.value) == attempt.output
    except NotLiteral:
        same = False
    return None if same else "contradicts the output"


def _reasoning(answer: str) -> str:
    """The answer up to its last label of an output; "" where it has none or nothing before it."""
    text = final_text(answer)
    labels = list(_OUTPUT.finditer(text))
    return text[: labels[-1].start()].strip() if labels else ""


def hypothesis_of_change(reference: str, fault: str) -> Hypothesis:
    """The first change from reference to fault in words, without a model."""
    old, new = reference.split("\n"), fault.split("\n")
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, stop, new_start, new_stop in matcher.get_opcodes():
        if kind == "equal":
            continue
        right = " ".join(line.strip() for line in old[start:stop] if line.strip())
        wrong = " ".join(line.strip() for line in new[new_start:new_stop] if line.strip())
        if right and wrong:
            reason = f"The code has `{wrong}` where the task needs `{right}`."
            return Hypothesis(reason, f"inputs for which `{wrong}` and `{right}` differ")
        if right:
            return Hypothesis(
                f"The code lacks `{right}`, which the task needs.",
                f"inputs for which `{right}` matters",
            )
        if wrong:
            return Hypothesis(
                f"The code has `{wrong}`, which the task does not ask for.",
                f"inputs for which `{wrong}` matters",
            )
    return Hypothesis("The code differs from the task.", "inputs for which it matters")


_FORM = re.compile(
    r"##\s*Hypothesis\s*\n(?P<reason>.*?)\n\s*[*_]*Error Pattern[*_]*:[*_]*\s*(?P<pattern>.*?)\s*"
    r"\n##\s*Unit Test\s*\n+###\s*Input Arguments\s*\n(?P<input>.*?)\n?\s*[*_]*Arguments[*_]*:",
    re.S | re.I,
)
_OUTPUT_HEADING = "### Output\n"


@dataclass(frozen=True, slots=True)
class TrainingAnswer:
    """The parts of an answer; an empty one is left out."""

    hypothesis: Hypothesis | None
    about_input: str
    about_output: str


def training_prompt(solution: Solution, fault: Fault) -> str:
    """Return the prompt of the method `utgen` about this fault, to the byte."""
    [message] = test_request(solution.problem(fault.code), fault.code, "prompted")
    return message.content


def training_completion(attempt: AttackingInput, answer: TrainingAnswer) -> str:
    """An answer in the form that the prompt asks for."""
    parts = []
    if answer.hypothesis is not None:
        parts.append(
            f"## Hypothesis\n{answer.hypothesis.reason}\n\n"
            f"Error Pattern: {answer.hypothesis.pattern}\n"
        )
    about_input = f"{answer.about_input}\n" if answer.about_input else ""
    about_output = f"{answer.about_output}\n" if answer.about_output else ""
    parts.append(
        f"## Unit Test\n\n### Input Arguments\n{about_input}Arguments: ```{attempt.call}```\n"
    )
    parts.append(f"{_OUTPUT_HEADING}{about_output}Output: ```{attempt.output}```")
    return "\n".join(parts)


def said_before(answer: str) -> tuple[Hypothesis, str] | None:
    """Hypothesis and thoughts on the input of a model's answer; None where its form is another."""
    found = _FORM.search(answer)
    if found is None or not found["reason"].strip() or not found["pattern"].strip():
        return None
    hypothesis = Hypothesis(found["reason"].strip(), found["pattern"].strip())
    return hypothesis, found["input"].strip()


async def reads_back(
    text: str, solution: Solution, fault: Fault, attempt: AttackingInput, box: AsyncSandbox
) -> bool:
    """Return whether the reader used at inference finds the right content in an answer."""
    said = read_test(text, solution.entry_point)
    shape = shape_of(solution.problem(fault.code))
    call = await resolve_call(said.call, shape.subject, box, keyword_only=shape.keyword_only)
    output = await resolve_output(said.output, box)
    if not isinstance(call, Call) or not isinstance(output, Output) or output.raises is not None:
        return False
    try:
        value = source_of(output.value)
    except NotLiteral:
        return False
    return call_source(call, solution.entry_point) == attempt.call and value == attempt.output
