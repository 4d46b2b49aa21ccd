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
    return _rendered("card.md.jinja", **data, shown=_SHOWN)


def _rendered(name: str, **variables: Any) -> str:
    """The text of a template of this folder; a variable that it misses is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("refute_lab.train", "."),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = lambda value: " ".join(str(value).split()).replace("|", "\\|")
    return environment.get_template(name).render(**variables)


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
    return _rendered(
        "model_card.md.jinja",
        settings=run["settings"],
        data=run["data"],
        origins=run.get("origins", {}),
        how=_HOW[run.get("training", "sft")],
        scores=scores,
        best=best,
        validation=validation.name,
        n=n,
        versions=_versions(),
    )


def _versions() -> str:
    found = []
    for name in _LIBRARIES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
