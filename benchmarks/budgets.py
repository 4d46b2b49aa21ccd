"""`--budget B` as a promise: wall time of `refute hunt` beside busy processes.

    python benchmarks/budgets.py --half dev --count 60 [--busy 4] [--budgets 2 5] [--out FILE]

Functions with a doctest and without, drawn at random; each with every budget, in a process of its
own, while `--busy` processes compute beside it. Printed: seconds over the budget, the start of the
interpreter included.
"""

from __future__ import annotations

import multiprocessing
from typing import Any

from packages import Function, draw, functions, half_of, parser, refute, share, spread, work


def main() -> None:
    commands = parser(__doc__, count=60)
    commands.add_argument("--busy", type=int, default=4)
    commands.add_argument("--budgets", type=float, nargs="+", default=[2.0, 5.0])
    options = commands.parse_args()
    drawn = draw(functions(half_of(options.half)), options.count, options.seed)
    cases = [(budget, function) for budget in options.budgets for function in drawn]

    def measure(case: tuple[float, Function]) -> dict[str, Any]:
        budget, function = case
        run = refute("hunt", function.target, "--json", "--budget", str(budget))
        return {"budget": budget, "status": run.status, "seconds": run.seconds, "cpu": run.cpu}

    busy = [multiprocessing.Process(target=compute, daemon=True) for _ in range(options.busy)]
    for process in busy:
        process.start()
    rows = work(cases, key=lambda c: f"{c[0]} {c[1].target}", do=measure, options=options)
    for process in busy:
        process.terminate()
    for budget in options.budgets:
        own = [row for row in rows if row["budget"] == budget and row["status"] != 2]
        over = [row for row in own if row["seconds"] > budget + 1]
        print(f"--budget {budget:g}: {spread([row['seconds'] for row in own])} seconds")
        print(f"  beyond {budget + 1:g} s: {share(len(over), len(own))}")
        if options.half == "dev":
            for row in sorted(over, key=lambda row: -row["seconds"])[:8]:
                print(f"    {row['seconds']:.1f} s, CPU {row['cpu']:.1f} s: {row['key']}")


def compute() -> None:
    """Work that never ends."""
    while True:
        sum(range(10_000))


if __name__ == "__main__":
    main()
