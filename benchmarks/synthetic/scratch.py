"""A small Qwen2 with a tokenizer of its own, trained from scratch on the family's corpus."""

from __future__ import annotations

import itertools
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from refute_lab.train.run_folder import without_noise
from synthetic.corpus import CorpusRow, corpus
from synthetic.steps import KINDS, Kind

__all__ = ["Scratch", "build_tokenizer", "pretrain"]

_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_CONTEXT = 512
_SAMPLE = 3000
"""Rows that the tokenizer is trained on."""
_VALUE = re.compile(r"[A-L](?=[A-L'\"])|(?<!\n)\d")
"""A letter (`LETTERS`) or digit of a value, as opposed to one of the prompts' own text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scratch:
    """Size of the model, and how it is trained."""

    kinds: tuple[Kind, ...] = KINDS
    """Of the family's tasks."""
    hidden: int = 128
    layers: int = 4
    heads: int = 4
    vocabulary: int = 600
    """Tokens, besides the pieces of text that are one token each."""
    batch: int = 32
    """Rows in one step."""
    steps: int = 1000
    rate: float = 3e-3
    warmup: int = 30
    seed: int = 0


def build_tokenizer(path: Path, rows: Sequence[CorpusRow], size: int) -> Any:
    """A tokenizer that makes short sequences of the rows; saved into a folder.

    It is Qwen2's own class with merges trained on the rows: transformers loads the tokenizer of any
    model of type `qwen2` as that class, which brings its own splitting of words along. Letters and
    digits of values stand alone, and the pieces of text that rows have in common are a token each.
    """
    from tokenizers import AddedToken, pre_tokenizers
    from transformers import Qwen2Tokenizer

    empty: Any = Qwen2Tokenizer(
        eos_token="<|im_end|>", pad_token="<|endoftext|>", model_max_length=_CONTEXT
    )
    tokenizer: Any = empty.train_new_from_iterator(
        # Digits never merge in Qwen2's splitting. With one in its place no letter of a value does.
        (_VALUE.sub("0", f"{row.prompt}\n{row.completion}") for row in rows),
        size,
        new_special_tokens=["<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in _pieces(rows)])
    tokenizer.chat_template = _TEMPLATE
    path.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(path)
    return tokenizer


def pretrain(
    path: Path, settings: Scratch, *, report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Train a model on the corpus and save it into a folder; returns what was measured.

    On CUDA where there is one, in bfloat16; else on the CPU, where that would not pay at this
    size. Every 100 steps `report` gets a record, with what the model gets right of validation tasks
    when it is shown the answer up to there (`_right`).
    """
    import torch

    with without_noise():
        from transformers import Qwen2Config, Qwen2ForCausalLM, get_cosine_schedule_with_warmup

    source = corpus(random.Random(settings.seed), kinds=settings.kinds)
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
            num_key_value_heads=settings.heads,
            max_position_embeddings=_CONTEXT,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    ).to(device)
    optimizers = _optimizers(model, settings.rate)
    schedules = [
        get_cosine_schedule_with_warmup(one, settings.warmup, settings.steps) for one in optimizers
    ]
    held = corpus(random.Random(-1), kinds=settings.kinds, part="validation")
    shown = list(itertools.islice(held, 256))
    start, cpu, tokens, losses = time.monotonic(), time.process_time(), 0, []
    batches = _batches(source, tokenizer, settings.batch)
    for step, (ids, labels) in enumerate(itertools.islice(batches, settings.steps), 1):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
            # Rows are padded on the right, where causal attention does not look: no mask.
            loss = model(input_ids=ids.to(device), labels=labels.to(device)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, schedule in zip(optimizers, schedules, strict=True):
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
        tokens += ids.numel()
        losses.append(loss.detach())
        if step % 100 == 0 or step == settings.steps:
            mean = float(torch.stack(losses).mean())
            losses.clear()
            record = {"step": step, "loss": mean, "tokens": tokens}
            report(
                {
                    **record,
                    "seconds": round(time.monotonic() - start),
                    "cpu": round(time.process_time() - cpu),
                    **_right(model, shown, tokenizer),
                }
            )
    model.save_pretrained(path)
    measured = {
        **{f"scratch_{name}": value for name, value in asdict(settings).items()},
        "parameters": sum(p.numel() for p in model.parameters()),
        "tokens": tokens,
        "seconds": time.monotonic() - start,
        "cpu_seconds": time.process_time() - cpu,
        **_right(model, shown, tokenizer),
    }
    (path / "pretraining.json").write_text(json.dumps(measured, indent=2) + "\n")
    return measured


def _optimizers(model: Any, rate: float) -> list[Any]:
    """Muon for the matrices inside, AdamW for the rest (K. Jordan's division of labour)."""
    import torch

    inner = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    chosen = set(map(id, inner))
    rest = [p for p in model.parameters() if id(p) not in chosen]
    return [
        torch.optim.Muon(inner, lr=rate, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=3 * rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def _batches(source: Iterator[CorpusRow], tokenizer: Any, size: int) -> Iterator[tuple[Any, Any]]:
    """Token ids and labels, padded on the right; the label of padding is -100."""
    import torch

    shuffle = random.Random(0)
    while True:
        rows = sorted(
            (
                [*itertools.chain(*_encoded(row, tokenizer))]
                for row in itertools.islice(source, 16 * size)
            ),
            key=len,
        )
        batches = [rows[at : at + size] for at in range(0, len(rows), size)]
        shuffle.shuffle(batches)
        for batch in batches:
            width = max(map(len, batch))
            ids = torch.full((len(batch), width), tokenizer.pad_token_id)
            for at, row in enumerate(batch):
                ids[at, : len(row)] = torch.tensor(row)
            yield ids, torch.where(ids == tokenizer.pad_token_id, -100, ids)


def _right(model: Any, rows: Sequence[CorpusRow], tokenizer: Any) -> dict[str, float]:
    """Shares in [0, 1] of rows in which the model predicts every token of a part, shown those
    before: `outputs` (all that follows the call of a test for a description) and `diagnoses` (the
    two steps, of answers that name the fault).
    """
    import torch

    found: dict[str, list[bool]] = {"outputs": [], "diagnoses": []}
    model.eval()
    for row in rows:
        if row.sort == "random":
            name, begin, end = "outputs", "### Output", "\0"
        elif "The code:" in row.completion:
            name, begin, end = "diagnoses", "The task:", "Error Pattern:"
        else:
            continue
        prompt, answer = _encoded(row, tokenizer)
        # A token may reach over the mark: what counts is which token completes it.
        shown = [tokenizer.decode(answer[:at]) for at in range(len(answer) + 1)]
        first = next(at for at, text in enumerate(shown) if begin in text)
        last = next((at for at, text in enumerate(shown) if end in text), len(answer))
        with torch.inference_mode():
            ids = torch.tensor([[*prompt, *answer]], device=model.device)
            said = model(input_ids=ids).logits[0, len(prompt) - 1 : -1].argmax(-1).tolist()
        found[name].append(said[first:last] == answer[first:last])
    model.train()
    return {name: sum(all_) / max(1, len(all_)) for name, all_ in found.items()}


def _encoded(row: CorpusRow, tokenizer: Any) -> tuple[list[int], list[int]]:
    prompt = f"<|im_start|>user\n{row.prompt}<|im_end|>\n<|im_start|>assistant\n"
    return _ids(prompt, tokenizer), _ids(f"{row.completion}<|im_end|>", tokenizer)


def _ids(text: str, tokenizer: Any) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def _pieces(rows: Sequence[CorpusRow]) -> list[str]:
    """What stands between values in at least one row of two hundred, whole and line by line.

    Where two begin at the same place the tokenizer takes the longer.
    """
    counts: Counter[str] = Counter({"user\n": len(rows), "assistant\n": len(rows)})
    for row in rows:
        parts = {*_VALUE.split(row.prompt), *_VALUE.split(row.completion)}
        lines = {line for part in parts for line in part.splitlines(keepends=True)}
        counts.update(parts | lines)
    common = {piece for piece, count in counts.items() if count >= len(rows) / 200}
    # An empty value stands between the same pieces as any other.
    return sorted(piece for piece in common if len(piece) > 1 and '""' not in piece)
