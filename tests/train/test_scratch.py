"""The small model that is trained from scratch: its tokenizer, and what is saved."""

from __future__ import annotations

import json
import random
from itertools import islice
from pathlib import Path

import pytest
from synthetic.corpus import corpus

for name in ("torch", "transformers", "tokenizers"):
    pytest.importorskip(name)


def test_the_tokenizer_that_is_loaded_is_the_one_that_was_trained(tmp_path: Path) -> None:
    """transformers takes its own class for any folder of a qwen2 model, with its own splitting."""
    from synthetic.scratch import build_tokenizer
    from transformers import AutoTokenizer, Qwen2Config

    rows = list(islice(corpus(random.Random(0)), 600))
    trained = build_tokenizer(tmp_path, rows, 500)
    Qwen2Config().save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert len(loaded) == len(trained)
    assert loaded.eos_token == "<|im_end|>"
    others = [
        "Ünïcode — 12,345 items;\n\n\tif x != 'DM':  # don't",
        "<|im_start|>user\nHALF of 'AL'",
    ]
    texts = [*others, *(text for row in rows for text in (row.prompt, row.completion))]
    for text in texts:
        ids = trained(text)["input_ids"]
        assert loaded(text)["input_ids"] == ids
        assert loaded.decode(ids) == text
    lengths = [len(loaded(row.prompt)["input_ids"]) for row in rows]
    assert max(lengths) < 60, "the prompts' own text is a few tokens"


def test_letters_and_digits_of_values_are_tokens_of_their_own(tmp_path: Path) -> None:
    from synthetic.scratch import build_tokenizer

    rows = list(islice(corpus(random.Random(0)), 600))
    tokenizer = build_tokenizer(tmp_path, rows, 500)
    for row in (row for row in rows if row.sort == "prompted"):
        pieces = tokenizer.convert_ids_to_tokens(tokenizer(row.completion)["input_ids"])
        values = [piece for piece in pieces if piece.isdigit() or set(piece) <= set("ABCDEFGHIJKL")]
        assert all(len(piece) == 1 for piece in values), pieces
        assert values, "an answer has values"


def test_what_is_saved_loads_and_learns_something(tmp_path: Path) -> None:
    import torch
    from synthetic.scratch import Scratch, pretrain
    from transformers import AutoModelForCausalLM

    torch.set_num_threads(1)
    settings = Scratch(
        kinds=("word",), hidden=16, layers=1, heads=2, vocabulary=400, batch=8, steps=30, warmup=2
    )
    records: list[dict[str, float]] = []
    measured = pretrain(tmp_path, settings, report=records.append)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert model.num_parameters() == measured["parameters"]
    assert records[-1]["step"] == 30
    assert records[-1]["loss"] < 6.4, "better than chance among the tokens"
    assert 0 <= measured["outputs"] <= 1
    saved = json.loads((tmp_path / "pretraining.json").read_text(encoding="utf-8"))
    assert saved["tokens"] == records[-1]["tokens"]
