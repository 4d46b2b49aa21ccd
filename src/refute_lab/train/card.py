"""The data card: what the data is made of, why rows fell out, licences, contamination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute_lab.train.data import BuiltData, DataSettings
from refute_lab.train.filters import MEASURE
from refute_lab.train.stages import answer_counts

if TYPE_CHECKING:
    from refute_lab.train.select import Score


TITLES = {
    "stage0": "0: tasks of the source → solutions",
    "stage1": "I: solutions → faults",
    "stage2": "II: faults → inputs that tell them apart",
    "stage3": "III: inputs → rows with an answer",
}
"""Name of a stage -> what goes in and what comes out."""
_SHOWN = 20
"""Contaminated tasks that are named."""


def figures(
    built: BuiltData, settings: DataSettings, *, source: str, model: str | None, sets: Sequence[str]
) -> dict[str, Any]:
    """The card as data. `sets`: the evaluation sets that were compared with; () for none."""
    return {
        "source": source,
        "model": model,
        "settings": asdict(settings),
        "stages": [
            {
                "stage": stage.name,
                "title": TITLES[stage.name],
                "in": stage.taken,
                "out": stage.made,
                "fell_out": dict(stage.dropped.most_common()),
            }
            for stage in built.stages
        ],
        "rows": {
            "train": len(built.rows),
            "validation_problems": len(built.validation),
            "problems": len(built.problems),
            "faults_by": _counted(built.rows, "fault_by"),
            "inputs_by": _counted(built.rows, "input_by"),
        },
        "preferences": answer_counts(
            [answers for _, _, answers in built.answers.values()], built.preferences
        ),
        "licences": dict(Counter(s.licence or "not stated" for s in built.solutions).most_common()),
        "origins": dict(Counter(s.origin or "not stated" for s in built.solutions).most_common()),
        "contamination": {
            "checked": bool(sets),
            "measure": MEASURE,
            "evaluation_sets": list(sets),
            "removed": len(built.contaminated),
            "pairs": [{"task": name, **asdict(match)} for name, match in built.contaminated],
        },
    }


def card(data: Mapping[str, Any]) -> str:
    """The card as Markdown, from `figures`."""
    settings, rows = data["settings"], data["rows"]
    parts = [
        "# Training data for unit test generation (UTGen)",
        f"Made by `refute train data` from `{data['source']}`. Each row is the prompt of "
        "the method `utgen` and an answer in its form. Expected outputs are what the reference "
        "code returned in the sandbox, never what a model said.",
        _table(
            ("", ""),
            [
                ("rows in train.jsonl", rows["train"]),
                ("pairs in preferences.jsonl", data["preferences"]["pairs"]),
                ("problems in problems.jsonl", rows["problems"]),
                ("problems in validation.jsonl", rows["validation_problems"]),
                ("faults by", _listed(rows["faults_by"])),
                ("inputs by", _listed(rows["inputs_by"])),
                ("model that was asked", data["model"] or "none"),
                ("faults for each solution", settings["faults"]),
                ("share of faults by the model", settings["by_model"]),
                ("attempts at an input for each fault", settings["attempts"]),
                ("rationales", settings["rationales"]),
                ("seed", settings["seed"]),
            ],
        ),
        "## Stages",
        _table(("stage", "in", "out"), [(s["title"], s["in"], s["out"]) for s in data["stages"]]),
        "## What fell out\n\nStages I to III count drafts (mutants, answers, inputs), not rows.",
        _table(
            ("stage", "reason", "number"),
            [
                (s["stage"], reason, count)
                for s in data["stages"]
                for reason, count in s["fell_out"].items()
            ],
        ),
        "## Preferences",
        _preferences(data["preferences"]),
        "## Licences and origins",
        "As the source states them, for each solution; the data is under the terms of its source.",
        _table(
            ("licence", "origin of", "solutions"),
            [
                *((name, "", count) for name, count in data["licences"].items()),
                *(("", name, count) for name, count in data["origins"].items()),
            ],
        ),
        "## Contamination",
        _contamination(data["contamination"]),
    ]
    return "\n\n".join(parts) + "\n"


def _preferences(found: Mapping[str, Any]) -> str:
    if not found["answers_read"]:
        return "None: pairs are made of a model's attempts at an input (`--set inputs=model`)."
    return (
        "Pairs of the model's own attempts at one fault: the chosen one attacks and its output is "
        "right, the rejected one can be read and is not.\n\n"
    ) + _table(
        ("", ""),
        [
            ("attempts with a whole test and a verdict", found["answers_read"]),
            ("... that attack", found["attack"]),
            ("... whose output is right", found["right"]),
            ("... both", found["attack_and_right"]),
            ("faults with both kinds", found["faults_with_a_pair"]),
            ("pairs in preferences.jsonl", found["pairs"]),
            ("rejected for", _listed(found["rejected_for"])),
        ],
    )


def _contamination(found: Mapping[str, Any]) -> str:
    if not found["checked"]:
        return (
            "**Not checked**: no evaluation set was there. Figures of a model that is trained on "
            "this data may be too good. Set REFUTE_DATA or name them by `--set evaluation=FILE`, "
            "and make it again."
        )
    sets = ", ".join(found["evaluation_sets"])
    text = f"Compared with: {sets}. Measure: {found['measure']}. Removed: {found['removed']} tasks."
    pairs = found["pairs"][:_SHOWN]
    if not pairs:
        return text
    rows = [
        (p["task"], p["name"], f"{p['part']}, {p['measure']}", f"{p['value']:.2f}") for p in pairs
    ]
    return text + "\n\n" + _table(("task", "evaluation problem", "measure", "value"), rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    def line(cells: Iterable[Any]) -> str:
        texts = (" ".join(str(cell).split()).replace("|", "\\|") for cell in cells)
        return f"| {' | '.join(texts)} |"

    return "\n".join([line(head), line("---" for _ in head), *map(line, rows)])


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "-"


def _counted(rows: Iterable[Mapping[str, Any]], name: str) -> dict[str, int]:
    return dict(Counter(row[name] for row in rows).most_common())


# -- model card ------------------------------------------------------------------------------------


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
