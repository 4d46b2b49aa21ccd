"""SWE-bench, SWT-Bench and their successors: issues of real repositories with their golden patches
and tests.

>>> items = load_issues("swt-lite", data=Path("shared/data"), limit=5)
>>> items[0].problem        # what a method may see: repository, commit, issue text
>>> items[0].key            # what only a grader may see: golden patch, golden tests

| field | | |
|---|---|---|
| ``instance_id``, ``repo``, ``base_commit``, ``problem_statement`` | needed | |
| ``patch`` or ``golden_code_patch`` | needed | the fix, without test files |
| ``test_patch`` or ``golden_test_patch`` | needed | its tests |
| ``FAIL_TO_PASS``, ``PASS_TO_PASS``, or in small letters | | a list, or a string of one (JSON, Python) |
| ``created_at``, ``version`` | | |
| ``requirements``, ``interface`` | | SWE-bench Pro: text that is shown after the issue |
| ``language``, ``repo_language`` | | rows of other languages than Python are left out |
| ``text`` | | a prompt about the issue, for `row_prompt` |
| ``environment``, ``image``, ... | | how tests are run: see `refute_lab.swt.workspaces` |

``hints_text`` is never shown: it holds comments that were written after the issue was opened. The
SWT-Bench authors' prompt datasets wrap the golden patch in ``<patch>`` tags and may hold the two
patches in each other's place; both are undone.

| data set | paper; licence | instances | source |
|---|---|---|---|
| ``tdd-verified`` | TDD-Bench Verified, arXiv 2412.02883; Apache-2.0 | 449 of SWE-bench Verified's 500 | rows of SWE-bench Verified (or ``TDD_Bench.json``); the list is ``id_list.txt`` of github.com/IBM/TDD-Bench-Verified |
| ``swe-rebench`` | arXiv 2505.20411; CC-BY-4.0 | 21,336, all Python | hub: nebius/SWE-rebench; V2 (arXiv 2602.23866): 32,079 in 20 languages, give its file |
| ``swe-pro`` | SWE-bench Pro, arXiv 2509.16941; MIT | 731 public ones of 1,865, from 11 repositories | hub: ScaleAI/SWE-bench_Pro; environments are inferred: its images hold the tree in ``/app``, where no container is looked into here |
"""  # noqa: E501

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from refute.core.problems import IssueKey, IssueProblem
from refute.core.starting import Variable
from refute.core.storage import parse_json
from refute.errors import DatasetError
from refute.source.literals import NotLiteral
from refute.workspace.patches import split_tests
from refute_lab.datasets.originfmt import parse
from refute_lab.datasets.rows import (
    DATASETS,
    DatasetSpec,
    Items,
    Keep,
    LoaderOptions,
    Row,
    find_file,
    from_rows,
    made,
    read_rows,
    rows_at,
)
from refute_lab.swt.workspaces import recipe_of_row

# -- swt subsets -----------------------------------------------------------------------------------


@cache
def listed(subset: str) -> frozenset[str]:
    """Ids that ``lite``, ``verified``, ``full`` or ``v1`` leaves out, or ``tdd`` keeps.

    Raises `KeyError`.
    """
    lists = tomllib.loads(files("refute_lab.datasets").joinpath("excluded.toml").read_text())
    return frozenset(
        f"{repository}-{number}"
        for repository, numbers in lists[subset].items()
        for number in numbers.split()
    )


@dataclass(frozen=True, slots=True)
class IssueItem:
    """A row of a benchmark. Hand a method the `problem` only; the `key` is for graders."""

    problem: IssueProblem
    key: IssueKey


_STARTS = {
    "lite": ("SWT-bench_Lite", "SWT-bench-Lite", "swtbench-lite", "swt-lite"),
    "verified": ("SWT-bench_Verified", "SWT-bench-Verified", "swtbench-verified", "swt-verified"),
    "full": ("SWT-bench_full", "SWT-bench-full", "swtbench-full", "swt-full"),
}
"""Starts of the names of a subset's files; those of SWE-bench have an ``e`` for the ``t``."""


def issue_datasets() -> dict[str, DatasetSpec[IssueItem]]:
    """The datasets of issues that `load_issues` knows, by name."""
    return {spec.name: spec for spec in DATASETS.all() if spec.level == "issue"}


def holds_issues(name_or_path: str) -> bool:
    """Return whether a dataset is one of issues: by its name, or by the first row of the file."""
    if name_or_path in issue_datasets():
        return True
    path = Path(name_or_path)
    if not path.is_file():
        return False
    try:
        first = next(read_rows(path), None)
    except (DatasetError, OSError):
        return False  # whoever reads it says what is wrong
    return first is not None and "instance_id" in first.fields


def load_issues(
    name_or_path: str | Path,
    *,
    data: Path | str | None = None,
    ids: Collection[str] | None = None,
    limit: int | None = None,
) -> list[IssueItem]:
    """The issues of a dataset with their answer keys, in the order of the file.

    `name_or_path`: one of `issue_datasets`, or a JSONL, JSON or gzip file with SWE-bench's fields,
    all of whose rows are taken. ``swt-...`` leaves out what SWT-Bench leaves out of SWE-bench.
    `data`: the file or the directory that holds it; None: the environment variable REFUTE_DATA,
    else the public hub. `ids`: only these; each must be there. `limit`: at most this many.

    Raises `DatasetError`: no data or no row, a malformed row, an unknown or repeated id.
    """
    name = str(name_or_path)
    known = issue_datasets()
    path = data if data is not None else os.environ.get(Variable.DATA) or None
    items = known[name].items if name in known else _in_file
    if name not in known:
        path = name
        if not Path(name).is_file():
            raise DatasetError(f"{name}: neither a file nor one of {', '.join(known)}")
    wanted = None if ids is None else set(ids)
    found: list[IssueItem] = []
    seen: set[str] = set()

    def keep(row: Row) -> bool:
        identity = row.text("instance_id")
        if identity in seen:
            raise row.error("instance_id", f"{identity} is there twice")
        seen.add(identity)
        return wanted is None or identity in wanted

    for item in items(None if path is None else Path(path), LoaderOptions(), keep):
        if limit is not None and len(found) >= limit:
            return found
        found.append(item)
    if wanted is not None and wanted - seen:
        dropped = _dropped(name) if name in known else frozenset[str]()
        missing = (
            f"{one} ({name} leaves it out)" if one in dropped else one for one in wanted - seen
        )
        raise DatasetError(f"{name}: no instance with id {', '.join(sorted(missing))}")
    if not found:
        raise DatasetError(f"{name}: no instance is left")
    return found


def _in_file(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[IssueItem]:
    assert path is not None
    return made(filter(keep, read_rows(path)), _item)


def _published(name: str) -> Items[IssueItem]:
    """Return a reader of a subset of SWE-bench or SWT-Bench, which leaves instances out."""
    kind, subset, version = _parts(name)
    swe = tuple(start.replace("SWT", "SWE").replace("swt", "swe") for start in _STARTS[subset])
    starts = (*_STARTS[subset], *swe) if kind == "swt" and not version else swe
    dropped = _dropped(name)

    def items(path: Path | None, options: LoaderOptions, keep: Keep) -> Iterator[IssueItem]:
        if path is not None and find_file(path, *starts) is None:
            raise DatasetError(f"{path}: {name} needs {swe[0]}*.jsonl[.gz] there")
        rows = rows_at(f"swe-{subset}" if path is None else name, path, starts)
        there = (row for row in rows if row.text("instance_id") not in dropped)
        return made(filter(keep, there), _item)

    return items


def _parts(name: str) -> tuple[str, str, str]:
    """swt or swe, the subset, and the version of the paper ("": the list of today)."""
    kind, subset, version = (*name.split("-"), "")[:3]
    return kind, subset, version


def _dropped(name: str) -> frozenset[str]:
    """Ids of SWE-bench's subset that the dataset leaves out."""
    kind, subset, version = _parts(name)
    return listed(version or subset) if kind == "swt" else frozenset()


def _item(row: Row) -> IssueItem:
    identity, repo = row.text("instance_id"), row.text("repo")
    patch, tests = _patches(row)
    problem = IssueProblem(
        id=identity,
        repo=repo,
        base_commit=row.text("base_commit"),
        text=_text(row),
        recipe=_complaining(row, "environment", lambda: recipe_of_row(row.fields)),
        created_at=row.optional_text("created_at") or "",
        version=row.optional_text("version") or "",
        prompt=text if isinstance(text := row.fields.get("text"), str) else "",
    )
    key = IssueKey(
        id=identity,
        patch=patch,
        test_patch=tests,
        fail_to_pass=_names(row, "FAIL_TO_PASS"),
        pass_to_pass=_names(row, "PASS_TO_PASS"),
    )
    return IssueItem(problem, key)


def _text(row: Row) -> str:
    """The issue, and what SWE-bench Pro's authors show after it (``requirements`` of SWE-rebench is
    a list of packages)."""
    more = ("requirements", "interface") if "interface" in row.fields else ()
    parts = [(name, row.optional_text(name)) for name in more]
    told = (f"\n\n{name.capitalize()}:\n{text}" for name, text in parts if text)
    return row.text("problem_statement") + "".join(told)


def _is_python(row: Row) -> bool:
    languages = (row.fields.get(name) for name in ("language", "repo_language"))
    return all(one is None or str(one).lower() == "python" for one in languages)


def _patches(row: Row) -> tuple[str, str]:
    """Golden patch and golden tests."""
    patch = row.text("golden_code_patch" if "golden_code_patch" in row.fields else "patch")
    tests = row.text("golden_test_patch" if "golden_test_patch" in row.fields else "test_patch")
    if not patch.lstrip().startswith("<patch>"):
        return patch, tests
    patch = patch.strip().removeprefix("<patch>").removesuffix("</patch>").strip("\n") + "\n"
    tests = tests.strip("\n") + "\n"
    if not split_tests(patch)[1] and split_tests(tests)[1]:
        return tests, patch
    return patch, tests


def _names(row: Row, field: str) -> tuple[str, ...]:
    """Test ids: a list, or a string that holds a list."""
    value = row.fields.get(field, row.fields.get(field.lower()))
    if isinstance(value, str):
        value = _complaining(row, field, lambda: _value(str(value))) if value.strip() else []
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise row.error(field, "must be a list of strings, or a string that holds one")
    return tuple(value)


def _value(text: str) -> Any:
    """Read a JSON text or a Python literal; published rows hold both."""
    try:
        return parse_json(text)
    except ValueError:
        return parse(text)


def _complaining(row: Row, field: str, read: Callable[[], Any]) -> Any:
    """Return the result of `read`; its complaints name the row's place."""
    try:
        return read()
    except DatasetError:
        raise
    except (NotLiteral, ValueError) as e:
        raise row.error(field, str(e)) from None


def _spec(name: str) -> DatasetSpec[IssueItem]:
    kind, subset, version = _parts(name)
    of = "SWT-Bench" if kind == "swt" else "SWE-bench"
    listed = f" as the paper's {version} has it" if version else ""
    summary = f"{of} {subset.capitalize()}{listed}: issues of Python repositories"
    return DatasetSpec(name=name, summary=summary, items=_published(name), level="issue")


SWT_LITE, SWT_VERIFIED, SWT_FULL = (_spec(f"swt-{subset}") for subset in _STARTS)
SWT_LITE_V1, SWT_FULL_V1 = (_spec(f"swt-{subset}-v1") for subset in ("lite", "full"))
SWE_LITE, SWE_VERIFIED, SWE_FULL = (_spec(f"swe-{subset}") for subset in _STARTS)


def swe_dataset(name: str, summary: str, *starts: str, kept: str = "") -> DatasetSpec[IssueItem]:
    """A dataset of rows in SWE-bench's form.

    `starts`: how the names of its files begin. `kept`: only the instances of this list (`listed`).
    """

    def admits(row: Row, options: LoaderOptions) -> bool:
        return _is_python(row) and (not kept or row.text("instance_id") in listed(kept))

    items = from_rows(name, starts, lambda row, options: _item(row), admits=admits)
    return DatasetSpec(name=name, summary=summary, items=items, level="issue", starts=starts)


TDD_VERIFIED = swe_dataset(
    "tdd-verified",
    "TDD-Bench Verified: 449 issues, graded by tddScore",
    "TDD_Bench",
    "SWE-bench_Verified",
    kept="tdd",
)
SWE_REBENCH = swe_dataset(
    "swe-rebench", "SWE-rebench: 21,336 issues of Python repositories", "SWE-rebench"
)
SWE_PRO = swe_dataset(
    "swe-pro", "SWE-bench Pro: the Python ones of its 731 public issues", "SWE-bench_Pro"
)
