"""How likely a fix, or a test that the fixes predict, is right: two small calibrated maps.

Both are logistic functions of a few plain quantities. Their coefficients were fitted on the
development halves alone (bugs put into real packages by `benchmarks/mutants.py --half dev`, and
he-fix); `benchmarks/calibration.py` prints how often what was given so much confidence was right,
also on bugs and packages that were never looked at.
"""

from __future__ import annotations

import math

from refute.function.search.choose import Cluster

__all__ = ["of_fix", "of_test"]

MOST_TESTS = 5
"""More examples than this add nothing to the confidence."""


def of_fix(cluster: Cluster, share: float, tests: int) -> float:
    """Probability that a cluster of fixes is right.

    `share`: the cluster's part of the weight of all that pass the `tests` examples.
    """
    known = math.log2(min(tests, MOST_TESTS))
    raw = (
        INTERCEPT
        + PER_LOGIT * _logit(share)
        + PER_SCORE * max(-5.0, cluster.score)
        + PER_KNOWN * known
        + PER_SUSPICION * bool(cluster.suspicions)
    )
    return 1 / (1 + math.exp(-raw))


def of_test(vote: float, tests: int, *, inside: bool) -> float:
    """Probability that a predicted output is right.

    `vote`: the share of the fixes' weight that predicts it; `inside`: whether the input is like
    those of the `tests` examples.
    """
    support = 1 - 0.5 / tests**2
    return support * vote * (1.0 if inside else 0.7)


INTERCEPT = -0.52
PER_LOGIT = 0.5
PER_SCORE = 0.14
PER_KNOWN = 0.37
PER_SUSPICION = -0.62
"""Fitted on 171 fixes of 69 rows of he-fix and 89 bugs in packages (`dev`), 95 of them right."""


def _logit(share: float) -> float:
    bounded = min(0.99, max(0.01, share))
    return math.log(bounded / (1 - bounded))
