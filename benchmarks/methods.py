"""The UTGen paper's tables for a model of yours: every method, and the ablations, by one command.

    python benchmarks/methods.py MODEL [--data DIR] [--out runs/methods] [--limit N]
                                 [--trained SPEC] [--preset paper] [--datasets A,B]
                                 [--tables 3,4,figure4,bounds] [--dry-run] [-- OPTIONS OF BENCH...]

    python benchmarks/methods.py openai:NAME -- --base-url http://127.0.0.1:8000/v1

MODEL makes the edits, and writes the tests but for *utgen*, which is left out unless `--trained`
names a model that was trained to write them. What is run, with `refute bench`:

- `1`: attack rate and output accuracy of random, prompted and utgen, without vote and debugging
  (Tables 1 and 6; preset `released-intrinsic` where `--preset released` is given);
- `2`: debugging with random, prompted, no-ut and utgen (Table 2);
- `3`: the best of ten programs by tests of random, prompted and utgen, and by a reward model, over
  HumanEval+ and MBPP+ whatever `--datasets` says (Table 3);
- `4`: random and utgen without vote, without backtracking, and as they are (Table 4);
- `figure4`: random and utgen with 1 to 15 tests and more (`--sizes`);
- `bounds`: debugging with right failing tests, and with gold outputs, as upper bounds.

Each problem is worked on once (`--runs`), with three tests: the denominators are the paper's, 510
tests and 170 programs for MBPP+Fix (Hard). `--preset` names the settings (`core.presets`; `none`:
ours). Everything is resumable: the same command goes on, and answers are never paid for twice. At
the end `refute report` compares all of it with the paper: the page is beside the folder
(`runs/methods.html`).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

DATASETS = ("he-fix", "mbpp-fix", "mbpp-fix-hard")
JUDGED = ("humaneval+", "mbpp+")
TABLES = ("1", "2", "3", "4", "figure4", "bounds")
SIZES = (1, 3, 5, 7, 9, 12, 15)
UNAVAILABLE = 3


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        usage="%(prog)s MODEL [OPTIONS] [-- OPTIONS OF BENCH...]",
    )
    parser.add_argument("model")
    parser.add_argument("--trained", metavar="SPEC")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/methods"))
    parser.add_argument("--limit", type=int)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--tables", default="1,2")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--dry-run", action="store_true", help="Print the commands only.")
    # Split here: argparse takes nothing behind "--" once an option has followed MODEL.
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    more = arguments[split + 1 :]
    if unknown := set(options.tables.split(",")) - set(TABLES):
        parser.error(f"--tables {min(unknown)}: there are {', '.join(TABLES)}")
    print(vars(options))
    done = []
    for name, own in variants(options):
        run = options.out / name
        command = [sys.executable, "-m", "refute", "bench", *own, "--run", str(run)]
        command += ["--model", options.model, "--runs", str(options.runs), *more]
        command += ["--data", str(options.data)] if options.data else []
        command += ["--limit", str(options.limit)] if options.limit else []
        print("$", " ".join(command[2:]), flush=True)
        if options.dry_run:
            continue
        status = subprocess.run(command).returncode
        if status not in (0, UNAVAILABLE):
            sys.exit(status)
        if (run / "journal.jsonl").exists():
            done.append(str(run))
    if done:
        page = options.out.with_suffix(".html")
        subprocess.run(
            [sys.executable, "-m", "refute", "report", *done, "-o", str(page)], check=True
        )


def variants(options: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Name and own options of each run; what two tables have in common is run once."""
    preset = [] if options.preset == "none" else ["--preset", options.preset]
    alone = ["--preset", "released-intrinsic"] if options.preset == "released" else preset
    writing = {name: ["--method", name] for name in ("random", "prompted")}
    if options.trained:
        writing["utgen"] = ["--method", "utgen", "--tester", options.trained]
    of_ablations = {name: own for name, own in writing.items() if name != "prompted"}
    if not options.trained:
        of_ablations["prompted"] = writing["prompted"]
    tables = options.tables.split(",")
    if "3" in tables:
        for name, (_, method, *tester) in {**writing, "reward": ["", "reward"]}.items():
            judge = ["--method", f"judge:{method}", *tester, *preset]
            for dataset in JUDGED:
                yield f"{dataset}-judge-{name}", [dataset, *judge]
    seen = set()
    for dataset in options.datasets.split(","):
        found: list[tuple[str, list[str]]] = []
        if "1" in tables:
            quick = ["--set", "m=0", "--set", "vote=false", *alone]
            found += [(f"intrinsic-{name}", [*own, *quick]) for name, own in writing.items()]
        if "2" in tables:
            debugging = {**writing, "no-ut": ["--method", "no-ut"]}
            found += [(name, [*own, *preset]) for name, own in debugging.items()]
        for name, own in of_ablations.items():
            if "4" in tables:
                found += [
                    (name, [*own, *preset]),
                    (f"{name}-no-vote", [*own, *preset, "--set", "vote=false"]),
                    (f"{name}-no-backtrack", [*own, *preset, "--set", "backtrack=false"]),
                ]
            if "figure4" in tables:
                for size in options.sizes.split(","):
                    found.append((f"{name}-n{size}", [*own, *preset, "--set", f"n={size}"]))
        if "bounds" in tables:
            right = ["--method", "given", "--set", "failing_tests=3", *preset]
            found.append(("right-tests", right))
            for name, own in writing.items():
                found.append(
                    (f"{name}-gold-outputs", [*own, "--set", "gold_outputs=true", *preset])
                )
        for name, own in found:
            if (dataset, name) not in seen:
                seen.add((dataset, name))
                yield f"{dataset}-{name}", [dataset, *own]


if __name__ == "__main__":
    main(sys.argv[1:])
