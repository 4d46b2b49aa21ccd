"""What is run for each verb: one call of `refute.verbs`, its result in the form of `results`."""

from __future__ import annotations

from refute.surfaces import arguments as given
from refute.surfaces import results as answers
from refute.surfaces.verbs.changes import (
    check_tests_red_green,
    compare_behaviour,
    reproduce_issue,
    vet_patch,
)
from refute.surfaces.verbs.contract import Verb
from refute.surfaces.verbs.functions import check_file, debug_function, find_failing_input
from refute.verbs.debug import DebugOptions
from refute.verbs.diff import DiffOptions
from refute.verbs.hunt import HuntOptions
from refute.verbs.reproduce import ReproduceOptions

__all__ = ["VERBS"]

VERBS = {
    "find_failing_input": Verb(
        given.arguments_of(HuntOptions, "FindFailingInput"),
        answers.FindFailingInputResult,
        find_failing_input,
    ),
    "debug_function": Verb(
        given.arguments_of(DebugOptions, "DebugFunction"),
        answers.DebugFunctionResult,
        debug_function,
    ),
    "reproduce_issue": Verb(
        given.arguments_of(ReproduceOptions, "ReproduceIssue", 900.0),
        answers.ReproduceIssueResult,
        reproduce_issue,
    ),
    "vet_patch": Verb(given.VetPatch, answers.VetPatchResult, vet_patch),
    "compare_behaviour": Verb(
        given.arguments_of(DiffOptions, "CompareBehaviour"),
        answers.CompareBehaviourResult,
        compare_behaviour,
    ),
    "check_tests_red_green": Verb(
        given.CheckTestsRedGreen, answers.CheckTestsRedGreenResult, check_tests_red_green
    ),
    "check_file": Verb(given.CheckFile, answers.CheckedFile, check_file),
}
"""By name: what agents call, and what the servers call for themselves."""
