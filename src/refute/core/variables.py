"""The environment's variables that are no settings of a command."""

from __future__ import annotations

from enum import StrEnum


class Variable(StrEnum):
    """Variables of fixed meaning; the option of such a name is set for one verb alone."""

    CACHE = "REFUTE_CACHE"
    DATA = "REFUTE_DATA"
    GRADER = "REFUTE_GRADER"
    GRADER_TOKEN = "REFUTE_GRADER_TOKEN"
    PRICES = "REFUTE_PRICES"
    PROBE = "REFUTE_PROBE"
    PROBE_ROOT = "REFUTE_PROBE_ROOT"
    REPOS = "REFUTE_REPOS"
    SERVE_TOKENS = "REFUTE_SERVE_TOKENS"
    SINCE = "REFUTE_SINCE"
    TRACEBACK = "REFUTE_TRACEBACK"
