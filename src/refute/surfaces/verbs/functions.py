"""Verbs over functions: `hunt` and `debug`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict
from msgspec.structs import replace as replace_fields

from refute.core.storage import ScratchFolder
from refute.errors import InputError
from refute.surfaces import arguments as given
from refute.surfaces import results as answers
from refute.surfaces.verbs.contract import (
    MOST,
    Answer,
    Tell,
    clipped,
    first,
)
from refute.verbs.debug import DebugOptions, debug
from refute.verbs.hunt import HuntOptions, hunt

if TYPE_CHECKING:
    from refute.function.service import Opened
    from refute.models.asking import Asked
    from refute.results.functions import FailingCall, FunctionFix, FunctionTests
    from refute.verbs.functions import DebugResult, HuntResult


def find_failing_input(asked_for: Any, asked: Asked, tell: Tell) -> Answer:
    """`refute hunt`."""
    from refute.results.functions import function_tests

    with ScratchFolder() as scratch:
        options = given.options_for(HuntOptions, asked_for, asked, Path(scratch))
        place = options.output
        if place is not None and place.is_file():
            raise InputError(f"{place}: exists; name a new file, or a folder")
        found = hunt(options=options, **_telling(tell))
    modules, files = found.opened.targets.modules, dict[Path, str]()
    if len(modules) == 1:
        files = found.pytest_files(modules[0].source.path.parent)
    functions = [
        answers.FunctionTests(
            file=str(module.source.path), notes=one.notes, **_clipped(function_tests(one))
        )
        for (module, _), one in zip(found.collected.results, found.hunts, strict=True)
    ]
    result = answers.FindFailingInputResult(
        state=found.state,
        summary=_summary(found),
        functions=first(functions, lambda one: one.state == "wrong"),
        unlisted=max(0, len(functions) - MOST),
        test_file=next(iter(files.values()), ""),
        test_path=next(map(str, files), ""),
        written=[str(path) for path in found.pytest_files(place)] if place else [],
        not_looked_at=_left(found),
        complete=not found.interrupted,
    )
    return Answer(result, found)


def debug_function(asked_for: Any, asked: Asked, tell: Tell) -> Answer:
    """`refute debug`."""
    from refute.function.source import diff_name
    from refute.results.functions import function_fix

    with ScratchFolder() as scratch:
        options = given.options_for(DebugOptions, asked_for, asked, Path(scratch))
        how = _telling(tell)

        def opened(one: Opened) -> None:
            for module in one.targets.modules if options.write else ():
                given.inside(module.source.path)
            how["opened"](one)

        found = debug(options=replace(options, write=False), **{**how, "opened": opened})
    functions = [
        answers.FunctionFix(
            file=str(module.source.path),
            notes=one.hunt.notes,
            **_clipped(function_fix(one, diff_name(module.source.path))),
        )
        for (module, _), one in zip(found.collected.results, found.fixes, strict=True)
    ]
    result = answers.DebugFunctionResult(
        state=found.state,
        summary=_summary(found),
        diff=found.diff,
        functions=first(functions, lambda one: one.state in ("wrong", "proposed", "fixed")),
        unlisted=max(0, len(functions) - MOST),
        written=[str(path) for path in found.write()] if options.write else [],
        not_looked_at=_left(found),
        complete=not found.interrupted,
    )
    return Answer(result, found)


def check_file(asked_for: given.CheckFile, asked: Asked, tell: Tell) -> Answer:
    """What is wrong in a file, with a fix for each function by itself: `hunt`, then `debug`."""
    from refute.results.functions import function_tests
    from refute.source.syntax import find_function, parse_module

    how: dict[str, Any] = {
        "budget": asked_for.seconds_per_function,
        "python": asked_for.python or None,
        **given.models_of(asked),
    }
    found = hunt(asked_for.file, show=lambda module, one, how_far: tell(how_far), **how)
    file, wrong = Path(asked_for.file), [one for one in found.hunts if one.found]
    before = next((module.source.text for module in found.opened.targets.modules), "")
    tree = parse_module(before)
    rows, stopped = [], found.interrupted
    for one in wrong:
        place = find_function(tree, one.function)
        test = _call(function_tests(one).tests[0])
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
            answers.CheckedFunction(
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
    result = answers.CheckedFile(
        before=before, functions=rows, summary=_summary(found), complete=not stopped
    )
    return Answer(result)


def _telling(tell: Tell) -> dict[str, Any]:
    return {
        "opened": lambda opened: tell(f"functions to look at: {opened.functions}"),
        "show": lambda module, one, how_far: tell(how_far),
    }


def _summary(found: HuntResult | DebugResult) -> str:
    from refute.function.service import summary

    kinds = Counter(one.kind for one in found.skipped)
    return said(summary(Counter(found.collected.states), kinds), found.interrupted)


def said(line: str, interrupted: bool) -> str:
    """A summary, and that it is not the whole where time was up."""
    return f"{line}; time was up before the rest" if interrupted else line


def _left(found: HuntResult | DebugResult) -> list[answers.NotLookedAt]:
    rows = found.skipped[:MOST]
    return [answers.NotLookedAt(where=one.where, reason=clipped(one.reason)) for one in rows]


def _clipped(row: FunctionTests | FunctionFix) -> dict[str, Any]:
    """The fields, with nothing very long in the tests."""
    return {**asdict(row), "tests": [_call(one) for one in row.tests]}


def _call(one: FailingCall) -> FailingCall:
    texts = {key: clipped(text) for key, text in asdict(one).items() if isinstance(text, str)}
    return replace_fields(one, **texts)
