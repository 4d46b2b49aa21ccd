"""SWE-bench and SWT-Bench: issues of real repositories with their golden patches and tests.

>>> items = load_issues("swt-lite", data=Path("shared/data"), limit=5)
>>> items[0].problem        # what a method may see: repository, commit, issue text
>>> items[0].key            # what only a grader may see: golden patch, golden tests

| field | | |
|---|---|---|
| ``instance_id``, ``repo``, ``base_commit``, ``problem_statement`` | needed | |
| ``patch`` or ``golden_code_patch`` | needed | the fix, without test files |
| ``test_patch`` or ``golden_test_patch`` | needed | its tests |
| ``FAIL_TO_PASS``, ``PASS_TO_PASS`` | | a list, or a string that holds one (JSON or Python) |
| ``created_at``, ``version`` | | |
| ``text`` | | a prompt about the issue, for `row_prompt` |
| ``environment``, ``image``, ... | | how tests are run: see `refute_lab.swt.workspaces` |

``hints_text`` is never shown: it holds comments that were written after the issue was opened. The
SWT-Bench authors' prompt datasets wrap the golden patch in ``<patch>`` tags and may hold the two
patches in each other's place; both are undone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
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
    made,
    read_rows,
    rows_at,
)
from refute_lab.swt.workspaces import recipe_of_row

# -- swt subsets -----------------------------------------------------------------------------------


def excluded(subset: str) -> frozenset[str]:
    """Ids that ``lite``, ``verified``, ``full`` or ``v1`` leaves out. Raises `KeyError`."""
    return frozenset(
        f"{repository}-{number}"
        for repository, numbers in _EXCLUDED[subset].items()
        for number in numbers.split()
    )


_EXCLUDED = {
    "lite": {
        "django__django": "13658",
        "pallets__flask": "4045",
        "psf__requests": "863 1963 2148 2317 2674",
        "pytest-dev__pytest": "5103 6116 7220 7490 11143 11148",
        "sphinx-doc__sphinx": "7686 7738 7975 8273 8282",
        "sympy__sympy": "11870 11897 12454 13146 13177 13915",
    },
    "verified": {
        "astropy__astropy": "7166 7336 7606 7671 8707",
        "django__django": """
        7530 10097 11149 11292 12039 12143 12193 13089 13658 14007 14011 14349 15987 16454
        16560
        """,
        "matplotlib__matplotlib": "20488 25775",
        "psf__requests": "1724 1766 1921 2317",
        "pydata__xarray": "2905 3305 3993 4094 4695 6744 6992",
        "pylint-dev__pylint": "4551 4604 4661 6528",
        "pytest-dev__pytest": "7205 7490 7571 8399",
        "scikit-learn__scikit-learn": "14710 25102 25232 25747 25931 25973 26194 26323",
        "sphinx-doc__sphinx": """
        7440 7454 7462 7590 7748 7757 7889 7910 7985 8035 8056 8120 8265 8269 10323 10435
        """,
        "sympy__sympy": "13091 13878",
    },
    "full": {
        "astropy__astropy": "8707 8715 8747 12842 12891 13075 13158 13234 13390 13572 14701",
        "django__django": """
        5158 5470 7188 7475 7530 8326 8961 9003 9703 9871 10087 10097 10213 10287 10301
        10316 10426 10853 11034 11062 11096 11270 11281 11292 11701 11883 11903 11991 12009
        12039 12143 12193 12343 12364 12503 12508 12519 12928 13085 13089 13118 13207 13250
        13530 13589 13606 13615 13616 13658 13808 14007 14011 14026 14182 14349 14463 14802
        15521 15987 16092 16302 16454 16560 16657 16670 16920 17058
        """,
        "matplotlib__matplotlib": "19553 20374 20488 23057 23198 25775 26399 26469",
        "pallets__flask": "4045 4074 4160 4169 4544 4575 4642",
        "psf__requests": """
        774 863 1339 1657 1689 1724 1766 1888 2148 2153 2317 2617 2674 2754 2821 4356 4718
        """,
        "pydata__xarray": """
        3302 3631 3733 4423 4683 4758 4827 4879 4939 5187 5233 5365 6135 6598 7019 7052 7105
        7179 7444
        """,
        "pylint-dev__pylint": """
        4421 4551 4604 4661 5446 5839 6196 6526 6528 6556 8169 8757 8819 8929
        """,
        "pytest-dev__pytest": """
        5103 5479 5980 6116 6283 7122 7151 7205 7220 7231 7314 7490 7571 7673 7749 7939 7985
        8033 8055 8124 8250 8399 8950 9064 9624 9681 9780 10371 10442 10758 11041 11047
        11143 11148
        """,
        "scikit-learn__scikit-learn": """
        10427 10459 10483 10774 10803 11206 11585 11596 13302 13915 13933 14012 14024 14309
        14710 14869 14898 14999 24145 25308 25363 25370 25774
        """,
        "sphinx-doc__sphinx": """
        7234 7268 7305 7350 7351 7356 7374 7380 7395 7440 7454 7462 7501 7557 7578 7590 7593
        7597 7615 7670 7686 7738 7748 7757 7760 7762 7814 7831 7854 7859 7889 7906 7910 7923
        7930 7961 7975 7985 8007 8020 8026 8028 8035 8037 8056 8058 8075 8095 8117 8120 8125
        8202 8264 8265 8269 8273 8278 8282 8284 8291 8362 8579 8674 9234 9260 9467 10207
        10757 11489 11503 11544
        """,
        "sympy__sympy": """
        11384 11788 11818 11822 11862 11870 11919 12144 12227 12472 12881 12906 12945 13001
        13091 13173 13177 13198 13236 13286 13678 13682 13865 13878 13988 14031 14082 14699
        15273 15286 15523 16449 16858 16864 18198 18587 18667 18728 19182 24353
        """,
    },
    "v1": {
        "astropy__astropy": """
        6938 8707 8715 8747 12825 12891 13234 13572 14253 14295 14484 14701 14907 14991
        """,
        "django__django": """
        5158 5470 7188 7475 7530 8326 8961 9003 9703 9871 10087 10097 10213 10301 10316
        10426 10531 10730 10904 10957 11011 11030 11062 11141 11166 11169 11170 11260 11270
        11276 11281 11292 11477 11517 11527 11620 11622 11749 11754 11808 11903 11911 12009
        12049 12073 12091 12148 12155 12196 12431 12503 12504 12508 12513 12517 12671 12700
        12708 12713 12906 12910 12915 12928 12933 12957 13066 13085 13162 13207 13287 13347
        13448 13466 13513 13516 13528 13615 13616 13620 13658 13682 13821 13837 13995 14124
        14164 14311 14334 14349 14441 14463 14480 14634 14832 15018 15037 15098 15139 15240
        15272 15400 15421 15423 15467 15483 15521 15525 15526 15560 15569 15572 15576 15586
        15607 15613 15620 15629 15651 15682 15703 15738 15766 15799 15973 15987 16082 16100
        16117 16139 16145 16256 16263 16281 16302 16306 16311 16315 16333 16454 16517 16670
        16801 16920 17045
        """,
        "matplotlib__matplotlib": """
        13859 13908 13913 13959 13980 13983 13984 13989 14043 14623 19553 20374 20488 21318
        22815 23476 23573 24334 25311 25332 25794 26232 26285 26341 26399 26469
        """,
        "mwaskom__seaborn": "2766",
        "pallets__flask": "4045 4074 4160 4169 4544 4575 4642 4935 4992 5014",
        "psf__requests": """
        774 863 1339 1689 1724 1888 2153 2617 2674 2754 2821 2873 2931 3362 3718 3738 4106
        4356 4718 5087 5414 6028
        """,
        "pydata__xarray": """
        2905 2922 3159 3302 3305 3338 3520 3976 3979 3993 4094 4184 4423 4442 4493 4510 4683
        4684 4695 4758 4759 4767 4819 4939 4940 5187 5233 5682 6135 6598 6721 6744 6798 6857
        6938 6971 6992 6999 7019 7089 7101 7112 7120 7179 7347 7391 7393 7444
        """,
        "pylint-dev__pylint": """
        4330 4339 4398 4421 4492 4516 5446 5595 5613 5730 6528 6903 6937 7080 7097 7277 8169
        8683 8757 8799 8819 8929
        """,
        "pytest-dev__pytest": "5103 7122 7168 8055",
        "scikit-learn__scikit-learn": """
        10459 10483 10803 11206 13554 13915 14053 14309 19664 23099 24145 24677 24769 25102
        25232 25308 25443
        """,
        "sphinx-doc__sphinx": """
        7234 7268 7305 7350 7351 7356 7374 7380 7395 7440 7454 7462 7501 7557 7578 7590 7593
        7597 7615 7670 7686 7738 7748 7757 7760 7762 7814 7831 7854 7859 7889 7906 7910 7923
        7930 7961 7975 7985 8007 8020 8026 8028 8035 8037 8056 8058 8075 8095 8117 8120 8125
        8202 8264 8265 8269 8273 8278 8282 8284 8291 8362 8435 8459 8474 8475 8481 8506 8509
        8539 8548 8551 8552 8579 8593 8595 8599 8611 8620 8621 8627 8633 8638 8658 8674 8679
        8684 8697 8707 8713 8719 8721 8729 8731 8771 8801 8863 8951 8969 9015 9053 9104 9128
        9155 9171 9180 9207 9229 9230 9231 9233 9234 9246 9258 9260 9261 9281 9289 9309 9320
        9350 9367 9386 9459 9461 9464 9467 9547 9591 9602 9654 9658 9665 9673 9698 9711 9797
        9798 9799 9828 9829 9902 9931 9982 9987 9997 9999 10021 10048 10067 10097 10137
        10191 10207 10320 10321 10323 10325 10353 10360 10427 10435 10449 10451 10457 10466
        10481 10492 10504 10551 10614 10673 10757 10807 10819 11109 11192 11266 11311 11312
        11316 11445 11489 11502 11503 11510 11544 11550
        """,
        "sympy__sympy": """
        11384 11822 11831 11870 12144 12194 12227 12454 12812 12977 13264 13286 13364 13678
        13682 13761 13773 13798 13865 13878 13962 13988 14031 14085 14104 14180 14817 15273
        15286 16449 16858 16864 18256 18477 19637 21260 21476
        """,
    },
}


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
"""How the names of a subset's files begin; those of SWE-bench have an ``e`` for the ``t``."""


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
    return excluded(version or subset) if kind == "swt" else frozenset()


def _item(row: Row) -> IssueItem:
    identity, repo = row.text("instance_id"), row.text("repo")
    patch, tests = _patches(row)
    problem = IssueProblem(
        id=identity,
        repo=repo,
        base_commit=row.text("base_commit"),
        text=row.text("problem_statement"),
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
    value = row.fields.get(field)
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
