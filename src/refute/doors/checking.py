"""Check one file for an editor: `hunt`, then `debug`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from refute.models.asking import Asked

QUICK = 1.0
"""Seconds to search one function where only what the examples show is asked for."""


class CheckFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Request of an editor about one file."""

    file: str
    text: str
    """The editor's, saved or not."""
    python: str = ""
    seconds_per_function: float = 5.0
    time_limit: float = 300.0
    fixes: bool = True
    """True to search fixes, too; without, the answer comes soon, from the examples."""


class CheckedFunction(Struct, frozen=True, kw_only=True):
    """A function that is wrong."""

    function: str
    line: Annotated[int, Meta(description="Of its definition, counted from 1.")]
    message: str
    tests: Annotated[str, Meta(description="A pytest file of its failing tests.")]
    test_path: Annotated[str, Meta(description="Where that file lies.")]
    code: Annotated[str, Meta(description="The whole file with its fix; empty: none was found.")]
    fix: Annotated[str, Meta(description="What the fix changes, in a line.")]
    sure: bool = False


class CheckedFile(Struct, frozen=True, kw_only=True):
    """Problems of one file."""

    before: Annotated[str, Meta(description="The file's text as it was looked at.")]
    functions: list[CheckedFunction]
    complete: Annotated[bool, Meta(description="False: time was up before all was looked at.")]


def check_file(asked_for: CheckFile, asked: Asked, tell: Callable[[str], None]) -> CheckedFile:
    """Return the problems of a file, with a fix for each function by itself."""
    from dataclasses import fields

    from refute.function.source import UNSAVED
    from refute.results.functions import function_tests
    from refute.source.syntax import find_function, parse_module
    from refute.verbs.debug import debug
    from refute.verbs.hunt import hunt

    UNSAVED[Path(asked_for.file).absolute()] = asked_for.text  # this process has one call
    how: dict[str, Any] = {
        **{one.name: getattr(asked, one.name) for one in fields(asked)},
        "budget": asked_for.seconds_per_function if asked_for.fixes else QUICK,
        "python": asked_for.python or None,
    }
    brief: dict[str, Any] = {} if asked_for.fixes else {"n": 1, "jobs": 1}  # no process more
    brief["show"] = lambda module, one, how_far: tell(how_far)
    found = hunt(asked_for.file, **how, **brief)
    file, wrong = Path(asked_for.file), [one for one in found.hunts if one.found]
    before = next((module.source.text for module in found.opened.targets.modules), "")
    tree = parse_module(before)
    rows, stopped = [], found.interrupted or not asked_for.fixes
    for one in wrong:
        place = find_function(tree, one.function)
        test = function_tests(one).tests[0]
        expected = "" if test.expected is None else f", expected {test.expected}"
        name = f"test_{file.stem}_{one.function.replace('.', '_')}_refuted.py"
        files = found.pytest_files(file.with_name(name), function=one.function)
        code, edits, sure = "", "", False
        if not stopped:
            tell(f"looking for a fix of {one.function}")
            fixed = debug(f"{asked_for.file}::{one.function}", **how)
            stopped = fixed.interrupted
            for fix in fixed.fixes if fixed.candidates else ():
                code, sure = fix.code, fix.fixed
                edits = "; ".join(fix.result.candidates[0].edits)
        rows.append(
            CheckedFunction(
                function=one.function,
                line=place.lineno if place is not None else 1,
                message=f"{test.call}: {test.actual}{expected} ({test.source})",
                tests=next(iter(files.values()), ""),
                test_path=next(map(str, files), ""),
                code=code,
                fix=edits,
                sure=sure,
            )
        )
    return CheckedFile(before=before, functions=rows, complete=not stopped)
