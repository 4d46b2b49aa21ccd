"""Does training as in UTGen do what it is said to do? Measured without a download.

    python benchmarks/learning.py --cpu DIR     # reduced: strings only, about 0.3 M parameters
    python benchmarks/learning.py --gpu DIR     # full: strings, lists and numbers, about 6 M

A small Qwen2 is trained from scratch until it answers the prompts (`refute.train.synthetic`), then
fine-tuned as in UTGen with LoRA on faults that it has not seen, with the inputs that attack and the
right outputs; the checkpoint is chosen on validation tasks. Then, on tasks whose steps in this
order were in neither training: attack rate, output accuracy and both, of

- random:    the base model, shown the description alone;
- prompted:  the base model, shown the faulty code and asked to break it;
- utgen:     the same prompt, the adapter on top;

as in the paper's table of intrinsic metrics. Every stage after the first goes on where it was
stopped. What
`prompted` does is a consequence of the corpus (`refute.train.synthetic.corpus.USUAL`: half of the
answers about faulty code find the fault, half believe the code); what is measured is what training
changes.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from refute.train.scoring import score
from refute.train.select import SHOWN, select
from refute.train.settings import resolve
from refute.train.sft import prepare, train
from refute.train.synthetic.corpus import utgen_rows
from refute.train.synthetic.family import Kind, Part, Task, tasks
from refute.train.synthetic.scratch import Scratch, pretrain

CPU = Scratch(kinds=("string",), hidden=96, layers=3, heads=4, steps=600)
GPU = Scratch(hidden=256, layers=6, heads=8, batch=256, steps=6000)
SFT = {
    "cpu": {"learning_rate": 2e-3, "epochs": 3.0, "batch": 16, "micro_batch": 16},
    "gpu": {"learning_rate": 1e-3, "epochs": 10.0, "batch": 16, "micro_batch": 16},
}
"""The paper's 5e-6 is for models a thousand times larger; rank, alpha and dropout are its own."""
TASKS = {"cpu": 1000, "gpu": 4000}
"""Tasks that the training rows come from, with two faults each."""
PROBLEMS = {"cpu": (30, 100), "gpu": (100, 500)}
"""Problems to choose the checkpoint by, and to test on."""
MAX_TOKENS = 160


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--cpu", dest="size", action="store_const", const="cpu")
    size.add_argument("--gpu", dest="size", action="store_const", const="gpu")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--base", type=Path, help="a model that was trained from scratch before")
    given = parser.parse_args()
    started = time.monotonic()
    settings = CPU if given.size == "cpu" else GPU
    folder: Path = given.folder
    base: Path = given.base or folder / "base"
    if not (base / "pretraining.json").exists():
        print("pre-training", settings, flush=True)
        print(pretrain(base, settings, report=_report(500)), flush=True)
    rows, validation, test = _data(folder, settings.kinds, given.size)
    resolved = resolve(str(base), SFT[given.size])
    print("\n".join(resolved.lines()), flush=True)
    prepared = prepare(rows, resolved.settings)
    print(f"{len(prepared.rows)} rows, {prepared.tokens} tokens", flush=True)
    print(train(prepared, resolved, folder / "sft", report=_report(50)), flush=True)
    chosen = select(folder / "sft", validation, max_tokens=MAX_TOKENS, progress=print)
    specs = {
        "random": str(base),
        "prompted": str(base),
        "utgen": f"{base}+{chosen.path}",
    }
    figures = {}
    for method, spec in specs.items():
        result = score(
            spec, folder / "test" / method, test, method=method, max_tokens=MAX_TOKENS
        )  # fmt: skip
        figures[method] = {key: result.figures[key] for key in SHOWN}
    print(f"\n{chosen.best} of {len(chosen.scores) - 1}; {PROBLEMS[given.size][1]} held-out tasks")
    print(f"{'':10}" + "".join(f"{key:>24}" for key in SHOWN))
    for method, row in figures.items():
        cells = [f"{100 * f.value:.1f} ± {100 * f.stderr:.1f}" for f in row.values()]
        print(f"{method:10}" + "".join(f"{cell:>24}" for cell in cells))
    document = {
        "size": given.size,
        "seconds": time.monotonic() - started,
        "best": chosen.best,
        "figures": {
            m: {k: [f.value, f.stderr] for k, f in row.items()} for m, row in figures.items()
        },
    }
    (folder / "result.json").write_text(json.dumps(document, indent=2) + "\n")
    print(f"{document['seconds']:.0f} s in this call")


def _data(folder: Path, kinds: Sequence[Kind], size: str) -> tuple[Path, Path, Path]:
    """Training rows, validation problems and test problems; no task is in two of them."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {"prompt": row.prompt, "completion": row.completion}
        for row in utgen_rows(random.Random("utgen"), TASKS[size], kinds=kinds)
    ]
    counts = PROBLEMS[size]
    return (
        _write(folder / "utgen.jsonl", rows),
        _write(folder / "validation.jsonl", _problems("validation", kinds, counts[0])),
        _write(folder / "test.jsonl", _problems("test", kinds, counts[1])),
    )


def _problems(part: Part, kinds: Sequence[Kind], count: int) -> list[dict[str, Any]]:
    """Faulty tasks, each description once, whose fault some of the private inputs show."""
    found: dict[str, Task] = {}
    for task in tasks(random.Random(part), faulty=True, kinds=kinds, part=part):
        right = task.right
        inputs = [args[0] for args in task.key().inputs]
        if any(task.trace(value)[-1] != right.trace(value)[-1] for value in inputs):
            found.setdefault(task.description, task)
        if len(found) == count:
            break
    return [
        {
            "id": task.id,
            "entry_point": task.problem().entry_point,
            "description": task.description,
            "signature": task.signature,
            "code": task.code,
            "reference": task.right.code,
            "inputs": [list(args) for args in task.key().inputs],
        }
        for task in islice(found.values(), count)
    ]


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _report(every: int) -> Callable[[dict[str, Any]], None]:
    def report(record: dict[str, Any]) -> None:
        if record["step"] % every == 0:
            print({key: record[key] for key in ("step", "loss")}, flush=True)

    return report


class _Raw(argparse.RawDescriptionHelpFormatter):
    """The module's docstring as it is."""


if __name__ == "__main__":
    main()
