"""hybrid: a language model and the search engine, each doing what the other cannot.

Neither of the papers has it. A model knows what a task means, and costs money; the search engine
runs thousands of programs, and knows no right output beyond the stated examples. Here

1. the model proposes inputs with a hypothesis of the error (the prompt of `prompted`), and, shown
   the hypotheses, a few fixes;
2. the engine multiplies the inputs by mutation, and finds those on which the code under test, the
   fixes and mutants of the code *disagree* (`distinguishing`);
3. only for such inputs the model is asked for outputs, by vote, without the code in sight;
4. tests and versions of the code validate each other (`refute.function.llm.versions`). While the
   best version fails a test, the engine searches a fix with the voted tests, and the model is shown
   the failure.

Examples that the description states are certain tests: no vote is held on them, and no fix may
fail one. `most_asked` bounds the samples, whatever the model answers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from refute.core.methods import Context, method
from refute.core.problems import FunctionProblem, Invocation, UnitTest
from refute.function.contract import FailingTest, MethodResult
from refute.function.formatting import call_source
from refute.function.llm.answers import final_text
from refute.function.llm.code_extraction import apply_answer
from refute.function.llm.generation import (
    Generator,
    ProposedTest,
    Sampler,
    bare_proposal,
    conversation,
    feedback_on,
    hold_vote,
    passed_over,
    read_proposal,
    shape_of,
    test_request,
    user,
    voted_on,
)
from refute.function.llm.options import Options, refuse_ablations
from refute.function.llm.results import (
    Attempt,
    EditRound,
    Unreadable,
    Vote,
    certain_tests,
    conclusion,
)
from refute.function.llm.search_partner import multiplied, mutant_outcomes, searched_fixes
from refute.function.llm.versions import (
    FixAnswer,
    Input,
    Version,
    Versions,
    distinguishing,
    round_edits,
    suite_of,
)
from refute.models.contract import together
from refute.prompts import render
from refute.sandbox import Outcome

FIXES = 3
"""Fixes that the model is asked for at first."""
SHOWN = 3
"""Failing certain tests that are shown with the first question for fixes."""
_PATTERN = re.compile(r"Error Pattern\W*:[\s*_]*(\S[^\n]{0,400})", re.I)


def most_asked(options: Options) -> int:
    """The samples that UTDebug asks for with these options when it is unlucky.

    Each of its m suites (with m = 0: one) may take all 3n tries, each with an input of its own and
    so with a vote that may need all k samples; each of m rounds asks for one edit. That is 246 with
    the paper's values. `hybrid` never asks for more.
    """
    outputs = options.k if options.vote else 0
    return max(1, options.m) * options.tries * (1 + outputs) + options.m


@dataclass(slots=True)
class Allowance:
    """Number of samples that may still be asked for."""

    left: int

    def take(self, wanted: int, least: int = 1) -> int:
        """As many of `wanted` as there are, or 0 if they are fewer than `least`."""
        count = min(wanted, self.left)
        count = count if count >= least else 0
        self.left -= count
        return count


@dataclass(frozen=True, slots=True, kw_only=True)
class HybridOptions(Options):
    """The paper's, without the ablations that make no sense here."""

    def __post_init__(self) -> None:
        """Raises `InputError`."""
        Options.__post_init__(self)
        refuse_ablations("hybrid", self)


@method("hybrid", summary="a model and the search engine together", asks_model=True)
async def hybrid(problem: FunctionProblem, *, ctx: Context, options: HybridOptions) -> MethodResult:
    """Find failing tests of the problem's code, and a fix unless `options.m` is 0.

    `ctx.writer` proposes the inputs and votes, `ctx.model` writes the fixes. Raises what
    `Asker.ask` raises (but `ContextTooLong`), and `SandboxUnavailable`.
    """
    versions = Versions(problem, certain_tests(problem), ctx.sandbox)
    editor, writer = (Sampler(ask, options.sampling(ctx.seed)) for ask in (ctx.model, ctx.writer))
    allowance = Allowance(most_asked(options))
    return await _Work(problem, ctx, options, versions, editor, writer, allowance).run()


@dataclass(slots=True)
class _Work:
    """The state of the method on one problem."""

    problem: FunctionProblem
    ctx: Context
    options: Options
    versions: Versions
    editor: Sampler
    writer: Sampler
    allowance: Allowance
    inputs: list[Input] = field(default_factory=list)
    """The model's own first."""
    tries: list[Attempt | Input] = field(default_factory=list)
    """Proposals of the model, in its order; a usable one is also in `inputs`."""
    mutants: list[list[Outcome]] = field(default_factory=list)
    readings: list[FixAnswer] = field(default_factory=list)
    """The fixes that the model wrote since the last round."""

    async def run(self) -> MethodResult:
        problem, options, versions = self.problem, self.options, self.versions
        given = best = await versions.enter(problem.code, "given")
        await self._propose()
        await self._first_fixes()
        if not given.plausible:
            await self._search(given.certain.tests)
        await self._multiply()
        codes, edits = [problem.code], list[EditRound]()
        for number in range(1, max(1, options.m) + 1):
            fresh = await self._vote(first=number == 1)
            if options.m == 0:
                break
            if fresh and versions.shown(versions.best, 0) is not None:
                await self._search((*given.certain.tests, *versions.believed))
            before, best = best, versions.best
            edits += round_edits(number, self.readings, before, best, versions)
            self.readings = []
            codes.append(best.code)
            shown = versions.shown(best, number - 1)
            if shown is None and not fresh:
                break
            if shown is not None and number < options.m:
                await self._another_fix(best, shown)
        codes += [codes[-1]] * (options.m + 1 - len(codes))
        suite = suite_of(self.tries, self.inputs, versions.suspects)
        besides = [r.unreadable for r in self.readings if r.unreadable is not None]
        first = given.trial.restricted(suite.tests)
        return conclusion(
            problem, options, codes, [suite], edits, first, given.certain, besides=besides
        )

    # -- what the model is asked -------------------------------------------------------------------

    async def _propose(self) -> None:
        """Up to 3n tries for n distinct inputs, as many at a time as are missing."""
        request = test_request(self.problem, self.problem.code, "prompted")
        shape, options = shape_of(self.problem), self.options
        seen: set[str] = set()
        while len(self.inputs) < options.n and len(self.tries) < options.tries:
            missing = min(options.n - len(self.inputs), options.tries - len(self.tries))
            count = self.allowance.take(missing)
            for answer in await self.writer.draw(request, count):
                proposal = await read_proposal(answer, self.problem, shape, self.ctx.sandbox)
                call = proposal.call
                if isinstance(call, Unreadable) or self._source(call) in seen:
                    self.tries.append(passed_over(proposal))
                    continue
                seen.add(self._source(call))
                self.inputs.append(Input(call, proposal, own=True))
                self.tries.append(self.inputs[-1])

    async def _first_fixes(self) -> None:
        """A few fixes by the hypotheses of the proposals."""
        given = self.versions.given
        patterns = dict.fromkeys(filter(None, (_pattern(one.proposal) for one in self.inputs)))
        name = self.problem.entry_point
        failing = [feedback_on(one, name) for one in given.certain.failing[:SHOWN]]
        question = render("hybrid_fix", patterns=list(patterns), failing=failing)
        await self._ask_fixes(given, question, FIXES)

    async def _another_fix(self, version: Version, shown: FailingTest) -> None:
        """One more fix, of the best version, by a test that it fails."""
        feedback = feedback_on(shown, self.problem.entry_point)
        await self._ask_fixes(version, render("test_feedback", **feedback), 1)

    async def _ask_fixes(self, version: Version, question: str, wanted: int) -> None:
        count = self.allowance.take(wanted)
        if not count:
            return
        request = (*conversation(self.problem, version.code), user(question))
        for answer in await self.editor.draw(request, count):
            code, kind = apply_answer(version.code, answer, self.problem.entry_point)
            text = "" if answer is None else answer.text
            entered = None if code is None else await self.versions.enter(code, "model", text)
            self.readings.append(FixAnswer(text, entered, kind))

    async def _vote(self, *, first: bool) -> bool:
        """Ask for the outputs of the most telling inputs. Whether there are new tests."""
        chosen = await self._telling(first)
        votes: list[Vote] | list[None] = [None for _ in chosen]
        if self.options.vote:
            k = self.options.k
            chosen = [one for one in chosen if self.allowance.take(k, least=k)]
            votes = await together(map(self._ballot, chosen))
        fresh: list[UnitTest] = []
        for one, vote in zip(chosen, votes, strict=True):
            self.allowance.left += 0 if vote is None else vote.saved
            one.attempt = voted_on(one.proposal, vote)
            fresh += [] if one.attempt.test is None else [one.attempt.test]
        await self.versions.test(fresh)
        return bool(fresh)

    async def _ballot(self, one: Input) -> Vote:
        """The vote on one input; on those of the engine's without the code in sight."""
        generator: Generator = "prompted" if one.own else "random"
        return await hold_vote(
            test_request(self.problem, self.problem.code, generator),
            one.proposal,
            self.problem.entry_point,
            sampler=self.writer,
            box=self.ctx.sandbox,
            options=self.options,
        )

    # -- what the engine does ----------------------------------------------------------------------

    async def _search(self, tests: Sequence[UnitTest]) -> None:
        """Let fixes in that the engine finds with these tests."""
        for found in await searched_fixes(
            self.problem, tests, self.ctx.sandbox, seed=self.ctx.seed
        ):
            await self.versions.enter(found.code, "search", edits=found.edits)

    async def _multiply(self) -> None:
        """Add neighbours of the known inputs, and see what mutants do on all of them."""
        if not self.options.vote:
            return
        certain = self.versions.given.certain.tests
        known = [*(one.call for one in self.inputs), *(test.call for test in certain)]
        for call in await multiplied(self.problem, known, self.ctx.sandbox, seed=self.ctx.seed):
            proposal = bare_proposal(call, self.problem.entry_point)
            self.inputs.append(Input(call, proposal, False))
        if self.versions.given.plausible:
            calls = [one.call for one in self.inputs]
            self.mutants = await mutant_outcomes(self.problem, certain, calls, self.ctx.sandbox)

    async def _telling(self, first: bool) -> list[Input]:
        """The inputs to ask about now; after the first time only such as part the fixes."""
        if not self.options.vote:
            return self.inputs if first else []
        await self.versions.observe([one.call for one in self.inputs])
        rows = [version.behaviour for version in self.versions.leaders]
        mutants = self.mutants if first else []
        own = sum(one.own for one in self.inputs)
        if first and len(rows) == 1 and not mutants:
            return self.inputs[:own]  # nothing to compare with
        taken = {i for i, one in enumerate(self.inputs) if one.attempt is not None}
        count = self.options.n
        numbers = distinguishing(rows, mutants, own=own, taken=taken, count=count)
        return [self.inputs[number] for number in numbers]

    # -- words -------------------------------------------------------------------------------------

    def _source(self, call: Invocation) -> str:
        return call_source(call, self.problem.entry_point)


def _pattern(proposal: ProposedTest) -> str:
    """The hypothesis of an answer, on one line; "" where it states none."""
    found = _PATTERN.search(final_text(proposal.answer))
    return found[1].strip(" `*_") if found is not None else ""
