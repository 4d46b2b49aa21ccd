"""A policy of some thousand weights whose words are what a caller says: real training, no download.

Shared by `adapters_inside.py` and `grpo_cheats.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def tiny_tokenizer(words: Sequence[str]) -> Any:
    """A tokenizer whose tokens are whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = {word: index for index, word in enumerate(["<pad>", "<end>", *words])}
    inner = Tokenizer(models.WordLevel(known, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<end>", padding_side="left"
    )


def tiny_model(tokenizer: Any, *, seed: int = 0) -> Any:
    """A random Qwen2 for it, whose words are nearly equally likely at first."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(seed)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
            eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None, tie_word_embeddings=False,
        )
    )  # fmt: skip
