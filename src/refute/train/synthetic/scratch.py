"""A small Qwen2 with a tokenizer of its own, trained from scratch on the family's corpus."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from refute.train.synthetic.corpus import Row, corpus
from refute.train.synthetic.family import KINDS, Kind

__all__ = ["Scratch", "build_tokenizer", "pretrain"]

_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_SAMPLE = 3000
"""Rows that the tokenizer is trained on."""
_CONTEXT = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """Size of the model, and how it is trained."""

    kinds: tuple[Kind, ...] = KINDS
    """Of the family's tasks."""
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    vocabulary: int = 1500
    batch: int = 32
    """Rows in one step."""
    steps: int = 1600
    rate: float = 3e-3
    warmup: int = 100
    seed: int = 0


def build_tokenizer(path: Path, rows: Sequence[Row], size: int) -> Any:
    """A byte-level BPE of the rows that makes short sequences, and save it into a folder.

    Words of a line may share a token, digits and letters of values stand alone, and lines that all
    prompts of one sort share are one token.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?[0-9]|[A-H](?![a-z])|\n"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    inner.decoder = decoders.ByteLevel()
    fixed = _fixed(rows)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator((_without(row, fixed) for row in rows), trainer)
    inner.add_tokens([AddedToken(text, normalized=False) for text in fixed])
    tokenizer = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=inner,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=_CONTEXT,
    )
    tokenizer.chat_template = _TEMPLATE
    path.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(path)
    return tokenizer


def pretrain(
    path: Path, settings: Scratch, *, report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Train a model on the corpus and save it into a folder; returns what was measured.

    On CUDA where there is one, in bfloat16; else on the CPU, where that would not pay at this
    size. `report` gets one record every 20 steps.
    """
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM, get_cosine_schedule_with_warmup

    rng = random.Random(settings.seed)
    source = corpus(rng, kinds=settings.kinds)
    tokenizer = build_tokenizer(path, list(itertools.islice(source, _SAMPLE)), settings.vocabulary)
    torch.manual_seed(settings.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    made: Any = Qwen2ForCausalLM
    model = made(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=settings.hidden,
            intermediate_size=settings.hidden * 8 // 3 // 16 * 16,
            num_hidden_layers=settings.layers,
            num_attention_heads=settings.heads,
            num_key_value_heads=settings.heads // 2,
            max_position_embeddings=_CONTEXT,
            tie_word_embeddings=True,
            initializer_range=0.04,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    ).to(device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.rate, betas=(0.9, 0.95), weight_decay=0.05
    )
    schedule = get_cosine_schedule_with_warmup(optimizer, settings.warmup, settings.steps)
    start, tokens, losses = time.monotonic(), 0, []
    done = 0
    for done, (ids, labels) in enumerate(
        itertools.islice(_batches(source, tokenizer, settings.batch), settings.steps), 1
    ):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            loss = model(
                input_ids=ids.to(device),
                attention_mask=(ids != tokenizer.pad_token_id).to(device),
                labels=labels.to(device),
            ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        tokens += ids.numel()
        losses.append(loss.detach())
        if done % 20 == 0:
            seconds = time.monotonic() - start
            mean = float(torch.stack(losses).mean())
            losses.clear()
            report({"step": done, "loss": mean, "tokens": tokens, "seconds": seconds})
    model.save_pretrained(path)
    measured = {
        **{f"scratch_{name}": value for name, value in asdict(settings).items()},
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": done,
        "tokens": tokens,
        "seconds": time.monotonic() - start,
    }
    (path / "pretraining.json").write_text(json.dumps(measured, indent=2) + "\n")
    return measured


def _batches(source: Iterator[Row], tokenizer: Any, size: int) -> Iterator[tuple[Any, Any]]:
    """Token ids and labels, padded on the right; labels of prompts and padding are -100."""
    import torch

    while True:
        rows = sorted(
            (_encoded(row, tokenizer) for row in itertools.islice(source, 8 * size)),
            key=lambda pair: len(pair[0]) + len(pair[1]),
        )
        batches = [rows[at : at + size] for at in range(0, len(rows), size)]
        random.Random(len(rows[0][0])).shuffle(batches)
        for batch in batches:
            width = max(len(p) + len(c) for p, c in batch)
            ids = torch.full((len(batch), width), tokenizer.pad_token_id)
            labels = torch.full((len(batch), width), -100)
            for at, (prompt, completion) in enumerate(batch):
                end = len(prompt) + len(completion)
                ids[at, :end] = torch.tensor([*prompt, *completion])
                labels[at, len(prompt) : end] = torch.tensor(completion)
            yield ids, labels


def _encoded(row: Row, tokenizer: Any) -> tuple[list[int], list[int]]:
    prompt = f"<|im_start|>user\n{row.prompt}<|im_end|>\n<|im_start|>assistant\n"

    def ids(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    return ids(prompt), ids(f"{row.completion}<|im_end|>")


def _fixed(rows: Iterable[Row]) -> list[str]:
    """Runs of lines that all prompts of one sort share, and single lines of answers as well."""
    groups: dict[str, list[set[str]]] = {}
    texts: dict[str, str] = {}
    for row in itertools.islice(rows, 200):
        sort = row.prompt.rsplit("\n", 12)[1]
        groups.setdefault(sort, []).append(set(row.prompt.split("\n")))
        texts[sort] = row.prompt
    found: set[str] = set()
    for sort, lines in groups.items():
        common = set.intersection(*lines)
        run: list[str] = []
        for line in [*texts[sort].split("\n"), None]:
            if line is not None and line in common:
                run.append(line)
                continue
            text = "\n".join(run).strip("\n")
            if len(text) > 8:
                found.add(text)
            run = []
        found |= {line for line in common if line.startswith("#")}
    return sorted(found)


def _without(row: Row, fixed: Iterable[str]) -> str:
    text = f"{row.prompt}\n{row.completion}"
    for piece in sorted(fixed, key=len, reverse=True):
        text = text.replace(piece, "")
    return text
