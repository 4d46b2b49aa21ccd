"""The papers' figures by run, facts and claims, from `figures/*.toml`.

Which of the papers' cells belongs beside a run: by data set, model, method, options and version.

A run without a cell of its own gets none. What the paper varies must be the same; what it fixes for
all runs (temperature, votes) and how many problems there are may differ, and is then said.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from refute_lab.figures import Estimate
from refute_lab.report import (
    Cell,
    Grid,
    Row,
    count_cell,
    difference_cell,
    estimate_cell,
    row_of,
    text_cell,
)

UTGEN, SWT_BENCH = "UTGen", "SWT-Bench"
_FILES = {UTGEN: "utgen.toml", SWT_BENCH: "swt-bench.toml"}
_UNITS = ("percent", "count", "dollars")


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFigure:
    """One cell of a paper's table."""

    paper: str
    version: str = "v1"
    """Of the paper, a key of `version` in the file: `later` is a list that the authors keep."""
    table: str
    dataset: str
    size: int
    """Problems of the paper's data set, or of the part that the table is about."""
    model: str
    """As the paper prints it; `-`: none, or any."""
    method: str
    metric: str
    """As in `benches.grade.metrics`, or in `report.issue_grids.ISSUE_HEADS`."""
    value: float
    """In its unit, as printed."""
    unit: str = "percent"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options that the table states or varies, by the names of the method's options."""
    given: Mapping[str, str] = field(default_factory=dict)
    """Inputs of the method besides (SWT-Bench, Table 5): `test`, `files`, `patch`."""


@cache
def paper_figures(paper: str) -> tuple[PaperFigure, ...]:
    """All figures of a paper, in the file's order."""
    found = []
    for row in _document(paper)["row"]:
        shared = {name: value for name, value in row.items() if name not in _UNITS}
        for unit in _UNITS:
            for metric, value in row.get(unit, {}).items():
                one = PaperFigure(
                    paper=paper, metric=metric, value=float(value), unit=unit, **shared
                )
                found.append(one)
    return tuple(found)


def claims(paper: str = UTGEN) -> list[tuple[str, str]]:
    """Return a paper's claims about differences: (text, place in the paper)."""
    return [(row["text"], row["where"]) for row in _document(paper)["claim"]]


def facts(paper: str) -> list[tuple[str, str, str, float]]:
    """Numbers that no table holds: (where, dataset, name, value)."""
    rows = _document(paper)["fact"]
    return [(row["where"], row["dataset"], row["name"], float(row["value"])) for row in rows]


def notes(paper: str, dataset: str) -> list[str]:
    """Return the caveats of comparing with the paper on a data set."""
    rows = _document(paper).get("note", [])
    return [row["text"] for row in rows if row["dataset"] == dataset]


def settings(paper: str) -> Mapping[str, Any]:
    """Return the paper's settings of all its runs, by the names of the methods' options."""
    found: Mapping[str, Any] = _document(paper).get("settings", {})
    return found


def version_text(paper: str, version: str) -> tuple[str, str]:
    """A version's short label, and what it is."""
    one = _document(paper)["version"][version]
    return one["label"], one["text"]


@cache
def _document(paper: str) -> dict[str, Any]:
    return _read(_FILES[paper])


def _read(name: str) -> dict[str, Any]:
    home = files("refute_lab.report").joinpath("figures")
    return tomllib.loads(home.joinpath(name).read_text(encoding="utf-8"))


# -- paper grids -----------------------------------------------------------------------------------


def paper_rows(
    found: Sequence[Match], heads: Iterable[str], *, empty: int, digits: int
) -> list[Row]:
    """The paper's figures of a run, under it: one row for each version of the paper."""
    heads = list(heads)
    versions: dict[str, dict[str, Match]] = {}
    for match in found:
        if match.figure.metric in heads:
            versions.setdefault(match.version, {})[match.figure.metric] = match
    rows = []
    for label, values in versions.items():
        tables = ", ".join(dict.fromkeys(match.table for match in values.values()))
        cells = [
            Cell(f"{values[name].figure.value:.{digits}f}", values[name].figure.value)
            if name in values
            else text_cell("")
            for name in heads
        ]
        named = next(iter(values.values())).model
        label = f"{label}, {named}" if named else label
        other = ", of other settings" if any(one.differing for one in values.values()) else ""
        rows.append(row_of(f"  {label}: {tables}{other}", *([""] * empty), *cells, kind="paper"))
    return rows


def paper_grid(
    title: str, dataset: str, found: Sequence[tuple[str, Match]], heads: Mapping[str, str]
) -> list[Grid]:
    """Each figure that a paper prints of the same run, with the difference; [] for none.

    `heads`: metric -> what the main table calls it.
    """
    if not found:
        return []
    differ = any(match.differing for _, match in found)
    rows = []
    for label, match in found:
        figure, difference = match.figure, match.difference
        percent = figure.unit == "percent"
        digits = 2 if figure.paper == UTGEN or not percent else 1
        there = match.paper * (100 if percent else 1)
        rows.append(
            row_of(
                label,
                heads.get(figure.metric, "US$ each" if figure.metric == "usd" else figure.metric),
                estimate_cell(match.here, digits)
                if percent
                else count_cell(match.here.value, ".2f"),
                Cell(f"{there:.{digits}f}", there),
                difference_cell(difference) if percent else count_cell(difference.value, "+.2f"),
                ", ".join(filter(None, (match.version, match.model, match.table))),
                f"{match.problems} of {figure.size}",
                *([", ".join(match.differing)] if differ else []),
            )
        )
    paper = found[0][1].figure.paper
    fixed = ", ".join(f"{name}={value}" for name, value in settings(paper).items())
    lines = ["difference [95 % interval of our figure alone: the paper prints no spread]"]
    lines += [f"settings: where the run has others than the paper ({fixed})"] if differ else []
    names = ["", "figure", "here", "paper", "difference", "where", "problems"]
    names += ["settings"] if differ else []
    lines += notes(paper, dataset)
    return [Grid("paper", f"{title}, beside the paper", tuple(names), tuple(rows), tuple(lines))]


def differing(things: str, sizes: Sequence[int], common: int) -> str:
    """The warning that runs stand side by side which do not cover the same."""
    each = f"{min(sizes)} to {max(sizes)}" if len(set(sizes)) > 1 else f"{sizes[0]}"
    return (
        f"warning: the runs cover different {things} ({each} each, {common} in common); "
        "--set common=true restricts every table to the common ones"
    )


# -- paper join ------------------------------------------------------------------------------------


_SAME_DATA = {"he-fix-released": "he-fix", "swt-lite-v1": "swt-lite", "swt-full-v1": "swt-full"}
"""Our name of a form of a data set -> the name that its figures have."""
_LATER = frozenset({"coverage", "coverage_success", "coverage_other"})
"""Of SWT-Bench: what later versions count otherwise than version 1, under the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKey:
    """A run's properties that a paper's tables tell apart."""

    paper: str
    dataset: str
    method: str
    model: str | None
    """As `--model` names it."""
    problems: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    """As `refute_lab.benches.issues.given_words`."""
    rules: str = "later"
    """Of the grading (SWT-Bench): `v1`, or `later`."""
    as_model: str | None = None
    """The paper's model that it is to be compared with, whatever its own is."""
    among_contexts: bool = False
    """Compare it with Table 5 (SWT-Bench), which has a row for a run that is given nothing."""


@dataclass(frozen=True, slots=True)
class Match:
    """A run's figure and the paper's."""

    figure: PaperFigure
    here: Estimate
    """A share in [0, 1], US$ for one problem, or a count."""
    problems: int
    """That the run covers; the paper's: `figure.size`."""
    model: str
    """The paper's model where the run's is another one, as the user asked; else empty."""
    differing: tuple[str, ...]
    """Settings of the run that are not the paper's: `guard=True`."""

    @property
    def paper(self) -> float:
        """The paper's figure, as `here` is scaled: costs are for one problem."""
        scale = {"percent": 100, "dollars": self.figure.size}.get(self.figure.unit, 1)
        return self.figure.value / scale

    @property
    def difference(self) -> Estimate:
        """Here less there. The paper prints no spread: the interval is of our figure alone."""
        one, there = self.here, self.paper
        return Estimate(one.value - there, one.low - there, one.high - there, one.n)

    @property
    def version(self) -> str:
        """`paper`, `paper v1`, `leaderboard`."""
        return version_text(self.figure.paper, self.figure.version)[0]

    @property
    def table(self) -> str:
        """`Table 2`."""
        return self.figure.table


def matches(key: RunKey, value: Callable[[PaperFigure], Estimate | None]) -> list[Match]:
    """The paper's figures of the same run, each beside ours; those that a later table repeats once.

    `value` gives the run's own figure, as `Match.here`; None: it has none.
    """
    found: dict[tuple[str, str], Match] = {}
    for figure in paper_figures(key.paper):
        name = (figure.metric, figure.version)
        if name in found or not _belongs(figure, key):
            continue
        here = value(figure)
        if here is not None and not math.isnan(here.value):
            found[name] = _match(figure, here, key)
    return list(found.values())


def _belongs(figure: PaperFigure, key: RunKey) -> bool:
    model = key.as_model or paper_model(key.model)
    return (
        figure.dataset == _SAME_DATA.get(key.dataset, key.dataset)
        and figure.method in (key.method, key.method.partition(":")[0])
        and figure.model in ("-", model)
        and _same_given(figure, key)
        and _same_version(figure, key)
        and all(_holds(name, wanted, key.options) for name, wanted in figure.options.items())
    )


def _holds(name: str, wanted: Any, options: Mapping[str, Any]) -> bool:
    """Return whether a run has what a table states. More rounds hold fewer: `value` takes that
    round's. Without debugging neither a vote nor backtracking changes the tests that are sampled.
    """
    if name == "m":
        return int(options.get("m", 0)) >= int(wanted)
    if name in ("vote", "backtrack") and options.get("m") == 0:
        return True
    return name in options and bool(options[name] == wanted)


def _same_version(figure: PaperFigure, key: RunKey) -> bool:
    if key.paper != "SWT-Bench":
        return True
    if figure.version == "v1":
        return figure.metric not in _LATER or key.rules == "v1"
    return key.rules != "v1" and not key.dataset.endswith("-v1")


def _same_given(figure: PaperFigure, key: RunKey) -> bool:
    """Table 5 is for runs that are given something, and for the run beside them that is not."""
    given = key.given
    if not given and not key.among_contexts:
        return not figure.given
    patch = "none"
    if "golden patch" in given:
        patch = "golden"
    elif any(word.startswith("patches of ") for word in given):
        patch = "incorrect"
    test = "golden" if "golden test files" in given else "none"
    return bool(figure.given) and (figure.given["test"], figure.given["patch"]) == (test, patch)


def _match(figure: PaperFigure, here: Estimate, key: RunKey) -> Match:
    other = key.as_model is not None and key.as_model != paper_model(key.model)
    differing = tuple(
        f"{name}={key.options[name]}"
        for name, wanted in settings(key.paper).items()
        if key.options.get(name, wanted) != wanted
    )
    model = figure.model if other and figure.model != "-" else ""
    return Match(figure, here, key.problems, model, differing)


PAPER_MODELS = {
    name: (set(needed.split()), set(allowed.split()))
    for name, (needed, allowed) in _read("models.toml").items()
}
"""A paper's model -> the words that its name must hold, and those that it may hold besides."""

_WORD = re.compile(r"\d{4}-\d{2}-\d{2}|\d+x\d+b|v?\d+(?:\.\d+)+|v\d+|\d+b\b|\d+o\b|[a-z]+|\d+")
_VERSION = re.compile(r"(?<=\b\d)-(?=\d\b)")
"""`claude-3-5-sonnet`: 3.5."""


def paper_model(spec: str | None) -> str | None:
    """The paper's name of the model that `--model` names; None where it is none of the papers'."""
    if spec is None:
        return None
    words = set(_words(spec))
    for name, (needed, allowed) in PAPER_MODELS.items():
        if needed <= words <= needed | allowed:
            return name
    return None


def _words(spec: str) -> Iterator[str]:
    """Words of the last part of a path or an id: `hf:a/Meta-Llama-3-8B-Instruct` -> meta, llama, …

    An adapter (`hf:BASE+ADAPTER`) is another model than its base, so it stays among the words.
    """
    provider, colon, rest = spec.partition(":")
    name = rest if colon and provider.isalpha() else spec
    name = name.rstrip("/").rsplit("/", 1)[-1].lower()
    yield from _WORD.findall(_VERSION.sub(".", name))
