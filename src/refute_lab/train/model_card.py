"""The model card of a trained adapter: how it was made, how good it is, how it is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from refute_lab.train.select import Score

_HOW = {
    "sft": "trained as in UTGen (arXiv 2502.01619)",
    "dpo": "trained by direct preference optimization on pairs of a model's own tests",
    "grpo": "trained by group relative policy optimization, the verdict on its tests as reward",
}
_LIBRARIES = ("refute", "torch", "transformers", "peft", "trl")


def model_card(
    run: Mapping[str, Any], scores: Sequence[Score], best: Score, *, validation: Path, n: int
) -> str:
    """Markdown with the header that PEFT and the hub read. `run`: the content of settings.json."""
    settings, data = run["settings"], run["data"]
    model = settings["model"]
    rows = [
        "| " + " | ".join([f"**{s.name}**" if s is best else s.name, *_shares(s)]) + " |"
        for s in scores
    ]
    origins = run.get("origins", {})
    values = [f"| {name} | {value} | {origins.get(name, '')} |" for name, value in settings.items()]
    return f"""---
base_model: {model}
library_name: peft
tags: [unit-tests, utgen, lora]
---

# A generator of failing unit tests for `{model}`

A LoRA adapter, {_HOW[run.get("training", "sft")]}:
shown a task and faulty code, it writes one unit test whose input the code gets wrong, with the
output that is right.

## Use

```
refute hunt FILE.py --method utgen --model hf:{model}+PATH_OF_THIS_FOLDER
vllm serve {model} --enable-lora --max-lora-rank {settings["lora_rank"]} \\
    --lora-modules utgen=PATH_OF_THIS_FOLDER
```

## Validation

`{validation.name}`, {n} tests for each problem, temperature 0.7, no vote. The checkpoint in bold is
this one; it was chosen by accuracy ∩ attack. Standard errors in brackets.

| | attack rate | output accuracy | accuracy ∩ attack |
|---|---|---|---|
{chr(10).join(rows)}

These are figures of the checkpoint that was chosen by them, so they flatter it a little; for an
unbiased figure run `refute bench` on problems that had no part in this.

## Training

{data["rows"]:,} rows, {data["tokens"]:,} tokens (SHA-256 of the file {data["sha256"][:16]}…),
{data["too_long"]} rows too long. {_versions()}.

| setting | value | from |
|---|---|---|
{chr(10).join(values)}
"""


def _shares(score: Score) -> list[str]:
    return [f"{100 * f.value:.1f} ({100 * f.stderr:.1f})" for f in score.figures.values()]


def _versions() -> str:
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
