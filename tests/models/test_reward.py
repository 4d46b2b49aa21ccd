"""Reward models, on a tiny random sequence classifier made on the spot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from refute.errors import ContextTooLong, ModelUnavailable
from refute_lab.models.reward import RewardModel, open_reward, shared_reward

from .tiny import CONTEXT, save_tokenizer

torch.set_num_threads(1)  # threads that wait for one another crawl on a busy machine

ANSWERS = ["hello", "def add(a, b):\n    return a + b", "", "x " * 40, "the expected output"]


def build(path: Path, labels: int = 1) -> Path:
    from transformers import Qwen2Config, Qwen2ForSequenceClassification

    tokenizer = save_tokenizer(path)
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        initializer_range=0.3,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.eos_token_id,  # as many real ones: what ends a turn also pads
        num_labels=labels,
    )
    Qwen2ForSequenceClassification(config).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("reward") / "m")


@pytest.fixture
def scorer(folder: Path) -> Iterator[RewardModel]:
    opened = open_reward(f"hf:{folder}")
    yield opened
    asyncio.run(opened.close())


def by_hand(folder: Path, prompt: str, answer: str) -> float:
    """One answer without padding: the score at the last token of the conversation."""
    from transformers import AutoModel, AutoTokenizer
    from transformers import AutoModelForSequenceClassification as Classifier

    tokenizer = AutoTokenizer.from_pretrained(folder)
    turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer}]
    ids = tokenizer.apply_chat_template(turns, return_tensors="pt", return_dict=True)
    body = AutoModel.from_pretrained(folder)
    head = Classifier.from_pretrained(folder).score
    with torch.inference_mode():
        hidden = body(**ids).last_hidden_state[0, -1]
        return float(head(hidden)[0])


def test_scores_are_those_of_each_answer_alone(scorer: RewardModel, folder: Path) -> None:
    scores = asyncio.run(scorer.score("write a test", ANSWERS))
    expected = [by_hand(folder, "write a test", answer) for answer in ANSWERS]
    assert scores == pytest.approx(expected, abs=1e-4)
    assert len({round(score, 3) for score in scores}) == len(ANSWERS)


def test_concurrent_calls_keep_their_own(scorer: RewardModel) -> None:
    async def at_once() -> list[list[float]]:
        return await asyncio.gather(*[scorer.score(f"task {n}", ANSWERS) for n in range(6)])

    async def one_by_one() -> list[list[float]]:
        return [await scorer.score(f"task {n}", ANSWERS) for n in range(6)]

    together, alone = asyncio.run(at_once()), asyncio.run(one_by_one())
    for ours, theirs in zip(together, alone, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)


def test_problems_of_a_run_share_one_model(folder: Path) -> None:
    assert shared_reward(f"hf:{folder}") is shared_reward(f"hf:{folder}")


def test_too_long(scorer: RewardModel) -> None:
    with pytest.raises(ContextTooLong):
        asyncio.run(scorer.score("x", ["short", "word " * CONTEXT]))


async def test_closing(folder: Path) -> None:
    opened = open_reward(str(folder))
    await opened.score("x", ["y"])
    await opened.close()
    await opened.close()
    with pytest.raises(ModelUnavailable, match="closed"):
        await opened.score("x", ["y"])


def test_a_language_model_is_not_a_reward_model(tiny_model: Path) -> None:
    """transformers would score with a random head."""
    with pytest.raises(ModelUnavailable, match=r"score\.weight is missing.*not a reward model"):
        asyncio.run(open_reward(str(tiny_model)).score("x", ["y"]))
