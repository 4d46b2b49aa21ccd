"""Pull requests of real packages through the action's own script: what it takes.

    python benchmarks/pull_request.py CLONES --python ENV/bin/python [--count 4] [--seed 0]

`CLONES` and `ENV` as for `harden_history.py`. Pull requests that were merged since 2024 are drawn
until, of each package, `--count` change functions. Of each the merged commit is checked out as a
branch and `origin/main` is its parent; `action/pull_request.py` runs with a made-up `GITHUB_*`
environment and the action's default inputs, without a token; then `refute harden --since
origin/main`. Seconds (CPU seconds behind them) and what was said are printed for each.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harden_history import PACKAGES, git

from refute.core.starting import start_module

ROOT = Path(__file__).resolve().parents[1]


def drawn(clone: Path, package: str, seed: int) -> list[str]:
    """Merged pull requests that touch the package, in the order that they are taken."""
    form = "--format=%H %s"
    listed = git(clone, "log", "--first-parent", "-m", "--since=2024-01-01", form, "--", package)
    commits = [
        line.split()[0] for line in listed.splitlines() if "#" in line and "[pre" not in line
    ]
    return random.Random(seed).sample(commits, len(commits))


def timed(command: list[str], folder: Path, env: dict[str, str]) -> tuple[int, str, str]:
    """Status, stdout, and seconds with CPU seconds."""
    start, before = time.monotonic(), os.times()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    spent = os.times()
    cpu = sum(spent[2:4]) - sum(before[2:4])
    return done.returncode, done.stdout, f"{time.monotonic() - start:.0f} ({cpu:.0f})"


def measured(folder: Path, python: Path, subject: str) -> bool:
    """One pull request, as a row; False: it changes no function."""
    with tempfile.TemporaryDirectory() as name:
        outputs = {key: str(Path(name) / key) for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        event = Path(name) / "event.json"
        event.write_text(json.dumps({"pull_request": {"number": 1}}))
        env = os.environ | outputs
        env |= {"GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "main", "INPUT_PYTHON": str(python)}
        env |= {"GITHUB_EVENT_PATH": str(event), "INPUT_SARIF_FILE": f"{name}/found.sarif"}
        script = [sys.executable, "-I", str(ROOT / "action" / "pull_request.py")]
        status, said, diff = timed(script, folder, env)
        out = Path(outputs["GITHUB_OUTPUT"])
        found = out.read_text().split() if out.exists() else ["no output"]
    if "no function or method changed" in said or "no difference" in said.partition("::")[0]:
        return False
    summary = next((line for line in said.splitlines() if " -> " in line), said[-200:])
    harden = start_module("refute", "harden", "--since", "origin/main", "--json")
    code, document, hardening = timed([*harden, "--python", str(python)], folder, dict(os.environ))
    offers = len(json.loads(document)["tests"]) if code in (0, 1) else f"status {code}"
    said = f"{status}, {found[0]}: {summary.partition(': ')[2]}"
    print(f"| {folder.name}: {subject} | {diff} | {said} | {hardening} | {offers} |", flush=True)
    return True


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("clones", type=Path)
    options.add_argument("--python", type=Path, required=True)
    options.add_argument("--count", type=int, default=4)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    print("| pull request | action, s (CPU) | what it says | harden, s (CPU) | tests |")
    print("|---|---|---|---|---|")
    for name, package in PACKAGES.items():
        with tempfile.TemporaryDirectory(prefix="refute-pull-") as scratch:
            folder = Path(scratch) / name
            git(Path(scratch), "clone", "-q", str((given.clones / name).resolve()), name)
            done = 0
            for commit in drawn(folder, package, given.seed):
                git(folder, "checkout", "-q", "--force", "-B", "topic", commit)
                git(folder, "update-ref", "refs/remotes/origin/main", f"{commit}^1")
                if name == "humanize":  # which its build makes
                    (folder / package / "_version.py").write_text('__version__ = "1"\n')
                subject = git(folder, "log", "-1", "--format=%s").strip()[:60]
                done += measured(folder, given.python, subject)
                if done == given.count:
                    break


if __name__ == "__main__":
    main()
