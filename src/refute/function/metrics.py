"""Grades of many problems as a few figures, each with its standard error."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refute.figures import Figure, clustered
from refute.function.grade import Grade

__all__ = ["metrics"]


def metrics(grades: Sequence[Grade]) -> dict[str, Figure]:
    """All figures of a run, by name; problems count once each, whatever their number of tests.

    `attack_rate`, `output_accuracy`, `accuracy_and_attack`: over the generated tests. `hit_rate`:
    share of problems with at least one test that is right and attacks. `tested`: share of problems
    with any test. `code_accuracy`, `code_accuracy_top3`: share of problems whose first choice (one
    of the first three) passes all private tests. `pass_rate`: share of private tests that the first
    choice passes, mean over problems. `fixed`: share of problems for which a fix was proposed.
    `fix_precision`: share of those fixes that pass all private tests.

    Several grades of one problem (several runs) are one cluster: what varies from run to run and
    what varies from problem to problem are both in the standard error, and a problem that was run
    three times does not count as three.
    """
    return {
        "attack_rate": _ratio(grades, lambda g: (g.tests.attacks, len(g.tests.verdicts))),
        "output_accuracy": _ratio(grades, lambda g: (g.tests.accurate, len(g.tests.verdicts))),
        "accuracy_and_attack": _ratio(grades, lambda g: (g.tests.both, len(g.tests.verdicts))),
        "hit_rate": _ratio(grades, lambda g: (g.tests.both > 0, 1)),
        "tested": _ratio(grades, lambda g: (len(g.tests.verdicts) > 0, 1)),
        "code_accuracy": _ratio(grades, lambda g: (g.passed, 1)),
        "code_accuracy_top3": _ratio(grades, lambda g: (g.passed_top3, 1)),
        "pass_rate": _ratio(grades, lambda g: (g.programs[0].pass_rate, 1)),
        "fixed": _ratio(grades, lambda g: (g.fixed, 1)),
        "fix_precision": _ratio(grades, lambda g: (g.fixed and g.passed, g.fixed)),
    }


def _ratio(grades: Sequence[Grade], part: Callable[[Grade], tuple[float, int]]) -> Figure:
    """`part` gives (sum, count) of one grade."""
    groups: dict[str, tuple[float, int]] = {}
    for grade in grades:
        total, count = groups.get(grade.problem, (0.0, 0))
        more, counted = part(grade)
        groups[grade.problem] = (total + more, count + counted)
    return clustered(list(groups.values()))
