"""Issues as Harbor tasks, run by Harbor itself: the oracle is paid, nothing and cheats are not.

    python benchmarks/harbor_trials.py TASKS --harbor VENV/bin/harbor [--only NAME]

TASKS: what `refute data export-harbor swt-lite ...` wrote, by a refute that was installed from the
wheel in IMAGES/wheels. Images are built and run in bubblewrap
(`harbor_environment.py`), since no engine of containers is needed then; refute comes as a wheel of
this checkout. Harbor's environment needs refute, too: `adapters.py --only harbor` makes one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CHEATS = ("anything", "fails", "chance", "exits", "key")
"""Of `harbor_agents.BODIES`, which needs Harbor to be imported."""
AGENTS = {
    "oracle": ["-a", "oracle"],
    "nop": ["-a", "nop"],
    **{name: ["-a", "harbor_agents:Cheat", "--ak", f"which={name}"] for name in CHEATS},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--harbor", required=True)
    parser.add_argument("--only", action="append", choices=AGENTS)
    parser.add_argument("--images", type=Path, default=Path("/tmp/refute-harbor"))
    args = parser.parse_args()
    wheels = args.images / "wheels"
    build = ["pip", "wheel", "-q", "--no-deps", "-w", wheels, HERE.parent]
    subprocess.run([sys.executable, "-m", *build], check=True)
    good = True
    print(f"{'agent':<10}{'paid':<12}errors", flush=True)
    for agent in args.only or AGENTS:
        with tempfile.TemporaryDirectory() as jobs:
            run(args, wheels, agent, Path(jobs))
            trials = [json.loads(p.read_text()) for p in Path(jobs).glob("*/*/result.json")]
        errors = [one for one in trials if one["exception_info"] or not one["verifier_result"]]
        paid = [one["verifier_result"]["rewards"]["reward"] for one in trials if one not in errors]
        count = f"{sum(paid):.0f} of {len(trials)}"
        print(f"{agent:<10}{count:<12}{len(errors)}", flush=True)
        for one in errors:
            print(f"  {one['task_name']}: {one['exception_info']['exception_message'][:300]}")
        wanted = float(agent == "oracle")
        good &= bool(paid) and not errors and all(one == wanted for one in paid)
    return 0 if good else 1


def run(args: argparse.Namespace, wheels: Path, agent: str, jobs: Path) -> None:
    """One job of Harbor over all tasks."""
    where = ["-e", "harbor_environment:BwrapEnvironment", "--ek", f"images={args.images}"]
    command = [args.harbor, "run", "-p", args.tasks, *where, "--ek", f"wheels={wheels}"]
    command += [*AGENTS[agent], "-o", jobs, "-n", "2", "-y"]
    given = {"PYTHONPATH": str(HERE), "LITELLM_LOCAL_MODEL_COST_MAP": "True", "TERM": "dumb"}
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **given})
    if done.returncode:
        raise SystemExit(f"harbor: {done.stdout[-2000:]}{done.stderr[-2000:]}")


if __name__ == "__main__":
    sys.exit(main())
