"""The zero-shot methods: one prompt with BM25 context, one answer (SWT-Bench, section 4.1).

ZeroShot answers with a unified diff, ZeroShotPlus with the custom diff of section 4.2. The variants
of Table 5 are settings of `Given`: the test files to write to, a code patch (golden, or somebody's
proposal), and being told that the patch may be wrong.

Three things are ours unless the preset `paper` is chosen: a diff whose numbers or context are wrong
is put right (the paper's is applied as it stands), what can be made of a custom diff is made (the
paper's is applied whole or not at all), and files that are given come before those that BM25 finds
(the paper's take their place).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from refute.core.combinators import succession
from refute.core.methods import Context, method
from refute.core.parameters import parameter
from refute.core.problems import IssuePrediction, IssueProblem
from refute.errors import ContextTooLong, InputError
from refute.issue.context import LEAST_TOKENS, estimated_tokens, numbered, ranked
from refute.issue.contract import Reproduction
from refute.issue.original import (
    Original,
    TrialRun,
    described,
    fix_submission,
    scrubbed,
    shortened,
)
from refute.models.contract import Asker, Message, Sampling, together
from refute.prompts import render
from refute.workspace.patches import touched_files
from refute.workspace.running import rejection
from refute_lab.baselines.edits import Form, read_edits

# -- files in a prompt -----------------------------------------------------------------------------


CONTEXT_TOKENS = 27_000
"""Of the files that SWT-Bench gives its zero-shot methods: what BM25 ranks highest for the issue's
text, tests included (section 5.1; SWE-bench's `bm25_27K`)."""


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file of the repository as a prompt shows it."""

    path: str
    text: str


def relevant(
    query: str,
    files: Mapping[str, str],
    *,
    tokens: int = CONTEXT_TOKENS,
    first: Sequence[str] = (),
    alone: bool = False,
) -> list[RankedFile]:
    """The files to show: those of `first`, then the highest ranked, whole, while they fit. `alone`:
    those of `first` and no others, where there are any.

    A file that does not fit is passed over for the next that does; of a `first` one that does not
    fit, the beginning is shown.
    """
    chosen: list[RankedFile] = []
    left = tokens
    for path in dict.fromkeys(p for p in first if p in files):
        text = _beginning(files[path], left - _cost(path, ""))
        if text:
            chosen.append(RankedFile(path, text))
            left -= _cost(path, text)
    if alone and chosen:
        return chosen
    smallest = 50
    for path in ranked(query, files):
        if left < smallest:
            break
        if path in first or not files[path].strip():
            continue
        cost = _cost(path, files[path])
        if cost <= left:
            chosen.append(RankedFile(path, files[path]))
            left -= cost
    return chosen


def _cost(path: str, text: str) -> int:
    """Tokens of a file in a prompt: its numbered text between two lines with its path."""
    return estimated_tokens(numbered(text)) + 2 * estimated_tokens(f"[start of {path}]\n")


def _beginning(text: str, tokens: int) -> str:
    """As many whole lines from the start as fit."""
    if estimated_tokens(numbered(text)) <= tokens:
        return text
    kept: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        tokens -= estimated_tokens(f"{number} {line}")
        if tokens < 0:
            break
        kept.append(line)
    return "".join(kept)


# -- zero shot -------------------------------------------------------------------------------------


GREEDY = Sampling(temperature=0.0, top_p=1.0, max_tokens=4096)
VARIED = Sampling(temperature=0.7, top_p=0.95, max_tokens=4096)
"""For several samples of one prompt (pass@k, LIBRO: T = 0.7, section 5.1)."""


FIX_TRIES = 5
"""Answers until a patch applies (Table 5's wrong patches)."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """One answer of the model, read as a patch of the original code."""

    answer: str
    patch: str
    """Unified diff, made by us from the answer's edits; "" where nothing of it could be used."""
    problems: tuple[str, ...] = ()
    """Unusable parts, a line each."""
    context_tokens: int = CONTEXT_TOKENS
    """Tokens of the repository that the prompt had room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptOptions:
    """Options of the zero-shot prompt, which LIBRO's drafts use as well."""

    context_tokens: int = parameter(
        CONTEXT_TOKENS, "Tokens of the repository in one prompt.", at_least=500
    )
    given_alone: bool = parameter(
        False, "Show the files of test_files and code_patch in place of those of BM25."
    )
    row_prompt: bool = parameter(
        False, "Ask the prompt that the dataset's row holds (its field `text`) instead of ours."
    )
    """The authors publish theirs with their data."""
    strict_diff: bool = parameter(
        False,
        "Take the edits of an answer as they are written, or none of them; whether a unified diff"
        " applies is left to git.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroshotOptions(PromptOptions):
    """Options of the zero-shot methods; their figures depend on them."""

    answers: int = parameter(1, "Answers to the prompt; the first is the prediction.", at_least=1)
    """More than one: those of pass@k, from which only an oracle can choose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroshotplusOptions(ZeroshotOptions):
    """The same, and how often a fix is asked for."""

    fix_tries: int = parameter(
        FIX_TRIES, "Asked for a fix: answers, until one applies.", at_least=1
    )


@method(
    "zeroshot",
    summary="BM25 context, one answer as a unified diff",
    asks_model=True,
    takes_given=True,
)
async def zeroshot(
    problem: IssueProblem, *, ctx: Context, options: ZeroshotOptions
) -> Reproduction:
    """ZeroShot (section 4.1)."""
    return await _answered(problem, ctx, options, None if options.strict_diff else "diff")


@method(
    "zeroshotplus",
    summary="the same with the custom diff",
    asks_model=True,
    takes_given=True,
    repairs=True,
)
async def zeroshotplus(
    problem: IssueProblem, *, ctx: Context, options: ZeroshotplusOptions
) -> Reproduction:
    """ZeroShotPlus (section 4.2). Asked for a fix: of Table 5's wrong patches (App. B)."""
    if ctx.task == "repair":
        return await _fixed(problem, ctx, options)
    return await _answered(problem, ctx, options, "custom")


async def _answered(
    problem: IssueProblem, ctx: Context, options: ZeroshotOptions, form: Form | None
) -> Reproduction:
    """One prompt; the first answer is the prediction."""
    samples = options.answers
    with await asyncio.to_thread(ctx.workspace) as workspace:
        original = Original(workspace, ctx.bounds)
        answers = await drafts(
            problem, original, ctx=ctx, form=form, samples=samples, options=options
        )
    predictions = tuple(
        IssuePrediction(problem.id, draft.patch, notes=draft.problems) for draft in answers
    )
    return Reproduction(
        prediction=predictions[0],
        steps=tuple(_step(draft) for draft in answers),
        alternatives=predictions if samples > 1 else (),
    )


async def _fixed(problem: IssueProblem, ctx: Context, options: ZeroshotplusOptions) -> Reproduction:
    """The first answer that changes code, of which the first is greedy and the others vary."""
    answers: list[ReadAnswer] = []
    prediction = fix_submission(problem.id, "")
    with await asyncio.to_thread(ctx.workspace) as workspace:
        original = Original(workspace, ctx.bounds)
        for number in range(options.fix_tries):
            answers += await drafts(
                problem,
                original,
                ctx=ctx,
                form="custom",
                samples=1,
                options=options,
                again=number,
            )
            patch, problems = answers[-1].patch, answers[-1].problems
            prediction = fix_submission(problem.id, patch, *problems)
            rejected = await asyncio.to_thread(rejection, workspace, prediction.patch)
            if prediction.patch and not rejected:
                break
    return Reproduction(prediction, tuple(_step(draft) for draft in answers))


async def drafts(
    problem: IssueProblem,
    original: Original,
    *,
    ctx: Context,
    form: Form | None,
    samples: int,
    options: PromptOptions,
    again: int = 0,
) -> list[ReadAnswer]:
    """`samples` answers to the zero-shot prompt, each read as a patch of the original code; `form`
    None: a diff that is taken as it is written.

    `again`: how often the same was asked before; the answers are others then.

    Where the prompt does not fit into the model's context, it is put again with half as much of the
    repository. Raises `ContextTooLong` where even a little is too much, and `InputError` where the
    row's own prompt is asked for and there is none.
    """
    sampling = GREEDY if samples == 1 and not again else VARIED
    tokens = options.context_tokens
    while True:
        prompt = await asyncio.to_thread(
            _prompt, problem, original, form=form, ctx=ctx, tokens=tokens, options=options
        )
        try:
            completions = await ctx.model.ask(
                [Message("user", prompt)], n=samples, first=max(0, again - 1), sampling=sampling
            )
            break
        except ContextTooLong:
            if options.row_prompt:
                raise
            tokens //= 2
            if tokens < LEAST_TOKENS:
                raise
    strict = options.strict_diff
    return [
        await asyncio.to_thread(_read, completion.text, original, form, tokens, strict)
        for completion in completions
    ]


def _read(
    answer: str, original: Original, form: Form | None, tokens: int, strict: bool
) -> ReadAnswer:
    """The edits of an answer as one patch of the original code."""
    if form is None:
        patch = written_diff(answer)
        return ReadAnswer(answer, patch, () if patch else ("the answer holds no diff",), tokens)
    applied = read_edits(answer, form, strict).apply(original.source)
    patch = "" if strict and applied.problems else applied.patch
    return ReadAnswer(answer, patch, tuple(applied.problems), tokens)


def _prompt(
    problem: IssueProblem,
    original: Original,
    *,
    form: Form | None,
    ctx: Context,
    tokens: int,
    options: PromptOptions,
) -> str:
    if options.row_prompt:
        if not problem.prompt:
            raise InputError(f"{problem.id}: row_prompt: the row has no field `text`")
        return problem.prompt
    issue, given = problem.text, ctx.given
    first = (*given.test_files, *touched_files(given.code_patch))
    sources, alone = original.sources(), options.given_alone
    files = relevant(issue, sources, tokens=tokens, first=first, alone=alone)
    name = "zeroshotplus" if form == "custom" else "zeroshot"
    return render(
        f"{name}_fix" if ctx.task == "repair" else name,
        issue=issue,
        files=shown(files),
        test_files=given.test_files,
        code_patch=given.code_patch,
        patch_may_be_wrong=given.patch_may_be_wrong,
    )


def shown(files: Sequence[RankedFile]) -> list[dict[str, str]]:
    """Files as the templates show them: path and numbered text."""
    return [{"path": file.path, "numbered": numbered(file.text)} for file in files]


def _step(draft: ReadAnswer) -> dict[str, Any]:
    return {
        "kind": "draft",
        "answer": draft.answer,
        "problems": list(draft.problems),
        "context_tokens": draft.context_tokens,
    }


# -- the diff of an answer as the model wrote it: nothing is repaired, `git apply` decides ---------
# ZeroShot of SWT-Bench is this (section 4.1): with it, and with the custom diff beside it, the
# paper's comparison of formats can be made.

_BLOCK = re.compile(
    r"^[ \t]*(?:(?P<fence>```+|~~~+)[ \t]*(?:diff|patch)[^\n]*|<(?P<tag>diff|patch)>[ \t]*)\n"
    r"(?P<text>.*?)^[ \t]*(?:(?P=fence)|</(?P=tag)>)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_HEADER = re.compile(r"^(?:diff --git |--- )", re.MULTILINE)


def written_diff(answer: str) -> str:
    """The first block of an answer that is marked as a diff or a patch, else all of it from its
    first header on; "" where it has neither."""
    text = answer.replace("\r\n", "\n")
    if (block := _BLOCK.search(text)) is not None:
        return block["text"]
    header = _HEADER.search(text)
    return "" if header is None else text[header.start() :].rstrip("\n") + "\n"


# -- libro -----------------------------------------------------------------------------------------


JUDGE = Sampling(temperature=0.0, top_p=1.0, max_tokens=512)
_SHORT = 1500
"""Characters of a draft, and of its run, where the judge's question would be too long."""
_ANSWER = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class JudgedDraft:
    """A draft that was run, and what the judge said of its failure (None: not asked)."""

    trial: TrialRun
    accepted: bool | None = None

    @property
    def rank(self) -> int:
        """0: the preferred cluster, 1: fails on the original code, 2: applies, 3: does not."""
        if not self.trial.applied:
            return 3
        return (0 if self.accepted else 1) if self.trial.failing else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LibroOptions(PromptOptions):
    """The method's options; its figures depend on them."""

    samples: int = parameter(5, "Drafts.", at_least=1)


@method(
    "libro",
    summary="drafts, run on the original code, chosen by a judge",
    asks_model=True,
    takes_given=True,
)
async def libro(problem: IssueProblem, *, ctx: Context, options: LibroOptions) -> Reproduction:
    """See the module's docstring.

    Raises `ContextTooLong` where the issue and a little of the repository, or of a draft, are too
    much for the model.
    """
    with await asyncio.to_thread(ctx.workspace) as workspace:
        original = Original(workspace, ctx.bounds)
        answers = await drafts(
            problem,
            original,
            ctx=ctx,
            form="custom",
            samples=options.samples,
            options=options,
        )
        # samples repeat each other: what a patch does on the original code is found out once
        ran: dict[str, TrialRun] = {}
        for patch in dict.fromkeys(draft.patch for draft in answers):
            ran[patch] = await asyncio.to_thread(original.attempt, patch)
        trials = [ran[draft.patch] for draft in answers]
        root = str(workspace.root)
    judged = await together(_judged(problem.text, trial, root, ctx.model) for trial in trials)
    best = chosen(judged)
    steps = [_libro_step(draft.answer, one) for draft, one in zip(answers, judged, strict=True)]
    if best is None:
        prediction = IssuePrediction(problem.id, "", notes=("no draft could be applied",))
    else:
        prediction = IssuePrediction(
            problem.id,
            best.trial.patch,
            confidence=_confidence(judged),
            tests=tuple(result.id for result in best.trial.failing),
        )
    return Reproduction(prediction, tuple(steps))


def chosen(judged: Sequence[JudgedDraft]) -> JudgedDraft | None:
    """The shortest of the best-ranked drafts; None where none applies. Ties: the earlier one."""
    usable = [one for one in judged if one.rank < 3]
    return min(usable, key=lambda one: (one.rank, len(one.trial.patch)), default=None)


def _confidence(judged: Sequence[JudgedDraft]) -> float:
    """Return the share of accepted drafts, by the rule of succession."""
    accepted = sum(one.rank == 0 for one in judged)
    return succession(accepted, len(judged)) if accepted else 0.0


def says_yes(answer: str) -> bool:
    """Return whether a judge says yes: its last "yes" or "no" counts; neither means no."""
    words = _ANSWER.findall(answer)
    return bool(words) and words[-1].lower() == "yes"


async def _judged(issue: str, trial: TrialRun, root: str, ask: Asker) -> JudgedDraft:
    if not trial.failing:
        return JudgedDraft(trial)
    try:
        answer = await opinion(issue, trial.patch, scrubbed(described(trial), root), ask)
    except ContextTooLong:
        short = scrubbed(described(trial, _SHORT), root)
        answer = await opinion(issue, shortened(trial.patch, _SHORT), short, ask)
    return JudgedDraft(trial, says_yes(answer))


async def opinion(issue: str, patch: str, run: str, ask: Asker) -> str:
    """The judge's answer: does a test fail for the issue's reason?"""
    prompt = render("libro_judge", issue=issue, patch=patch, run=run)
    (answer,) = await ask.ask([Message("user", prompt)], sampling=JUDGE)
    return answer.text


def _libro_step(answer: str, one: JudgedDraft) -> dict[str, Any]:
    return {
        "kind": "sample",
        "answer": answer,
        "patch": one.trial.patch,
        "rejected": one.trial.rejected,
        "failing": [result.id for result in one.trial.failing],
        "accepted": one.accepted,
    }
