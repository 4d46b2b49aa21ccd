"""Every cheat and its honest twin through every adapter, each in the framework's own environment.

    python benchmarks/adapters.py [--only NAME] [--environments DIR] [--rllm CHECKOUT]

Frameworks that cannot be installed together get an environment each (by `uv`, kept in DIR and used
again), where `adapters_inside.py` runs. `--rllm`: a checkout of rLLM, which no index has. Bar: 0 of
the cheats paid, all twins paid.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from refute.workspace.interpreters import find_interpreter

HERE = Path(__file__).parent
INSTALLED = {
    "trl": [["torch"], ["-e", "{refute}[train]"]],
    "verl": [
        ["torch", "ray", "omegaconf", "hydra-core", "tensordict", "transformers", "codetiming"],
        ["aiohttp", "orjson", "pandas", "pyarrow", "datasets", "peft", "dill", "cachetools"],
        ["torchdata", "tensorboard", "wandb", "packaging"],
        ["--no-deps", "verl"],  # its own dependencies pin versions of some of these
    ],
    "verifiers": [["verifiers"]],
    "nemo_gym": [["nemo-gym"]],
    "rllm": [["pydantic", "PyYAML", "openai", "tqdm", "requests"], ["--no-deps", "{rllm}"]],
    "inspect_ai": [["inspect-ai", "openai"]],
    "harbor": [["harbor"]],
}
"""What `uv pip install` is given, in turn; refute itself comes first."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=INSTALLED)
    parser.add_argument("--environments", type=Path, default=Path("/tmp/refute-adapters"))
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--rllm", help="a checkout of rLLM")
    parser.add_argument("--cheat", action="append", default=[], help="only this one")
    args = parser.parse_args()
    good = True
    print(f"{'framework':<12}{'version':<14}{'cheats paid':<14}{'twins paid':<13}seconds")
    for name in args.only or INSTALLED:
        if name == "rllm" and not args.rllm:
            print(f"{name:<12}not run: give --rllm CHECKOUT")
            continue
        try:
            python = environment(name, args)
        except subprocess.CalledProcessError as error:
            print(f"{name:<12}not installed: {error.stderr.strip().splitlines()[0]}")
            good = False
            continue
        where = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            [python, HERE / "adapters_inside.py", name, *args.cheat],
            capture_output=True, text=True, env=where,
        )  # fmt: skip
        if done.returncode:
            print(f"{name:<12}failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
            good = False
            continue
        told = json.loads(done.stdout.splitlines()[-1])
        count = told["cheats"]
        cheats, twins = f"{len(told['paid'])} of {count}", f"{told['twins']} of {count}"
        print(f"{name:<12}{told['version']:<14}{cheats:<14}{twins:<13}{told['seconds']}")
        for which in ("paid", "unpaid twins"):
            if told[which]:
                print(f"{'':<12}{which}: {', '.join(told[which])}")
                good = False
    return 0 if good else 1


def environment(name: str, args: argparse.Namespace) -> Path:
    """The interpreter of a framework's environment, which is made where it is not there.

    Raises `CalledProcessError`.
    """
    folder = args.environments / name
    python, made = folder / "bin" / "python", folder / "made"
    if not made.is_file():
        own = find_interpreter(args.python)
        _uv("venv", "-q", "--clear", "--python", own, folder)
        for given in [["-e", "{refute}", "numpy"], *INSTALLED[name]]:
            words = [word.format(refute=HERE.parent, rllm=args.rllm) for word in given]
            _uv("pip", "install", "-q", "--python", python, *words)
        made.touch()
    return python


def _uv(*words: str | Path) -> None:
    subprocess.run(["uv", *words], check=True, capture_output=True, text=True)


if __name__ == "__main__":
    sys.exit(main())
