"""Generated tests as a filter of fixes: judged on a real repository, and from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from refute.doors import command_line
from refute.errors import WorkspaceUnavailable
from refute_lab.datasets.swe import IssueItem
from refute_lab.swt import state_reports
from refute_lab.swt.repair import FilterTask, Judgement, filter_result, judge_fix

from ..shop import CART, FIXED, KEY, PATCH, TEST_PATCH, TESTS, Shop, diff, new_file

RIGHT = PATCH
WRONG = diff("shop/cart.py", CART, CART.replace("- discount", "- discount + 0"))
PARTIAL = diff(
    "shop/cart.py",
    CART,
    CART.replace("    return", "    if not result:\n        return 0\n    return"),
)
BREAKS = diff("shop/cart.py", CART, FIXED.replace("sum(prices)", "max(sum(prices) - 1, 0)"))
HANGS = diff("shop/cart.py", CART, "while True:\n    pass\n")
CHEATS = diff("tests/test_cart.py", TESTS, TESTS.replace("assert", "assert True or"))
REPRODUCES = new_file(
    "from shop.cart import total\n\n\ndef test_it():\n    assert total([1], 2) == 0\n"
)
LENIENT = new_file(
    "from shop.cart import total\n\n\ndef test_it():\n    assert total([], 2) == 0\n"
)
PASSES = new_file(
    "from shop.cart import total\n\n\ndef test_it():\n    assert total([2], 1) == 1\n"
)


def judged(shop: Shop, fix: str, tests: str, *, timeout: float = 120.0) -> Judgement:
    task = FilterTask(IssueItem(shop.problem, KEY), fix, tests, 0.75)
    store = state_reports(shop.states, shop.problem, "local")
    return judge_fix(task, shop.spawn, store, timeout=timeout)


@pytest.mark.parametrize(
    ("fix", "tests", "resolved", "verdict"),
    [
        (RIGHT, REPRODUCES, True, "success"),
        (WRONG, REPRODUCES, False, "fails_after"),
        (PARTIAL, LENIENT, False, "success"),
        (BREAKS, REPRODUCES, False, "success"),
        (RIGHT, PASSES, True, "passes_before"),
        (RIGHT, "", True, "empty"),
        ((RIGHT + CHEATS).rstrip("\n"), REPRODUCES, True, "success"),
    ],
)
def test_what_both_kinds_of_tests_say(
    shop: Shop, fix: str, tests: str, resolved: bool, verdict: str
) -> None:
    found = judged(shop, fix, tests)
    assert (found.status, found.resolved, found.verdict) == ("judged", resolved, verdict)
    assert found.kept == (verdict == "success")
    assert found.confidence == 0.75


GREEN = {
    "runner": "import _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n",
    "assertions": "import ast, _pytest.assertion.rewrite as r\n"
    "r.AssertionRewriter.visit_Assert = lambda self, node: [ast.copy_location(ast.Pass(), node)]\n",
    "values": "class Same(int):\n    __eq__ = lambda *a: True\n    __hash__ = None\n\n\n"
    "def sum(x):\n    return Total(x)\n\n\nclass Total(list):\n"
    "    __sub__ = lambda *a: Same()\n    __gt__ = __lt__ = lambda *a: False\n",
}


@pytest.mark.parametrize("how", GREEN)
def test_what_turns_tests_green_resolves_nothing(shop: Shop, how: str) -> None:
    found = judged(shop, diff("shop/cart.py", CART, GREEN[how] + CART), REPRODUCES)
    assert (found.status, found.resolved, found.kept) == ("judged", False, False)
    assert found.verdict in ("not_trusted", "fails_after")


@pytest.mark.parametrize(
    "fix", ["", "not a diff", CHEATS, RIGHT.replace("result = sum", "result = max")]
)
def test_what_does_not_apply_is_no_candidate(shop: Shop, fix: str) -> None:
    found = judged(shop, fix, REPRODUCES)
    assert (found.status, found.resolved, found.kept) == ("not_applied", False, False)


def test_a_fix_that_hangs_is_judged(shop: Shop) -> None:
    judged(shop, RIGHT, REPRODUCES)  # golden states are kept, so the short time is the fix's
    found = judged(shop, HANGS, REPRODUCES, timeout=1.0)
    assert (found.resolved, found.kept) == (False, False)


def test_golden_tests_that_reproduce_nothing_judge_nothing(shop: Shop) -> None:
    from dataclasses import replace

    key = replace(KEY, test_patch=diff("tests/test_cart.py", TESTS, f"{TESTS}\n\nX = 1\n"))
    task = FilterTask(IssueItem(shop.problem, key), RIGHT, REPRODUCES)
    store = state_reports(shop.states, shop.problem, "local")
    with pytest.raises(WorkspaceUnavailable, match="reproduce nothing"):
        judge_fix(task, shop.spawn, store, timeout=120.0)


def test_precision_recall_and_the_trade_off() -> None:
    def one(id: str, resolved: bool, verdict: Any, confidence: float) -> Judgement:
        return Judgement(id, "judged", resolved, verdict, confidence)

    rows = [
        one("a", True, "success", 0.9),
        one("b", True, "success", 0.5),
        one("c", False, "success", 0.5),
        one("d", True, "fails_after", 1.0),
        one("e", False, "empty", 1.0),
        one("f", False, "passes_before", 1.0),
        Judgement("g", "not_applied", False, "not_applicable", 1.0),
    ]
    result = filter_result(rows)
    assert (result.proposed, result.unfiltered.kept) == (7, 6)
    assert (result.unfiltered.precision, result.unfiltered.recall) == (0.5, 1.0)
    assert result.filtered.precision == pytest.approx(2 / 3)
    assert result.filtered.recall == pytest.approx(2 / 3)
    assert [(p.threshold, p.kept, p.right) for p in result.curve] == [(0.9, 1, 1), (0.5, 3, 2)]
    assert result.resolved_ids == {"a", "b", "d"}
    empty = filter_result([])
    assert empty.filtered.precision != empty.filtered.precision, "NaN: nothing was kept"
    assert empty.curve == ()


def test_from_the_command_line(
    shop: Shop,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(shop.states.parent / "cache"))
    recipe = shop.problem.recipe
    assert recipe is not None
    names = ("shop-0", "shop-1", "shop-2", "shop-3")
    rows = [
        {
            "instance_id": name,
            "repo": shop.problem.repo,
            "base_commit": shop.problem.base_commit,
            "problem_statement": "negative",
            "patch": PATCH,
            "test_patch": TEST_PATCH,
            "environment": {
                "interpreter": sys.executable,
                "editable": False,
                "env": dict(recipe.env),
                "test_command": "python -m pytest tests/test_cart.py",
            },
        }
        for name in names
    ]
    data, fixes, run = tmp_path / "rows.jsonl", tmp_path / "fixes.jsonl", tmp_path / "run"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    proposed = dict(zip(names, (RIGHT, WRONG, None, RIGHT), strict=True))
    fixes.write_text(
        "".join(
            json.dumps({"instance_id": id, "model_name_or_path": "fixer", "model_patch": fix})
            + "\n"
            for id, fix in proposed.items()
        )
    )
    work = [
        {
            "id": name,
            "status": "predicted",
            "prediction": {"patch": REPRODUCES if at != 3 else "", "confidence": 0.5 + at / 10},
            "alternatives": [],
            "steps": [],
            "seconds": 1.0,
        }
        for at, name in enumerate(names)
    ]
    run.mkdir()
    header = {"kind": "issues", "dataset": str(data), "method": "snippet", "model": None}
    lines: list[dict[str, Any]] = [{"journal": 1, "settings": header}, *work]
    (run / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = ["bench", str(data), "--filter", str(fixes), "--run", str(run), "--jobs", "2"]
    assert command_line.run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["proposed"], document["applied"]) == (4, 3)
    assert document["unfiltered"]["precision"] == pytest.approx(2 / 3)
    filtered = document["filtered"]
    assert (filtered["kept"], filtered["precision"], filtered["recall"]) == (1, 1.0, 0.5)
    assert [point["threshold"] for point in document["curve"]] == [0.5]
    journal = Path(document["run"]) / "journal.jsonl"
    before = journal.read_bytes()
    assert command_line.run(words) == 0
    assert "kept by generated tests" in capsys.readouterr().out
    assert journal.read_bytes() == before, "nothing is run twice"
    lines[1]["prediction"]["confidence"] = 0.25
    (run / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert command_line.run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["curve"][0]["threshold"] == 0.25
    assert journal.read_bytes().startswith(before)
    assert journal.read_bytes().count(b"\n") == before.count(b"\n") + 1, "what changed is judged"
    assert command_line.run(words[:4]) == 2
    assert "--run" in capsys.readouterr().err
