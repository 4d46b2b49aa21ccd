"""Which of the papers' models a run's model is, read from its name. The only place that does so.

`openai:Qwen/Qwen2.5-Coder-7B-Instruct`, `qwen2.5-coder-7b-instruct` and a folder of that name
(`hf:`) are the paper's "Qwen2.5 7B"; a base model, another size or family, or a quantized copy is
not. A server may serve a model under any name (`base`): then nothing matches, and the user says
what it is (`refute report --paper-model`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

PAPER_MODELS = {
    "Llama3 8B": ({"llama", "3", "8b", "instruct"}, {"meta"}),
    "Llama3.1 8B": ({"llama", "3.1", "8b", "instruct"}, {"meta"}),
    "Qwen2.5 7B": ({"qwen", "2.5", "coder", "7b", "instruct"}, set()),
    "Qwen2.5 32B": ({"qwen", "2.5", "coder", "32b", "instruct"}, set()),
    "GPT-4o": ({"gpt", "4o"}, {"2024-05-13", "2024-08-06", "2024-11-20"}),
    "DeepSeek V3": ({"deepseek", "v3"}, {"ai"}),
    "GPT-4": ({"gpt", "4"}, {"1106", "preview"}),
    "GPT-4o mini": ({"gpt", "4o", "mini"}, {"2024-07-18"}),
    "Claude 3 Haiku": ({"claude", "3", "haiku"}, {"20240307"}),
    "Claude 3.5 Sonnet": ({"claude", "3.5", "sonnet"}, {"20240620", "20241022"}),
    "Mixtral 8x22B": ({"mixtral", "8x22b"}, {"instruct", "v0.1"}),
    "Mistral Large 2": ({"mistral", "large", "2"}, set()),
}
"""A paper's model -> the words that its name must hold, and those that it may hold besides."""

_WORD = re.compile(r"\d{4}-\d{2}-\d{2}|\d+x\d+b|v?\d+(?:\.\d+)+|v\d+|\d+b\b|\d+o\b|[a-z]+|\d+")
_VERSION = re.compile(r"(?<=\b\d)-(?=\d\b)")
"""`claude-3-5-sonnet`: 3.5."""


def paper_model(spec: str | None) -> str | None:
    """The paper's name of the model that `--model` names; None where it is none of the papers'."""
    if spec is None:
        return None
    words = set(_words(spec))
    for name, (needed, allowed) in PAPER_MODELS.items():
        if needed <= words <= needed | allowed:
            return name
    return None


def _words(spec: str) -> Iterator[str]:
    """Words of the last part of a path or an id: `hf:a/Meta-Llama-3-8B-Instruct` -> meta, llama, …

    An adapter (`hf:BASE+ADAPTER`) is another model than its base, so it stays among the words.
    """
    provider, colon, rest = spec.partition(":")
    name = rest if colon and provider.isalpha() else spec
    name = name.rstrip("/").rsplit("/", 1)[-1].lower()
    yield from _WORD.findall(_VERSION.sub(".", name))
