"""Choose the issue-level method that is run, and its options.

`pass@k` is k answers to one prompt, of which an oracle grader picks the best (SWT-Bench, Table 2):
a grading and not a method, for without the golden patch nothing can choose among the answers.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from refute.core.methods import Given, MethodSpec, Task
from refute.core.registry import METHODS, chosen_method, method_of, options_of
from refute.errors import InputError
from refute.issue.contract import Reproduction
from refute.models.asking import Asked

_PASS_AT = re.compile(r"pass@([1-9]\d?)")
_SAMPLED = "zeroshotplus"


def oracle_samples(method: str) -> int | None:
    """k of `pass@k`; None for a method proper."""
    match = _PASS_AT.fullmatch(method)
    return int(match.group(1)) if match else None


def issue_method(name: str) -> MethodSpec[Any, Reproduction]:
    """The issue-level method of that name; of `pass@k` the one that draws the answers.

    Raises `InputError` for an unknown method.
    """
    drawn = oracle_samples(name) is not None
    return method_of(_SAMPLED if drawn else name, "issue")


def with_samples(name: str, options: Any) -> Any:
    """The options of the method of that name, with k answers for `pass@k`."""
    samples = oracle_samples(name)
    return options if samples is None else replace(options, answers=samples)


def chosen_reproducer(
    asked: Asked, *, graded: bool = False
) -> tuple[str, MethodSpec[Any, Reproduction], Any]:
    """Name, method and its options: the default where none is named.

    `graded`: an oracle grades the result, so that pass@k makes sense. Raises `InputError` where
    method, model and options do not go together.
    """
    name, samples = asked.method, oracle_samples(asked.method or "")
    if samples is not None:
        if not graded:
            raise InputError(f"{name} chooses by the golden patch: it is a grading, not a method")
        asked = replace(asked, method=_SAMPLED)
    spec = chosen_method(asked, "issue")
    if asked.tester is not None and not spec.tells_writer:
        able = ", ".join(one.name for one in METHODS.all() if one.tells_writer)
        raise InputError(f"{spec.name} asks one model for everything; --tester is for {able}")
    name = name or spec.name
    return name, spec, with_samples(name, options_of(spec, asked))


def check_task(name: str, spec: MethodSpec[Any, Reproduction], task: Task, given: Given) -> None:
    """Raise `InputError` where a method cannot be asked for that."""
    if task == "tests":
        return
    if not spec.repairs or oracle_samples(name) is not None:
        able = ", ".join(one.name for one in METHODS.all() if one.repairs)
        raise InputError(f"{name} writes no fixes; {able} can (--task repair)")
    if given != Given():
        raise InputError("test_files and code_patch are about tests, not about --task repair")


def check_given(spec: MethodSpec[Any, Reproduction], given: Given) -> None:
    """Raise `InputError` where a method would not look at what it is given."""
    if given != Given() and not spec.takes_given:
        specs = [one for one in METHODS.all() if one.takes_given]
        able = ", ".join(one.name for one in specs)
        raise InputError(
            f"{spec.name} cannot be given test files or a patch; {able} and pass@k can"
        )
