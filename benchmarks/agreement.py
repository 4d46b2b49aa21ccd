"""Do our verdicts agree with the benchmarks' own? Lists every disagreement.

    python benchmarks/agreement.py --data DIR --peer /path/to/venv/bin/python [--only NAME]

`--peer` is an interpreter with `evalplus` and numpy (``pip install evalplus`` in a venv of its
own).

- humaneval+, mbpp+: every canonical solution must pass (no peer).
- he-fix: each faulty program, beside `evalplus.eval.untrusted_check` (pass or fail).
- mbpp-fix-hard: each faulty program, beside the dataset's own assertion code, input by input.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

from refute.errors import SandboxUnavailable
from refute.sandbox.local import LocalSandbox
from refute_lab.benches.grade import STOP_AFTER, ProgramGrade, grade_program
from refute_lab.benches.oracle import expected_outputs
from refute_lab.datasets import Item, load
from refute_lab.datasets.mbpp import STARTS_HARD
from refute_lab.datasets.rows import find_file, read_rows
from refute_lab.figures import mean


def grades(
    items: list[Item], box: LocalSandbox, stop_after: int | None = STOP_AFTER
) -> dict[str, ProgramGrade]:
    """Our verdicts by problem."""
    result = {}
    for item in items:
        truth = expected_outputs(item.key, box)
        for index, outcome in truth.invalid:
            print(f"  {item.problem.id}: input {index} not graded: the reference ends in {outcome}")
        for attempt in range(3):
            try:
                grade = grade_program(
                    item.problem.code, item.key, box, truth=truth, stop_after=stop_after
                )
                break
            except SandboxUnavailable as error:
                print(f"  {item.problem.id}: {error}")
                if attempt == 2:
                    raise
        result[item.problem.id] = grade
    return result


def peer_verdicts(rows: list[dict], peer: str, data: Path) -> dict[str, list[bool]]:
    """The reference's verdicts by problem."""
    plus = find_file(data, "HumanEvalPlus", without=("OriginFmt",))
    script = Path(__file__).with_name("peer_verdicts.py")
    done = subprocess.run(
        [peer, str(script)],
        input="".join(json.dumps(row) + "\n" for row in rows),
        env=os.environ | {"HUMANEVAL_OVERRIDE_PATH": str(plus)},
        capture_output=True,
        text=True,
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"id"')]
    if len(found) != len(rows):
        print(f"  the peer judged {len(found)} of {len(rows)}: {done.stderr.strip()[-300:]}")
    return {row["id"]: row["verdicts"] for row in found}


def canonical(name: str, data: Path, box: LocalSandbox) -> None:
    items = load(name, data=data)
    ours = grades(items, box)
    failed = [i for i, grade in ours.items() if not grade.passed]
    print(
        f"{name}: {len(ours) - len(failed)} of {len(ours)} canonical solutions pass; fail: {failed}"
    )


def he_fix(data: Path, peer: str, box: LocalSandbox) -> None:
    items = load("he-fix", data=data)
    ours = grades(items, box, stop_after=1)  # pass or fail is all that is compared
    rows = [
        {"id": i.problem.id, "code": i.problem.code,
         "evalplus": "HumanEval/" + i.problem.id.rpartition("/")[2]}
        for i in items
    ]  # fmt: skip
    theirs = peer_verdicts(rows, peer, data)
    differ = [i for i in theirs if ours[i].passed != all(theirs[i])]
    passing = sum(grade.passed for grade in ours.values())
    print(f"he-fix: {passing} of {len(ours)} faulty programs pass; {len(differ)} verdicts of "
          f"{len(theirs)} differ from EvalPlus's: {differ}")  # fmt: skip


def mbpp_fix_hard(data: Path, peer: str, box: LocalSandbox) -> None:
    items = load("mbpp-fix-hard", data=data)
    ours = grades(items, box)
    file = find_file(data, *STARTS_HARD)
    assert file is not None
    rows = [
        {
            "id": row.id("task_id", prefix="Mbpp/"),
            "code": row.text("code"),
            "test": row.text("test"),
        }
        for row in read_rows(file)
    ]
    theirs = peer_verdicts(rows, peer, data)
    tests = sum(map(len, theirs.values()))
    for name, verdicts in theirs.items():
        mine = ours[name].verdicts
        wrong = [k for k, (a, b) in enumerate(zip(mine, verdicts, strict=False)) if a != b]
        if wrong or len(mine) != len(verdicts):
            outcome = repr(ours[name].outcomes[wrong[0]])[:80] if wrong else ""
            print(f"  {name}: {len(wrong)} of {len(mine)} differ (they judged {len(verdicts)}); "
                  f"first {wrong[:1]}: ours {outcome}; program: ours {ours[name].passed}, "
                  f"theirs {all(verdicts)}")  # fmt: skip
    rate = mean(grade.pass_rate for grade in ours.values())
    their_rate = mean(sum(v) / max(len(v), 1) for v in theirs.values())
    print(f"mbpp-fix-hard: {sum(g.passed for g in ours.values())} of {len(ours)} programs pass; "
          f"{100 * rate.value:.2f} +- {100 * rate.stderr:.2f} % of private tests on average "
          f"(theirs {100 * their_rate.value:.2f} %; {tests} tests)")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("REFUTE_DATA"), required=False)
    parser.add_argument("--peer", default="python3")
    parser.add_argument("--only", choices=["humaneval+", "mbpp+", "he-fix", "mbpp-fix-hard"])
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data or set REFUTE_DATA")
    print(f"data {options.data}, peer {options.peer}, only {options.only}")
    with LocalSandbox() as box:
        print(f"protections: {box.protections()}")
        for name in ("humaneval+", "mbpp+", "he-fix", "mbpp-fix-hard"):
            if options.only not in (None, name):
                continue
            start = time.perf_counter()
            if name == "he-fix":
                he_fix(Path(options.data), options.peer, box)
            elif name == "mbpp-fix-hard":
                mbpp_fix_hard(Path(options.data), options.peer, box)
            else:
                canonical(name, Path(options.data), box)
            print(f"  {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
