"""Differences as tests that pin one side: it was right before, or the change is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from refute.diffing.comparison import Difference, Entry
from refute.diffing.service import Compared, Diffed
from refute.function.scenarios.placing import Placement, insert, place_test
from refute.function.scenarios.writing import Context, Style, as_hypothesis, render_test
from refute.source.literals import NotLiteral

Side = Literal["before", "after"]
Pin = Callable[[Compared, Difference], Side | None]
"""Choice of the right side; None: no test."""


@dataclass(frozen=True, slots=True)
class PinnedTest:
    """One test, not yet in a file."""

    module: str
    """Dotted name of what it imports."""
    target: str
    """Callee: `Cart.total`."""
    text: str
    """A file of its own."""
    placement: Placement
    """Its place in the project."""


def pinned_tests(
    diffed: Diffed, pin: Pin, root: Path, *, hypothesis: bool = False, placed: bool = True
) -> Iterator[PinnedTest]:
    """A test for each difference that `pin` takes a side of; none where that side cannot be written
    down. `root`: the project, whose tests say in which style; `placed`: whether one asks them."""
    plain = Placement(root / "test_diff.py", False, Style())
    for one in diffed.functions:
        entry = one.comparison.entry
        if entry is None:
            continue
        place = place_test(root, entry.after.name, entry.name_after) if placed else plain
        for difference in one.comparison.differences:
            side = pin(one, difference)
            if side is None:
                continue
            label = diffed.before if side == "before" else diffed.after
            comment = f"as {side}: {label}" if label != side else f"as {side}"
            test = pinned_test(entry, difference, side, place, comment, hypothesis=hypothesis)
            if test is not None:
                yield test


def pinned_test(
    entry: Entry, difference: Difference, side: Side, place: Placement, comment: str,
    *, hypothesis: bool = False,
) -> PinnedTest | None:  # fmt: skip
    """A test in which one side of a difference is right; None where that side has no source.
    `comment` says in the test where the value comes from."""
    target, module = entry.name_after, entry.after
    try:
        text = (as_hypothesis if hypothesis else render_test)(
            difference.scenario,
            difference.before if side == "before" else difference.after,
            module=module.name,
            name=_test_name(target),
            style=place.style,
            comment=comment,
            context=Context.of(module.text),
        )
    except NotLiteral:
        return None
    return PinnedTest(module.name, target, text, place)


def together(tests: Iterable[PinnedTest], text: str = "") -> str:
    """All tests in one file, beside those of `text`."""
    for test in tests:
        text = (insert(text, test.text, test.target) or text) if text else test.text
    return text


def put_into_project(tests: Iterable[PinnedTest]) -> dict[Path, str]:
    """The files of the project's tests with these in them, each behind what is about the same; in a
    file of their own where one cannot take them. Nothing is written."""
    files: dict[Path, str] = {}
    for test in tests:
        place = test.placement
        text = files.get(place.path)
        if text is None and place.exists:
            text = place.path.read_text("utf-8")
        if not text:
            files[place.path] = test.text
            continue
        new = insert(text, test.text, test.target)
        if new is not None:
            files[place.path] = new
            continue
        other = place.path.with_name(f"{place.path.stem}_refuted.py")
        files[other] = together([test], files.get(other, ""))
    return files


def _test_name(target: str) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", target.replace(".", "_")).lower()
    return f"test_{re.sub('_+', '_', words).strip('_')}"
