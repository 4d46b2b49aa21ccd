"""council: independent programs are the oracle, and candidates and tests validate each other.

Neither of the papers has it. UTDebug asks a model what the output of an input is, by reading; here
the model writes whole programs from the description, the code under test unseen, and the programs
are *run*: what most of them return is the expected output.

1. Programs are written until a group of them that do the same on every input is sure to be the
   largest and holds half of all that may be written, or until none can. The inputs are those of the
   examples, lists that the model is asked for, and the search engine's neighbours of both.
2. Where the code under test leaves the majority, there is a test. Where it is in the largest group
   everywhere, nothing is claimed.
3. Fixes are the programs, what the search engine finds with the tests, and, where no group has half
   of the programs, edits by the model, which is shown such a test. Those that do the same stand
   together: a group counts its programs and edits.
4. While the second group might be the right one, outputs are bought: the model votes on inputs that
   tell the groups apart, by the description alone (UTGen's vote).
5. Of the best group that member is the fix which changes the least of the code.

Examples that the description states are certain tests: no fix may fail one that another passes.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from refute.core.combinators import cross_check, decided, fewest
from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import Call, FunctionProblem, Invocation, Trust, UnitTest
from refute.function.contract import FailingTest, MethodResult
from refute.function.formatting import call_source
from refute.function.llm.answers import code_spans, final_text, read_test
from refute.function.llm.code_extraction import apply_answer
from refute.function.llm.generation import (
    Sampler,
    bare_proposal,
    conversation,
    feedback_on,
    hold_vote,
    resolve_call,
    shape_of,
    test_request,
    user,
)
from refute.function.llm.options import Options, refuse_ablations
from refute.function.llm.results import (
    Attempt,
    EditRound,
    Output,
    Suite,
    SuiteRun,
    Unreadable,
    Vote,
    certain_tests,
    conclusion,
    try_code,
)
from refute.function.llm.search_partner import multiplied, searched_fixes
from refute.function.llm.versions import distinguishing
from refute.function.search.engine import trusted_tests
from refute.models.contract import together
from refute.prompts import render
from refute.sandbox import Limits, Outcome, Program
from refute.sandbox.equality import expect_test, matches
from refute.sandbox.pool import AsyncSandbox
from refute_lab.baselines.judge import Majority, agree, alike, majority
from refute_lab.baselines.utdebug import draw_solutions, with_programs

LISTED = 12
"""Inputs that the model is asked for."""
EDITS = 2
"""Edits of the code that the model is asked for where its programs do not agree."""
BOUGHT = 2.0
"""Programs that a vote on an output weighs as much as: it is k readings of the description, but the
votes are of one reader, as the programs are."""
_LIMITS = Limits(cpu=0.3, memory=512 << 20, output=1 << 20, stop_after=3)


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilOptions(Options):
    """The votes as in the paper; and how many programs."""

    solutions: int = parameter(
        10, "Programs that are written from the description, at most.", at_least=2, at_most=1000
    )

    def __post_init__(self) -> None:
        """Raises `InputError`."""
        Options.__post_init__(self)
        refuse_ablations("council", self)


@dataclass(slots=True)
class Member:
    """One program."""

    code: str
    origin: Literal["solution", "edit", "search"]
    certain: SuiteRun
    answer: str = ""
    lines: tuple[str, ...] = ()
    """Changes by a search."""
    row: list[Outcome] = field(default_factory=list)

    @property
    def weight(self) -> int:
        """Return 1, or 0 for a program that a search made to fit."""
        return self.origin != "search"


@dataclass(frozen=True, slots=True)
class Claim:
    """A test that the code under test fails by the majority."""

    test: UnitTest
    most: Majority


@method(
    "council", summary="programs written without the code outvote it, by running", asks_model=True
)
async def council(
    problem: FunctionProblem, *, ctx: Context, options: CouncilOptions
) -> MethodResult:
    """Failing tests of the problem's code, and a fix unless `options.m` is 0.

    `ctx.model` writes programs and edits, `ctx.writer` inputs and votes. Raises what `Asker.ask`
    raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    certain = certain_tests(problem)
    given = await try_code(problem.code, problem.entry_point, certain, ctx.sandbox)
    editor, writer = (Sampler(ask, options.sampling(ctx.seed)) for ask in (ctx.model, ctx.writer))
    return await _Council(problem, ctx, options, editor, writer, given).run()


@dataclass(slots=True)
class _Council:
    """The state of the method on one problem."""

    problem: FunctionProblem
    ctx: Context
    options: CouncilOptions
    editor: Sampler
    writer: Sampler
    given: SuiteRun
    """Outcomes of the code under test on the certain tests."""
    calls: list[Invocation] = field(default_factory=list)
    before: list[Outcome] = field(default_factory=list)
    """Outcomes of the code under test on them."""
    members: list[Member] = field(default_factory=list)
    written: list[str | None] = field(default_factory=list)
    unreadable: list[EditRound] = field(default_factory=list)
    bought: dict[int, Vote] = field(default_factory=dict)
    """By the number of the input."""

    async def run(self) -> MethodResult:
        problem, options = self.problem, self.options
        await self._gather_inputs()
        self.before = await self._row(problem.code)
        await self._write_programs()
        best: Member | None = None
        if options.m and self._best() is not None:
            await self._add_fixes([claim.test for claim in self._claims()])
            if options.vote:
                await self._buy()
            best = self._best()
        return await self._result(self._claims(), best)

    # -- inputs ------------------------------------------------------------------------------------

    async def _gather_inputs(self) -> None:
        problem, name = self.problem, self.problem.entry_point
        examples, _ = trusted_tests(problem)  # whatever their outputs are worth
        known: list[Invocation] = [test.call for test in examples]
        known += await listed_inputs(problem, LISTED, sampler=self.writer, box=self.ctx.sandbox)
        near = await multiplied(problem, known, self.ctx.sandbox, seed=self.ctx.seed)
        seen: dict[str, Invocation] = {}
        for call in chain(known, near):
            if isinstance(call, Call):
                seen.setdefault(call_source(call, name), call)
        self.calls = list(seen.values())

    async def _row(self, code: str) -> list[Outcome]:
        program = Program(code, self.problem.entry_point)
        return await self.ctx.sandbox.run(program, self.calls, _LIMITS) if self.calls else []

    # -- programs ----------------------------------------------------------------------------------

    async def _write_programs(self) -> None:
        """Write programs until more of them could not change which group is the largest; and until
        one passes the certain tests."""
        most, needed = self.options.solutions, (self.options.solutions + 1) // 2
        counts: list[int] = []
        while (left := most - len(self.written)) and not (counts and decided(counts, left, needed)):
            for one in await draw_solutions(
                self.problem, self.editor, fewest(counts, left, needed)
            ):
                self.written.append(one.code)
                if one.code is not None:
                    await self._enter(one.code, "solution", one.answer)
                    continue
                told = "there is none" if one.unreadable is None else one.unreadable.told
                edit = EditRound(1, one.answer, None, False, f"discarded: {told}")
                self.unreadable.append(replace(edit, unreadable=one.unreadable))
            sound = [one for one in self.members if all(one.certain.verdicts)]
            counts = [len(group) for group in alike([one.row for one in sound])]

    async def _enter(
        self,
        code: str,
        origin: Literal["solution", "edit", "search"],
        answer: str = "",
        lines: Sequence[str] = (),
    ) -> None:
        name, box = self.problem.entry_point, self.ctx.sandbox
        certain = await try_code(code, name, self.given.tests, box)
        member = Member(code, origin, certain, answer, tuple(lines))
        member.row = await self._row(code)
        self.members.append(member)

    def _sound(self) -> list[Member]:
        """The programs that pass the most certain tests."""
        most = max((one.certain.passed for one in self.members), default=0)
        return [one for one in self.members if one.certain.passed == most]

    async def _add_fixes(self, tests: Sequence[UnitTest]) -> None:
        """Fixes by the engine, and by the model where its programs do not agree."""
        problem = self.problem
        counts = [len(group) for group in alike([one.row for one in self._sound()])]
        if 2 * max(counts, default=0) < len(self.written):
            run = await try_code(problem.code, problem.entry_point, tests, self.ctx.sandbox)
            for failing in (*self.given.failing, *run.failing)[:1]:
                await self._edit(failing)
        wanted = [*(failing.test for failing in self.given.failing), *tests]
        passing = [test for test in self.given.tests if test not in wanted]
        for found in await searched_fixes(
            problem, [*passing, *wanted], self.ctx.sandbox, seed=self.ctx.seed
        ):
            await self._enter(found.code, "search", lines=found.edits)

    async def _edit(self, failing: FailingTest) -> None:
        feedback = render("test_feedback", **feedback_on(failing, self.problem.entry_point))
        request = (*conversation(self.problem, self.problem.code), user(feedback))
        for answer in await self.editor.draw(request, EDITS):
            code, _ = apply_answer(self.problem.code, answer, self.problem.entry_point)
            if code is not None and answer is not None:
                await self._enter(code, "edit", answer.text)

    # -- what they say -----------------------------------------------------------------------------

    def _majority(self, number: int) -> Majority | None:
        return majority([one.row[number] for one in self._sound() if one.origin == "solution"])

    def _claims(self) -> list[Claim]:
        """At most n tests that the code under test fails by the majority, the surest first."""
        found = []
        for number, call in enumerate(self.calls):
            most = self._majority(number)
            if most is None or agree(self.before[number], most.output):
                continue
            vote = self.bought.get(number)
            if 2 * most.support < most.of or (vote is not None and not _says(vote, most.output)):
                continue
            share = round(most.share, 4)
            test = UnitTest(
                call, most.output.value, None, Trust.PREDICTED, "model", confidence=share
            )
            found.append(Claim(test, most))
        return sorted(found, key=lambda claim: -claim.most.share)[: self.options.n]

    def _groups(self) -> list[tuple[float, list[Member]]]:
        """Programs that do the same on every input, with what speaks for them, best first; of
        equals the one that agrees with more of the others, input by input."""
        sound = self._sound()
        shared = cross_check([one.row for one in sound if one.weight], agree)
        agreement = dict(zip((id(one) for one in sound if one.weight), shared, strict=True))
        ranked = []
        for numbers in alike([one.row for one in sound]):
            group = [sound[number] for number in numbers]
            votes = [_says(vote, group[0].row[at]) for at, vote in self.bought.items()]
            score = sum(one.weight for one in group) + BOUGHT * sum(votes)
            ranked.append((score, max(agreement.get(id(one), 0.0) for one in group), group))
        ranked.sort(key=lambda row: (-row[0], -row[1]))
        return [(score, group) for score, _, group in ranked]

    async def _buy(self) -> None:
        """Votes on inputs that tell apart the groups that might be right."""
        groups = self._groups()
        rivals = [group for score, group in groups if 2 * score >= groups[0][0]]
        if len(rivals) < 2:
            return
        rows = [group[0].row for group in rivals]
        numbers = distinguishing(rows, [], own=len(self.calls), taken=set(), count=self.options.n)
        votes = await together(self._ballot(self.calls[number]) for number in numbers)
        self.bought = {
            number: vote
            for number, vote in zip(numbers, votes, strict=True)
            if vote.winner is not None
        }

    async def _ballot(self, call: Invocation) -> Vote:
        name = self.problem.entry_point
        return await hold_vote(
            test_request(self.problem, self.problem.code, "random"),
            bare_proposal(call, name),
            name,
            sampler=self.writer,
            box=self.ctx.sandbox,
            options=self.options,
        )

    def _best(self) -> Member | None:
        """The fix; None where the best group does as the code does."""
        groups = self._groups()
        if not groups:
            return None
        [(_, group), *_] = groups
        as_before = len(alike([self.before, group[0].row])) == 1
        if as_before and group[0].certain.passed <= self.given.passed:
            return None
        return max(group, key=lambda one: _likeness(self.problem.code, one.code))

    # -- the result --------------------------------------------------------------------------------

    async def _result(self, claims: Sequence[Claim], best: Member | None) -> MethodResult:
        problem, tests = self.problem, [claim.test for claim in claims]
        suite = Suite(tuple(_attempt(at, claim) for at, claim in enumerate(claims)))
        first = await try_code(problem.code, problem.entry_point, tests, self.ctx.sandbox)
        groups = self._groups()
        edits = [await self._round(one, best, groups, first) for one in self.members]
        codes = [problem.code] if best is None else [problem.code, best.code]
        found = conclusion(
            problem, self.options, codes, [suite], [*self.unreadable, *edits], first, self.given
        )
        found = with_programs(replace(found, notes=self._notes(groups)), self.written)
        if best is None:
            return found
        return replace(found, reservations=self._reservations(groups))

    async def _round(
        self,
        member: Member,
        best: Member | None,
        groups: Sequence[tuple[float, Sequence[Member]]],
        first: SuiteRun,
    ) -> EditRound:
        run = await try_code(member.code, self.problem.entry_point, first.tests, self.ctx.sandbox)
        like = [group for _, group in groups if any(one is member for one in group)]
        if not like:
            reason = "it fails a certain test that another passes"
        else:
            reason = f"{sum(one.weight for one in like[0])} programs do the same"
        accepted = member is best
        words = [*member.lines, reason]
        return EditRound(
            1,
            member.answer,
            member.code,
            accepted,
            f"{'accepted' if accepted else 'discarded'}: {'; '.join(words)}",
            first.tests[0] if first.tests else None,
            before=self.given.passed + first.passed,
            after=member.certain.passed + run.passed,
            total=len(self.given.tests) + len(first.tests),
        )

    def _notes(self, groups: Sequence[tuple[float, Sequence[Member]]]) -> tuple[str, ...]:
        sizes = [str(count) for _, group in groups if (count := sum(o.weight for o in group))]
        said = f"{len(self.written)} programs, of which do the same: {', '.join(sizes) or 'none'}"
        return (said, f"{len(self.bought)} outputs voted on") if self.bought else (said,)

    def _reservations(self, groups: Sequence[tuple[float, Sequence[Member]]]) -> tuple[str, ...]:
        written = sum(one.origin == "solution" for one in groups[0][1])
        if 2 * written >= len(self.written):
            return ()
        return (f"only {written} of {len(self.written)} programs for the task do the same",)


def _attempt(number: int, claim: Claim) -> Attempt:
    test, most = claim.test, claim.most
    output = Output(test.expected)
    counts = [(output, most.support)]
    counts += [(Output(value.value), count) for value, count in most.rest]
    vote = Vote(most.of, most.of, tuple(counts))
    return Attempt(number, "", "kept", test.call, output, vote=vote, test=test)


def _says(vote: Vote, outcome: Outcome) -> bool:
    """Return whether a program returns the winner of the vote."""
    winner = vote.winner
    if winner is None:
        return False
    return matches(outcome, expect_test(UnitTest(Call(), winner.value, winner.raises)))


def _likeness(code: str, other: str) -> float:
    """Return the share of the text that is the same, in [0, 1]."""
    return difflib.SequenceMatcher(None, code.split("\n"), other.split("\n")).ratio()


# -- many inputs by one question: what costs a model little, and programs can be run on ------------

LISTS = 4
"""Answers with a list, at most."""


async def listed_inputs(
    problem: FunctionProblem, count: int, *, sampler: Sampler, box: AsyncSandbox
) -> list[Invocation]:
    """Inputs that the model lists when it is asked for `count`, at most twice as many.

    A weak model lists one or none: while there are not half of `count`, it is asked again. It sees
    the description, not the code. Raises what `Asker.ask` raises (but `ContextTooLong`), and
    `SandboxUnavailable`.
    """
    question = render(
        "inputs",
        signature=problem.signature,
        description=problem.description.strip(),
        entry_point=problem.entry_point,
        count=count,
    )
    shape, name, found = shape_of(problem), problem.entry_point, dict[str, Invocation]()
    for n in (1, LISTS - 1):
        answers = await sampler.draw([user(question)], n)
        texts = [final_text(answer.text) for answer in answers if answer is not None]
        spans = chain.from_iterable(map(code_spans, texts))
        for line in chain.from_iterable(span.splitlines() for span in spans):
            said = read_test(line, name).call
            call = await resolve_call(said, shape.subject, box, keyword_only=shape.keyword_only)
            if not isinstance(call, Unreadable) and len(found) < 2 * count:
                found.setdefault(call_source(call, name), call)
        if 2 * len(found) >= count:
            break
    return [*found.values()]
