"""Released functions drawn at random, taken to be right: how many does `refute debug` call wrong?

    python benchmarks/false_alarms.py --half dev --count 500 [--budget 5] [--out FILE]
    python benchmarks/false_alarms.py --kind method ...         # methods instead of functions

One process for each function, as a user would call it. Counted: *called wrong* (by an example, a
test with an expected output; or by a crash, a finding without one), *given a fix*, exit statuses,
what could not be loaded by reason, seconds. A function whose doctest fails here under plain
`doctest`, too (a missing optional dependency), is counted apart. Of the half `dev` the cases are
printed; of `report` only the figures.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from packages import (
    Function,
    Inside,
    draw,
    functions,
    half_of,
    methods,
    parser,
    refute,
    share,
    spread,
    verdict_of,
    work,
)


def main() -> None:
    arguments = parser(__doc__, count=500)
    arguments.add_argument("--kind", choices=("function", "method"), default="function")
    options = arguments.parse_args()
    half = half_of(options.half)
    every = methods(half) if options.kind == "method" else functions(half)
    drawn = draw(every, options.count, options.seed)

    def measure(function: Function) -> dict[str, Any]:
        run = refute("debug", function.target, "--json", "--budget", str(options.budget))
        verdict = verdict_of(run)
        row = {
            "package": function.package,
            "status": run.status,
            "state": verdict.state,
            "wrong": [test for test in verdict.tests if test.get("expected") is not None],
            "crashes": [test for test in verdict.tests if test.get("expected") is None],
            "diff": verdict.diff,
            "error": run.error[-400:],
            "seconds": round(run.seconds, 2),
            "cpu": round(run.cpu, 2),
        }
        if verdict.tests or verdict.state in ("wrong", "fixed", "proposed"):
            with Inside(half.site) as inside:
                tried = inside.ask("doctest_of", function.source.module, function.name)
            row["doctest fails here"] = tried is None or tried[1] > 0
        return row

    rows = work(drawn, key=lambda f: f.target, do=measure, options=options)
    show(rows, cases=options.half == "dev")


def show(rows: list[dict[str, Any]], *, cases: bool) -> None:
    """Print the table, and below it each case of a half that may be looked at."""
    n = len(rows)
    ran = [row for row in rows if row["status"] in (0, 1) or row["state"] not in ("", "error")]
    here = [row for row in ran if row.get("doctest fails here")]
    fair = [row for row in ran if not row.get("doctest fails here")]
    wrong = [row for row in fair if row["wrong"]]
    given = [row for row in fair if row["state"] == "fixed"]
    either = [r for r in fair if r["wrong"] or r["crashes"] or r["state"] in ("wrong", "fixed")]
    proposed = [row for row in fair if row["state"] == "proposed"]
    crashes = [row for row in fair if row["crashes"]]
    print(f"functions {n}, ran {share(len(ran), n)}")
    print(f"called wrong or given a fix: {share(len(either), n)}")
    print(f"  by an example {len(wrong)}, by a crash {len(crashes)}, given a fix {len(given)}")
    print(f"  (a fix proposed: {len(proposed)})")
    print(f"  found, but plain doctest fails here, too: {len(here)}")
    print(f"crash findings: {sum(len(row['crashes']) for row in crashes)} in {len(crashes)}")
    print(f"states: {dict(Counter(row['state'] for row in rows).most_common())}")
    print(f"exit statuses: {dict(sorted(Counter(row['status'] for row in rows).items()))}")
    print(f"seconds: {spread([row['seconds'] for row in ran])}")
    reasons = Counter(reason_of(row["error"]) for row in rows if row["status"] == 2)
    for reason, count in reasons.most_common(12):
        print(f"  exit 2, {count:4}: {reason}")
    if not cases:
        return
    for row in [*either, *(row for row in proposed if row not in either), *here]:
        print(f"\n{row['key']}  {row['state']}  doctest here: {row.get('doctest fails here')}")
        for test in row["wrong"] + row["crashes"]:
            print(f"    {str(test)[:400]}")
        changed = [x for x in row["diff"].splitlines() if x[:1] in "+-" and x[:3] not in _HEADS]
        print("\n".join(f"    {line}" for line in changed[:12]))
    for row in rows:
        if row["status"] not in (0, 1, 2) and row not in ran:
            print(f"\n{row['key']}  exit {row['status']}: {row['error'][-300:]}")


_HEADS = ("+++", "---")


def reason_of(error: str) -> str:
    """What the message says without the names in it."""
    line = error.strip().splitlines()[-1] if error.strip() else "no message"
    line = re.sub(r"^refute: \S+?: ", "", line)
    line = re.sub(r"'[^']*'|\"[^\"]*\"|/\S+", "X", line)
    return line[:110]


if __name__ == "__main__":
    main()
