"""The experiment with gold outputs: the inputs are a model's, the outputs are the reference's.

The released code of UTGen has such modes (`*_oracle`); they bound from above what better outputs
could give. The method proposes inputs and never learns an answer: the harness runs the reference on
them (`grade.with_gold_outputs`) and hands the tests in as given ones, and `given` debugs with them.
There is one suite for all versions of the code (the released code makes a new one for each).
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from refute.errors import InputError
from refute.function.contract import MethodResult
from refute.function.llm.options import DebugOptions, Options
from refute.methods import MethodSpec
from refute.problems import Invocation


def check_gold(spec: MethodSpec[Any, Any]) -> None:
    """Raises `InputError` for a method that proposes no inputs by the paper's algorithms."""
    if not (spec.writes_tests and spec.options is Options):
        raise InputError(f"--gold-outputs is for random, prompted and utgen, not for {spec.name}")


def asking_for_inputs(options: Options) -> Options:
    """The options with which a method proposes inputs and does nothing else."""
    return replace(options, m=0, vote=False)


def inputs_of(result: MethodResult, count: int) -> list[Invocation]:
    """The first `count` different inputs that it proposed, whatever it says of their outputs."""
    attempts = result.trace.suites[0].attempts if result.trace and result.trace.suites else ()
    calls = [one.call for one in attempts if one.call is not None and one.status != "duplicate"]
    return calls[:count]


def debugging(options: Options) -> DebugOptions:
    """What of a method's options is about debugging."""
    return DebugOptions(**{one.name: getattr(options, one.name) for one in fields(DebugOptions)})
