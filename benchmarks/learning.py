"""Does training as in UTGen do what it is said to do? Measured without a download.

    python benchmarks/learning.py --cpu DIR     # reduced: words only, about 0.4 M parameters
    python benchmarks/learning.py --gpu DIR     # full: strings, lists and numbers too, about 7 M

A small Qwen2 is trained from scratch until it answers the prompts (`synthetic`). From
there on the commands are those of any user, and each is printed:

    refute train data   solved tasks -> faults, attacking inputs, answers, all by the small model
    refute train sft    a LoRA adapter on these rows
    refute train select its best checkpoint by problems that were held out of the rows

and with --further, on top of that adapter and each by itself:

    refute train dpo    on pairs of the attempts (which are those of the base model)
    refute train grpo   with the verdict on its own tests as reward

Then, on tasks whose steps in this order were in neither training: attack rate, output accuracy and
both, of

- random:    the base model, shown the description alone;
- prompted:  the base model, shown the faulty code and asked to break it;
- utgen:     the same prompt, the adapter on top;
- dpo, grpo: the same with the adapters of --further;

one test a task, three runs, as in the paper's table of intrinsic metrics. Every stage after the
first resumes where it was stopped. What `prompted` does is a consequence of the corpus
(`synthetic.corpus.USUAL`: half of the answers about faulty code find the fault, half
believe the code); what is measured is what training on the model's own attempts changes. Nothing
here looks at the held-out tasks before the last step.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from synthetic.family import Part, SyntheticTask, tasks
from synthetic.scratch import Scratch, pretrain
from synthetic.steps import Kind

from refute_lab.train.select import SHOWN, score

RUNS = 3
MAX_TOKENS = 120
METHODS = ("random", "prompted", "utgen")
FURTHER = {
    "dpo": ("--set", "epochs=2"),
    "grpo": ("--set", "epochs=1", "--set", "batch=64", "--set", f"max_completion={MAX_TOKENS}"),
}
"""Options of the trainings that go on from the adapter of `sft`."""


@dataclass(frozen=True, slots=True)
class Size:
    """One setting of the benchmark."""

    scratch: Scratch
    solved: int
    """Tasks for `refute train data`."""
    test: int
    """Held-out problems."""
    sft: tuple[str, ...]
    """Options of `refute train sft`; rank, alpha and dropout are the paper's. Its learning rate,
    5e-6, is for models a thousand times larger."""
    further: str
    """Learning rate of the trainings on top."""


SIZES = {
    "cpu": Size(
        Scratch(kinds=("word",), hidden=96, layers=3, steps=1000),
        solved=400,
        test=150,
        sft=("--set", "learning_rate=3e-3", "--set", "epochs=4", "--set", "micro_batch=16"),
        further="5e-4",
    ),
    "gpu": Size(
        Scratch(hidden=256, layers=8, heads=8, batch=256, steps=6000),
        solved=2000,
        test=500,
        sft=("--set", "learning_rate=1e-3", "--set", "epochs=4", "--set", "micro_batch=16"),
        further="2e-4",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--cpu", dest="size", action="store_const", const="cpu")
    size.add_argument("--gpu", dest="size", action="store_const", const="gpu")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--base", type=Path, help="a model that was trained from scratch before")
    parser.add_argument("--further", action="store_true", help="dpo and grpo as well")
    given = parser.parse_args()
    started = time.monotonic()
    # Read when torch is loaded: threads that wait sleep. On a busy machine they would mostly spin.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    setting = SIZES[given.size]
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    base: Path = given.base or folder / "base"
    if not (base / "pretraining.json").exists():
        print("pre-training", setting.scratch, flush=True)
        pretrain(base, setting.scratch, report=lambda record: print(record, flush=True))
    adapters = {"utgen": _utgen(folder, base, setting)}
    if given.further:
        for name, options in FURTHER.items():
            adapters[name] = _further(name, folder, base, setting, options)
    figures = _figures(folder, base, adapters, setting)
    print(f"\n{setting.test} held-out tasks; means of {RUNS} runs in %")
    print(f"{'':10}" + "".join(f"{key:>24}" for key in SHOWN))
    for method, row in figures.items():
        cells = [f"{100 * value:.1f} ± {100 * error:.1f}" for value, error in row.values()]
        print(f"{method:10}" + "".join(f"{cell:>24}" for cell in cells))
    document = {
        "size": given.size,
        "seconds": time.monotonic() - started,
        "cpu_seconds": _cpu(),
        "pretraining": json.loads((base / "pretraining.json").read_text(encoding="utf-8")),
        "selection": json.loads((folder / "run" / "selection.json").read_text(encoding="utf-8")),
        "figures": figures,
    }
    (folder / "result.json").write_text(json.dumps(document, indent=2) + "\n")
    print(f"{document['seconds']:.0f} s and {document['cpu_seconds']:.0f} CPU s in this call")


def _utgen(folder: Path, base: Path, setting: Size) -> Path:
    """UTGen's recipe as a user runs it; the folder of the adapter."""
    solved = _tasks("bootstrap", setting.scratch.kinds, setting.solved, faulty=False)
    source = _write(
        folder / "solved.jsonl",
        [
            {
                "id": task.id,
                "description": task.description,
                "entry_point": task.problem().entry_point,
                "solution": task.code,
            }
            for task in solved
        ],
    )
    data, run = folder / "data", folder / "run"
    _refute("train", "data", source, "-o", data, "--model", f"hf:{base}", "--set", "validation=0.1")
    _refute("train", "sft", data, "-o", run, "--model", base, *setting.sft)
    _refute("train", "select", run, "--validation", data, "--set", f"max_tokens={MAX_TOKENS}")
    return run / "best"


def _further(name: str, folder: Path, base: Path, setting: Size, options: Sequence[str]) -> Path:
    """A training on top of the adapter of `sft`; the folder of its own."""
    data, run = folder / "data", folder / name
    on_top = ("--set", f"adapter={folder / 'run' / 'best'}", "--set", "micro_batch=16")
    rate = ("--set", f"learning_rate={setting.further}")
    _refute("train", name, data, "-o", run, "--model", base, *on_top, *rate, *options)
    _refute("train", "select", run, "--validation", data, "--set", f"max_tokens={MAX_TOKENS}")
    return run / "best"


def _refute(*arguments: object) -> None:
    words = [str(argument) for argument in arguments]
    print("\n$ refute", *words, flush=True)
    # Other datasets have nothing to do with these tasks; comparing with them would take a while.
    environment = {name: value for name, value in os.environ.items() if name != "REFUTE_DATA"}
    before, start = _cpu(), time.monotonic()
    subprocess.run([sys.executable, "-m", "refute", *words], env=environment, check=True)
    print(f"({time.monotonic() - start:.0f} s, {_cpu() - before:.0f} CPU s)", flush=True)


def _figures(
    folder: Path, base: Path, adapters: Mapping[str, Path], setting: Size
) -> dict[str, dict[str, tuple[float, float]]]:
    """Method -> figure -> the mean over the runs, and the standard error over problems.

    The runs share their problems, so that their mean is hardly surer than one run about other
    problems: the error is the mean of the runs' own.
    """
    problems = _write(folder / "test.jsonl", _problems(setting.scratch.kinds, setting.test))
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for name in dict.fromkeys((*METHODS, *adapters)):
        spec = f"{base}+{adapters[name]}" if name in adapters else str(base)
        method = name if name in METHODS else "utgen"
        results = [
            score(
                spec, folder / "test" / f"{name}-{run}", problems,
                method=method, n=1, seed=run, max_tokens=MAX_TOKENS,
            ).figures
            for run in range(RUNS)
        ]  # fmt: skip
        found[name] = {
            key: (fmean(r[key].value for r in results), fmean(r[key].stderr for r in results))
            for key in SHOWN
        }
        print(name, {key: [round(r[key].value, 3) for r in results] for key in SHOWN}, flush=True)
    return found


def _problems(kinds: Sequence[Kind], count: int) -> list[dict[str, Any]]:
    """Faulty held-out tasks in the form that `refute bench` reads."""
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
        for task in _tasks("test", kinds, count, faulty=True, fit=_shows)
    ]


def _tasks(
    part: Part,
    kinds: Sequence[Kind],
    count: int,
    *,
    faulty: bool,
    fit: Callable[[SyntheticTask], bool] = lambda task: True,
) -> list[SyntheticTask]:
    """Tasks of a part, each description once."""
    found: dict[str, SyntheticTask] = {}
    for task in tasks(random.Random(part), faulty=faulty, kinds=kinds, part=part):
        if fit(task):
            found.setdefault(task.description, task)
        if len(found) == count:
            break
    return list(found.values())


def _shows(task: SyntheticTask) -> bool:
    """Whether some of the private inputs show the fault."""
    inputs = [args[0] for args in task.key().inputs]
    return any(task.trace(value)[-1] != task.right.trace(value)[-1] for value in inputs)


def _write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _cpu() -> float:
    """CPU seconds of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
