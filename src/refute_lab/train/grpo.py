"""Group relative policy optimization (arXiv 2402.03300) with our verdict as the reward, by TRL.

    refute train grpo DATA --model MODEL -o DIR

The model answers the prompt of `utgen` several times, each test is graded in the sandbox against
fault and reference (`refute_lab.train.grpo`), and answers become likelier by how much better than
the others they were paid. What is in the folder: `refute_lab.train.run_folder`.

The verdict on a generated test as a reward: what training by reinforcement (GRPO) is paid.

An answer is paid 1 where reference and faulty code differ on its input and the output that it
states is the reference's; the reader is that of inference, the verdict the grader's, and all code
runs in the sandbox. What a model could write to be paid without that is paid nothing:

- code in the place of a value (`exit()`, an object that equals everything, an endless loop) is
  evaluated in the sandbox by itself, and only what crosses its border as plain data is a value;
- an input that needs names of the program, which could tell the two programs apart by looking at
  them, is none;
- nor is an expected exception, which inputs of the wrong type would be paid for;
- an input that the reference does not take, or on which it gives now this, now that, has no output.

With `reward=cure` or `reward=utrl` an answer is a suite, a file of asserts, and is paid by the
sampled programs of the row's field `programs` (`refute_lab.rewards.suites`): of CURE the private
tests tell which are right, of UTRL the reference is.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.problems import Call, Trust, UnitTest
from refute.core.remarks import remark
from refute.errors import ContextTooLong, InputError, LimitReached, Unavailable
from refute.function.llm.generation import read_proposal, shape_of, test_request, user
from refute.function.llm.results import NO_EXCEPTION, Output
from refute.models.contract import Completion, together
from refute.sandbox import Sandbox
from refute.sandbox.pool import AsyncSandbox, SandboxPool
from refute_lab.adapters import program_of, question_of, text_of
from refute_lab.benches.grade import TestVerdict, grade_program, grade_tests
from refute_lab.datasets import Item, load
from refute_lab.datasets.rows import read_rows
from refute_lab.rewards.suites import grade_suite
from refute_lab.train import GrpoSettings, Resolved
from refute_lab.train.run_folder import Report, Trained, arguments, run_trainer, silent, trainer_of
from refute_lab.train.tokens import Estimate, at_most, digest_of, facts_of, tokenizer_of

if TYPE_CHECKING:
    from transformers import TrainerCallback


# -- reward ----------------------------------------------------------------------------------------


NOTHING = TestVerdict(valid=False, attacks=False, accurate=False)

Reward = Callable[..., Awaitable[list[float]]]
"""As `trl.GRPOTrainer` takes it."""


@dataclass(frozen=True, slots=True)
class Credits:
    """Rewards for half a success, each in [0, 1); without them it is all or nothing."""

    attack: float = 0.0
    """The input attacks, the output is wrong."""
    right: float = 0.0
    """The output is right, the input does not attack."""


ALL_OR_NOTHING = Credits()


def paid(verdict: TestVerdict, credits: Credits = ALL_OR_NOTHING) -> float:
    """The reward for a verdict, in [0, 1]."""
    if verdict.both:
        return 1.0
    return credits.attack * verdict.attacks + credits.right * verdict.accurate


async def verdict_on(answer: str, item: Item, box: AsyncSandbox) -> TestVerdict:
    """The verdict on the unit test of an answer; an unreadable one has none of its parts.

    Raises `SandboxUnavailable`.
    """
    problem = item.problem
    said = await read_proposal(Completion(answer), problem, shape_of(problem), box, raises=False)
    if not isinstance(said.call, Call):
        return NOTHING
    # Without a readable output the input may attack all the same.
    stated = said.stated if isinstance(said.stated, Output) else Output(raises=NO_EXCEPTION)
    test = UnitTest(said.call, stated.value, stated.raises, Trust.PREDICTED, "model")
    twice = [test, replace(test)]  # a reference that rolls dice pays nobody
    graded = await box.do(lambda one: grade_tests(twice, problem, item.key, one))
    first, second = graded.verdicts
    return first if first == second else NOTHING


@dataclass(frozen=True, slots=True)
class Sampled:
    """Sampled programs, by which suites are paid."""

    kind: str
    """`cure` or `utrl`."""
    programs: Mapping[str, Sequence[str]]
    """By problem."""
    _sorted: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)

    async def paid(self, answer: str, item: Item, box: AsyncSandbox) -> float:
        """The reward of a suite. Raises `SandboxUnavailable`."""
        name = item.problem.id
        if name not in self._sorted:
            self._sorted[name] = await box.do(lambda one: self._told(item, one))
        found = await box.do(
            lambda one: grade_suite(
                program_of(answer), *self._sorted[name], entry_point=item.key.entry_point, box=one
            )
        )
        return found.cure if self.kind == "cure" else found.utrl

    def _told(self, item: Item, box: Sandbox) -> tuple[list[str], list[str]]:
        """The right programs and the wrong ones; UTRL counts all samples among these."""
        programs = self.programs[item.problem.id]
        if self.kind == "utrl":
            return [item.key.reference], list(programs)
        right = [code for code in programs if grade_program(code, item.key, box).passed]
        return right, [code for code in programs if code not in right]


def reward_for(
    items: Mapping[str, Item],
    box: AsyncSandbox,
    credits: Credits = ALL_OR_NOTHING,
    sampled: Sampled | None = None,
) -> Reward:
    """The reward function for `trl.GRPOTrainer`.

    `items`: problem and key by the name that the column `problem` of the trainer's rows holds.
    `sampled`: answers are suites, which these programs pay; None: single tests.
    """

    async def verdict(
        completions: Sequence[Any], problem: Sequence[str], **others: Any
    ) -> list[float]:
        async def one(pair: tuple[Any, str]) -> float:
            completion, name = pair
            try:
                if sampled is not None:
                    return await sampled.paid(text_of(completion), items[name], box)
                return paid(await verdict_on(text_of(completion), items[name], box), credits)
            except (Unavailable, LimitReached):
                raise
            except Exception as error:  # a resumed run would meet the same answer for ever
                remark([f"{name}: an answer is paid nothing: {type(error).__name__}: {error}"])
                return 0.0

        return list(await together(map(one, zip(completions, problem, strict=True))))

    return verdict


@dataclass(frozen=True, slots=True)
class PreparedProblems:
    """The problems of a run."""

    items: Mapping[str, Item]
    """By their ids."""
    tokens: int
    """Of their prompts."""
    long: int
    """Problems that were left out because their prompt leaves no room for an answer."""
    digest: str
    """Of the data file."""
    sampled: Sampled | None = None
    """Programs that suites are paid by."""

    def facts(self) -> dict[str, Any]:
        """For `settings.json`."""
        return facts_of(self.digest, len(self.items), self.long, self.tokens)


def read_problems(data: Path, reward: str = "verdict") -> dict[str, Item]:
    """The problems of a JSONL file (`refute_lab.datasets.functions`), each with its reference.

    `reward`: "cure" needs no reference. Raises `InputError`.
    """
    if data.suffix != ".jsonl" or not data.is_file():
        raise InputError(f"{data}: must be a JSONL file of problems; `refute train data` makes it")
    items = {item.problem.id: item for item in load(str(data))}
    for name, item in items.items():
        if not item.key.reference and reward != "cure":
            raise InputError(f"{data}: {name}: has no reference, by which a test could be paid")
    if not items:
        raise InputError(f"{data}: holds no problems")
    return items


def read_sampled(data: Path, reward: str) -> Sampled | None:
    """The sampled programs of a file of problems; None where tests are paid by a reference.

    Raises `InputError`.
    """
    if reward == "verdict":
        return None
    programs = {row.id("id", "task_id"): row.texts("programs") for row in read_rows(data)}
    if lacking := [name for name, found in programs.items() if not found]:
        raise InputError(f"{data}: {lacking[0]}: no `programs`, by which a suite could be paid")
    return Sampled(reward, programs)


def request(item: Item, reward: str = "verdict") -> str:
    """Return the question about a problem, as at inference."""
    if reward != "verdict":
        return question_of(item, "write_asserts")
    [message] = test_request(item.problem, item.problem.code, "prompted")
    return message.content


def prepare(data: Path, settings: GrpoSettings) -> PreparedProblems:
    """Read the problems and measure their prompts. Raises `InputError`, `ModelUnavailable`."""
    items, lengths = read_problems(data, settings.reward), {}
    checkpoint = tokenizer_of(settings.model)
    if not checkpoint.has_template:
        raise InputError(f"{settings.model}: has no chat template, which `grpo` needs")
    room = settings.max_length - settings.max_completion
    for name, item in items.items():
        try:
            length = len(checkpoint.prompt([user(request(item, settings.reward))]))
        except ContextTooLong:
            continue
        if length <= room:
            lengths[name] = length
    kept = {name: items[name] for name in lengths}
    if not settings.steps_of_epoch(len(kept)):
        raise InputError(
            f"{data}: {len(kept)} of {len(items)} prompts fit into {room} tokens; a step takes "
            f"{settings.batch // settings.generations}"
        )
    sampled = read_sampled(data, settings.reward)
    return PreparedProblems(
        kept, sum(lengths.values()), len(items) - len(kept), digest_of(data), sampled
    )


def estimate(prepared: PreparedProblems, settings: GrpoSettings) -> Estimate:
    """Steps exactly, tokens at most; how long answers take to write is not known before."""
    return at_most(len(prepared.items), prepared.long, prepared.tokens, settings)


def train(
    prepared: PreparedProblems,
    resolved: Resolved[GrpoSettings],
    output: Path,
    *,
    sandboxes: int,
    report: Report = silent,
    report_to: Sequence[str] = (),
) -> Trained:
    """Train, or resume a training; see `sft.train`. `sandboxes`: that grade at a time."""
    settings = resolved.settings
    rows = [
        {"problem": name, "prompt": [{"role": "user", "content": request(item, settings.reward)}]}
        for name, item in prepared.items.items()
    ]
    with SandboxPool(sandboxes) as box:
        credits = Credits(settings.attack_credit, settings.right_credit)
        reward = reward_for(prepared.items, box, credits, prepared.sampled)

        def make(callbacks: Sequence[TrainerCallback]) -> Any:
            return make_trainer(
                rows, reward, settings, output, callbacks=callbacks, report_to=report_to
            )

        return run_trainer(make, resolved, prepared.facts(), output, report=report)


def make_trainer(
    rows: Sequence[Mapping[str, Any]],
    reward: Reward,
    settings: GrpoSettings,
    output: Path,
    *,
    callbacks: Sequence[TrainerCallback] = (),
    report_to: Sequence[str] = (),
) -> Any:
    """TRL's trainer for the settings, with the model loaded and the adapter in place.

    `rows`: a `prompt` in TRL's conversational form, and what `reward` takes besides.
    """
    trl: Any = importlib.import_module("trl")  # has no types
    config = trl.GRPOConfig(
        **arguments(settings, output, settings.steps(len(rows)), report_to),
        beta=settings.beta,
        disable_dropout=not settings.lora_dropout,
        num_generations=settings.generations,
        max_completion_length=settings.max_completion,
        temperature=settings.temperature,
    )
    return trainer_of(
        trl.GRPOTrainer, settings, config, rows, callbacks=callbacks, reward_funcs=[reward]
    )
