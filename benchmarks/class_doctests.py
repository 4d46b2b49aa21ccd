"""Doctests of methods in released classes: is anything red here that plain `doctest` passes?

    python benchmarks/class_doctests.py --half dev --count 60 [--budget 5] [--out FILE]

Draws public methods, properties, class- and static methods whose docstring holds an example, runs
`refute hunt` on each as a user would, and the examples of its docstring, its class's and its
constructor's under plain `doctest`, inside the sandbox. Counted: red in both, green in both, red
only here (a false red), red only there, by what `hunt` says. Of the half `dev` the cases are shown.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from packages import Inside, Method, draw, half_of, methods, parser, refute, share, verdict_of, work


def main() -> None:
    options = parser(__doc__, count=60).parse_args()
    half = half_of(options.half)
    drawn = draw([m for m in methods(half) if m.doctest], options.count, options.seed)

    def measure(method: Method) -> dict[str, Any]:
        run = refute("hunt", method.target, "--json", "--budget", str(options.budget))
        verdict = verdict_of(run)
        with Inside(half.site) as inside:
            tried = inside.ask("doctest_of", method.source.module, method.name)
        return {
            "package": method.package,
            "status": run.status,
            "state": verdict.state,
            "tests": verdict.tests,
            "doctest": tried,
            "error": run.error[-300:],
            "seconds": round(run.seconds, 2),
        }

    rows = work(drawn, key=lambda m: m.target, do=measure, options=options)
    ran = [row for row in rows if row["state"] not in ("", "error") and row["doctest"] is not None]
    counts = Counter((bool(row["doctest"][1]), row["state"]) for row in ran)
    print(f"methods {len(rows)}, ran {share(len(ran), len(rows))}")
    for (red, state), count in sorted(counts.items()):
        print(f"  doctest {'red' if red else 'green'}, hunt {state}: {count}")
    for row in rows:
        wrong = row["state"] == "wrong"
        odd = row not in ran or wrong is not bool(row["doctest"][1])
        if odd and options.half == "dev":
            print(f"\n{row['key']}  {row['state']} (exit {row['status']})  {row['error'][-250:]}")
            print(f"    {str(row['tests'])[:600]}\n    doctest: {str(row['doctest'])[:300]}")


if __name__ == "__main__":
    main()
