"""One exception tree, from which the exit statuses come."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from itertools import chain

import pytest

import refute
import refute_lab
from refute import errors
from refute.doors.command_line import fail_for

STATUSES = {
    errors.InputError: 2,
    errors.DatasetError: 2,
    errors.PatchRejected: 2,
    errors.SandboxUnavailable: 3,
    errors.EnvironmentBroken: 3,
    errors.AnswersPending: 3,
    errors.BudgetExceeded: 3,
    errors.ContextTooLong: 3,
}


@pytest.mark.parametrize("kind", STATUSES, ids=lambda kind: kind.__name__)
def test_an_exception_ends_in_its_status_and_one_line(
    kind: type[errors.RefuteError], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fail_for(kind("no such\nthing {0}")) == STATUSES[kind]
    said = capsys.readouterr().err
    assert said.startswith("refute: ")
    assert said.count("\n") == 1
    assert "no such thing {0}" in said
    assert "internal" not in said


def test_a_fault_of_ours_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail_for(errors.RefuteError("odd")) == 70
    assert "internal error at ?: RefuteError: odd" in capsys.readouterr().err


def test_every_exception_that_leaves_a_module_is_in_the_tree() -> None:
    """Those whose names begin without an underscore and that are neither ValueErrors nor ours."""
    strays = {}
    allowed = (errors.RefuteError, ValueError, TypeError, OSError)
    packages = (refute, refute_lab)
    for module in chain(*(pkgutil.walk_packages(p.__path__, f"{p.__name__}.") for p in packages)):
        if module.name.startswith(("refute.__main__", "refute.probe.site", "refute_lab.train")):
            continue
        try:
            there = vars(importlib.import_module(module.name))
        except ImportError:
            continue  # an extra that is not installed
        for name, value in there.items():
            own = inspect.isclass(value) and value.__module__ == module.name
            public = own and issubclass(value, Exception) and not name.startswith("_")
            if public and not issubclass(value, allowed):
                strays[f"{module.name}.{name}"] = value
    assert sorted(strays) == [
        "refute.models.openai.BodyRefused",  # said by the HTTP client only
        "refute.sandbox.warm.InDoubt",  # the job runs without the warm process
        "refute.workspace.repositories.GitFailed",  # each caller makes it one of the tree
        "refute_lab.models.checkpoint.TooLarge",  # halves the batch
        "refute_lab.rewards.asking.Skipped",  # in the sandbox: a test that skips itself
        "refute_lab.rewards.crossing.CannotCross",  # in the sandbox: the value crosses as a handle
        "refute_lab.serving.Busy",  # these five are answers of the server
        "refute_lab.serving.Full",
        "refute_lab.serving.Malformed",
        "refute_lab.serving.TooMany",
        "refute_lab.serving.server.Refused",
    ]
