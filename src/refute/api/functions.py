"""`hunt` and `debug`.

>>> import refute
>>> result = refute.debug("examples/shipping.py::shipping_cost")
>>> result.state, result.diff, result.tests
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from refute.api.calling import apart, path_of
from refute.api.function_results import DebugResult, HuntResult, places_of_tests
from refute.errors import InputError
from refute.function.contract import Ask
from refute.function.parallel import Found
from refute.function.service import Collected, FunctionTargets, Opened, collect, open_subject
from refute.function.target import Module, Targets
from refute.models.asking import Asked
from refute.remarks import remark
from refute.sandbox.deadline import end_after

__all__ = ["DebugResult", "HuntResult", "debug", "hunt"]

Show = Callable[[Module, Found, str], None]
"""Is told of each function's result, of its module, and how far the work is, in a line."""


def hunt(
    *targets: str,
    tests: Path | str | None = None,
    description: Path | str | None = None,
    python: Path | str | None = None,
    budget: float = 10.0,
    seed: int = 0,
    jobs: int | None = None,
    since: str | None = None,
    listed: bool = False,
    total_budget: float | None = None,
    method: str | None = None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
    baseline: Path | str | None = None,
    output: Path | str | None = None,
    force: bool = False,
    opened: Callable[[Opened], None] = lambda opened: None,
    show: Show = lambda module, one, how_far: None,
) -> HuntResult:
    """Find unit tests that functions fail.

    `targets`: FILE.py::FUNCTION, FILE.py, a folder, pkg.mod or pkg.mod:FUNCTION. `tests`,
    `description`, `python`: files. `budget`: seconds a function. `since`: a commit; only what is
    public and changed since then, in the targets, if any are named (files and folders).
    `listed`: the targets are a list of somebody's, which may be empty. `total_budget`: seconds for
    all functions together; those for which none are left are among the
    `skipped`. `baseline`: a file of `HuntResult.write_baseline`; what it knows is not looked upon
    as found.
    `method`, `model` and the method's
    `options` by name, or all in `asked`, which also says how the model is reached. `output`: where
    the tests are written (see `HuntResult.write_pytest`), checked before any work. `opened` is told
    once what there is to look at, `show` of each result.
    """
    subject = _subject(
        targets, tests, description, python, budget, seed, jobs, since, listed, total_budget
    )
    asked = asked or Asked(method=method, model=model, options=options or {})

    def work() -> HuntResult:
        found = _opened(subject)
        if not found.functions:
            return HuntResult(found, Collected())
        known = _unknown(path_of(baseline))
        if output is not None:
            places_of_tests(Path(output), found, force=force)
        opened(found)
        got = collect(subject, found, asked, fixing=False, fresh=known, show=show)
        result = HuntResult(found, got)
        if output is not None:
            written = result.write_pytest(output, force=force)
            remark(f"tests written to {place}" for place in written)
        return result

    return apart(work)


def debug(
    *targets: str,
    tests: Path | str | None = None,
    description: Path | str | None = None,
    python: Path | str | None = None,
    budget: float = 10.0,
    seed: int = 0,
    jobs: int | None = None,
    since: str | None = None,
    listed: bool = False,
    total_budget: float | None = None,
    method: str | None = None,
    model: str | None = None,
    options: Mapping[str, Any] | None = None,
    asked: Asked | None = None,
    proposed: bool = False,
    ask: Callable[[str], Ask] | None = None,
    opened: Callable[[Opened], None] = lambda opened: None,
    show: Show = lambda module, one, how_far: None,
) -> DebugResult:
    """Fix functions with generated tests; nothing is written (see `DebugResult.write`).

    Parameters as in `hunt`. `proposed`: what is only proposed counts as a fix. `ask` gives, for a
    function's name, who answers which of two outputs is right.
    """
    subject = _subject(
        targets, tests, description, python, budget, seed, jobs, since, listed, total_budget
    )
    asked = asked or Asked(method=method, model=model, options=options or {})

    def work() -> DebugResult:
        found = _opened(subject)
        if not found.functions:
            return DebugResult(found, Collected(), proposed)
        opened(found)
        got = collect(subject, found, asked, fixing=True, ask=ask, proposed=proposed, show=show)
        return DebugResult(found, got, proposed)

    return apart(work)


def _opened(subject: FunctionTargets) -> Opened:
    """The targets; none where nothing changed since the commit that was named."""
    if not subject.targets:
        return Opened(Targets(()), (), None)
    return open_subject(subject)


def _subject(
    targets: Sequence[str],
    tests: Path | str | None,
    description: Path | str | None,
    python: Path | str | None,
    budget: float,
    seed: int,
    jobs: int | None,
    since: str | None,
    listed: bool,
    total: float | None,
) -> FunctionTargets:
    end = end_after(total)
    if since is not None and (targets or not listed):
        from refute.api.since import changed_since

        targets = changed_since(targets, since)
    elif not targets and not listed:
        raise InputError("name a target: FILE.py::FUNCTION, FILE.py, a folder or a module")
    if not budget > 0:
        raise InputError(f"budget = {budget}: must be above 0 seconds")
    if total is not None and not total > 0:
        raise InputError(f"total budget = {total}: must be above 0 seconds")
    return FunctionTargets(
        targets=tuple(map(str, targets)),
        tests=None if tests is None else Path(tests),
        description=None if description is None else Path(description),
        python=None if python is None else Path(python),
        budget=budget,
        seed=seed,
        jobs=jobs,
        end=end,
    )


def _unknown(baseline: Path | None) -> Callable[[Module, Found], Found | None]:
    """A result without what the baseline knows; None where it knows all of it."""
    if baseline is None:
        return lambda module, one: one
    from refute.report.baselines import read_baseline, without_known

    return partial(without_known, read_baseline(baseline))
