"""The commands that run a paper's tables, as docs/utgen.md gives them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_command_of_all_tables_plans_what_it_says() -> None:
    text = (ROOT / "docs/utgen.md").read_text().replace("\\\n", " ")
    given = re.search(r"^python (benchmarks/methods\.py .*?)\s*#", text, re.MULTILINE)
    own, _, more = given[1].partition(" -- ")
    done = subprocess.run(
        [sys.executable, *own.split(), "--dry-run", "--", *more.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    planned = [line for line in done.stdout.splitlines() if line.startswith("$ refute bench")]
    assert all("--base-url" in line for line in planned), "what stands behind -- is bench's"
    for part in ("vote=false", "backtrack=false", "n=15", "gold_outputs=true", "failing_tests=3"):
        assert any(part in line for line in planned), part
    assert all("--runs 1" in line for line in planned), "the denominators are the paper's"
    for judge in ("random", "prompted", "utgen --tester", "reward"):
        for dataset in ("humaneval+", "mbpp+"):
            start = f"$ refute bench {dataset} --method judge:{judge} "
            assert any(line.startswith(start) for line in planned), start
