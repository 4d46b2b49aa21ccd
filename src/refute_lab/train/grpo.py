"""Group relative policy optimization (arXiv 2402.03300) with our verdict as the reward, by TRL.

    refute train grpo DATA --model MODEL -o DIR

The model answers the prompt of `utgen` several times, each test is graded in the sandbox against
fault and reference (`refute_lab.train.reward`), and answers become likelier by how much better than
the others they were paid. What is in the folder: `refute_lab.train.run_folder`.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import ContextTooLong, InputError
from refute.function.llm.generation import test_request, user
from refute.sandbox.pool import SandboxPool
from refute_lab.datasets import Item, load
from refute_lab.train.reward import Credits, Reward, reward_for
from refute_lab.train.rough import Estimate, at_most
from refute_lab.train.run_folder import Report, Trained, run_trainer, silent
from refute_lab.train.settings import GrpoSettings, Resolved
from refute_lab.train.tokens import tokenizer_of
from refute_lab.train.trainer import arguments, trainer_of

if TYPE_CHECKING:
    from transformers import TrainerCallback


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

    def facts(self) -> dict[str, Any]:
        """For `settings.json`."""
        return {
            "sha256": self.digest,
            "rows": len(self.items),
            "too_long": self.long,
            "tokens": self.tokens,
        }


def read_problems(data: Path) -> dict[str, Item]:
    """The problems of a JSONL file (`refute_lab.datasets.jsonl`), each with its reference.

    Raises `InputError`.
    """
    if data.suffix != ".jsonl" or not data.is_file():
        raise InputError(f"{data}: must be a JSONL file of problems; `refute train data` makes it")
    items = {item.problem.id: item for item in load(str(data))}
    for name, item in items.items():
        if not item.key.reference:
            raise InputError(f"{data}: {name}: has no reference, by which a test could be paid")
    if not items:
        raise InputError(f"{data}: holds no problems")
    return items


def request(item: Item) -> str:
    """What the model is asked about a problem, as at inference."""
    [message] = test_request(item.problem, item.problem.code, "prompted")
    return message.content


def prepare(data: Path, settings: GrpoSettings) -> PreparedProblems:
    """Read the problems and measure their prompts. Raises `InputError`, `ModelUnavailable`."""
    items, lengths = read_problems(data), {}
    checkpoint = tokenizer_of(settings.model)
    if not checkpoint.has_template:
        raise InputError(f"{settings.model}: has no chat template, which `grpo` needs")
    room = settings.max_length - settings.max_completion
    for name, item in items.items():
        try:
            length = len(checkpoint.prompt([user(request(item))]))
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
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    return PreparedProblems(kept, sum(lengths.values()), len(items) - len(kept), digest)


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
    """Train, or go on training; see `sft.train`. `sandboxes`: that grade at a time."""
    settings = resolved.settings
    rows = [
        {"problem": name, "prompt": [{"role": "user", "content": request(item)}]}
        for name, item in prepared.items.items()
    ]
    with SandboxPool(sandboxes) as box:
        credits = Credits(settings.attack_credit, settings.right_credit)
        reward = reward_for(prepared.items, box, credits)

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
