"""Confidence in a fix, or in a test that the fixes predict: two small calibrated maps.

Both are logistic functions of a few plain quantities. Their coefficients were fitted on the
development halves alone (bugs put into real packages by `benchmarks/mutants.py --half dev`, and
he-fix); `benchmarks/calibration.py` prints how often what was given so much confidence was right,
also on bugs and packages that were never looked at.
"""

from __future__ import annotations

import math

from refute.function.search.choose import Cluster
from refute.function.search.rules import few_variants

__all__ = ["of_fix", "of_test"]


def of_fix(cluster: Cluster, share: float) -> float:
    """Probability that a cluster of fixes is right.

    `share`: the cluster's part of the weight of all that pass the examples. How many examples there
    are adds nothing to that: they have done their work by refusing other fixes. But the share says
    nothing of fixes that were not tried. An edit of a kind that has few variants at a place
    (`Rule.few`) passes by accident less often than one of the many names or calls that could stand
    there.
    """
    few = few_variants(edit.kind for edit in cluster.best.edits)
    raw = INTERCEPT + PER_LOGIT * _logit(share) + FEW_VARIANTS * few
    return 1 / (1 + math.exp(-raw))


def of_test(vote: float, tests: int) -> float:
    """Probability that a predicted output is right.

    `vote`: the share of the fixes' weight that predicts it; `tests`: the examples that they pass.
    """
    known = math.log2(min(tests, MOST_TESTS))
    raw = TEST_INTERCEPT + TEST_PER_LOGIT * _logit(vote) + TEST_PER_KNOWN * known
    return 1 / (1 + math.exp(-raw))


MOST_TESTS = 5
"""More examples than this add nothing to the confidence of a predicted test."""
TEST_INTERCEPT = -1.86
TEST_PER_LOGIT = 0.5
TEST_PER_KNOWN = 1.71
"""Fitted on 415 predicted tests of 24 bugs in packages (`dev`), each bug with the same weight, 397
of them right, and on 7 fixes there that one example asked for, 3 right; with Platt's targets, so
that no error among so few is not certainty. The slope of the vote is the one of the share of a fix:
nearly all votes were unanimous. Whether an input is like those of the examples made no difference.
"""

INTERCEPT = 0.10
PER_LOGIT = 0.53
FEW_VARIANTS = 0.79
"""Fitted on the first fixes of he-fix and of 101 bugs in the packages of `dev`: 120 of 148 right.
Fitted without half of the packages, the map gives them the same order: of that half's fixes from
0.78 on 19 of 21 were right. The prior's weight, the number of examples and of
fixes that behave alike, and examples of callers that a fix turned green made no difference."""


def _logit(share: float) -> float:
    bounded = min(0.99, max(0.01, share))
    return math.log(bounded / (1 - bounded))
