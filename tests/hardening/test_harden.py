"""`refute harden` on a small repository: the score, and the tests that it offers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import refute
from refute.doors.command_line import run
from refute.hardening.service import Hardened, Offer, chosen
from refute.hardening.testing import Fate, Trial
from refute.verbs.harden import HardenResult

from ..diffing.repositories import commit, write

PRICES = """
import time


def shipping(weight: int) -> int:
    if weight <= 0:
        raise ValueError("no weight")
    if weight > 20:
        return 15
    return 5


def discount(total: int) -> int:
    return total // 10 if total >= 100 else 0


def year_after(years: int) -> int:
    return time.localtime().tm_year + years


def spin(count: int) -> int:
    while count > 0:
        count -= 1
    return 7
"""
TESTS = """
from shop.prices import shipping, spin


def test_shipping():
    assert shipping(1) == 5
    assert shipping(30) == 15


def test_spin():
    assert spin(3) == 7


def test_red():
    assert shipping(1) == 6
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("harden")
    old = PRICES.replace("> 20", "> 10").replace("// 10", "// 20").replace("_year +", "_year -")
    files: dict[str, str | None] = {
        "shop/__init__.py": "", "shop/prices.py": old, "tests/test_prices.py": TESTS,
    }  # fmt: skip
    commit(root, files, "the base")
    write(root, {"shop/prices.py": PRICES})
    return root


@pytest.fixture(scope="module")
def result(shop: Path) -> HardenResult:
    return refute.harden(since="HEAD", repo=shop, most=3)


def test_what_changed_is_mutated_and_the_tests_are_counted(result: HardenResult) -> None:
    document = result.to_dict()
    assert document["functions"] == 3  # spin did not change
    assert document["project_tests"]["pass"] == 2
    assert document["project_tests"]["do_not_pass"] == 1
    counts = document["mutants"]
    assert counts["survived"] >= 2  # > 20 becomes >= 20 or > 21
    assert counts["unreached"] >= 3  # of discount and year_after
    assert counts["killed"] >= 1  # > 20 becomes <= 20
    assert counts["not_run"] == 0
    assert result.score is not None
    assert 0 < result.score < 0.5


def test_tests_are_offered_for_what_none_reaches_first(result: HardenResult) -> None:
    targets = [one.test.target for one in result.offers]
    assert targets[0] == "discount"
    assert set(targets) == {"discount", "shipping"}  # year_after asks the clock
    assert result.hardened.dropped["depends on the clock, the process or the machine"] == 1
    boundary = next(one for one in result.offers if one.test.target == "shipping")
    assert "shipping(20) == 5" in boundary.test.text
    assert "nobody has said that it is right" in boundary.test.text
    assert {one.edit.operator for one in boundary.kills} <= {"ROR", "CRP"}


def test_each_offered_test_is_green_now_and_red_on_its_mutants(
    result: HardenResult, shop: Path, tmp_path: Path
) -> None:
    """Judged by pytest itself, outside of everything that made them."""
    first = result.offers[0]
    for status, text in enumerate((PRICES, first.kills[0].text)):
        folder = tmp_path / str(status)
        write(folder, {"shop/__init__.py": "", "shop/prices.py": text})
        for number, one in enumerate(result.offers):
            write(folder, {f"test_{number}.py": one.test.text})
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
        env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            command, cwd=folder, capture_output=True, check=False, text=True, env=env
        )
        assert done.returncode == status, done.stdout
        assert ("FAILED test_0.py" in done.stdout) == bool(status)
    assert (shop / "shop" / "prices.py").read_text() == PRICES  # nothing of it changed


def test_the_tests_go_among_the_projects_own(result: HardenResult, shop: Path) -> None:
    assert "+++ b/tests/test_prices.py" in result.patch
    [path] = result.hardened.files()
    assert path == shop / "tests" / "test_prices.py"


def test_a_test_that_kills_nothing_new_is_not_offered(result: HardenResult) -> None:
    offers = list(result.offers)
    twice = [*offers, Offer(offers[0].test, offers[0].input, offers[0].kills[:1], True)]
    assert chosen(twice, 5) == offers
    assert chosen(twice, 1) == offers[:1]


def test_two_packages_with_test_files_of_one_name(tmp_path: Path) -> None:
    """Each has its own `src`; the project's settings tell its test files apart."""
    options = '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n'
    files = {"pyproject.toml": f'{options}pythonpath = ["a/src", "b/src"]\n'}
    for part, name in ("a", "alpha"), ("b", "beta"):
        files[f"{part}/src/{name}/__init__.py"] = ""
        files[f"{part}/src/{name}/half.py"] = "def half(n):\n    return n // 2\n"
        test = f"from {name}.half import half\n\n\ndef test_half():\n    assert half(7) == 3\n"
        files[f"{part}/tests/test_main.py"] = test
    commit(tmp_path, files)
    write(tmp_path, {f: t.replace("n //", "int(n) //") for f, t in files.items() if "half.py" in f})
    document = refute.harden(repo=tmp_path, most=1).to_dict()
    assert document["project_tests"]["pass"] == 2
    assert document["mutants"]["killed"] >= 2


def test_bad_input_is_one_line(shop: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(shop)
    for words in (["--since", "nowhere"], ["tests/test_prices.py"], ["shop/prices.py::nothing"]):
        assert run(["harden", *words]) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert run(["harden", "shop/__init__.py", "--since", "HEAD", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["functions"] == 0


def test_the_time_holds_for_reading(shop: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "refute"):
        result = refute.harden(repo=shop, budget=1e-9)
    assert not result.hardened.mutants
    assert "shop/prices.py: not looked at: no time was left for it" in caplog.messages


def test_what_was_not_run_comes_before_the_score(tmp_path: Path) -> None:
    mutant: Any = None
    fates, trial = [Fate("not run"), Fate("killed")], Trial(tests=1, left=3)
    hardened = Hardened(tmp_path, 1, [mutant] * 2, 2, fates, trial=trial)
    said = str(HardenResult(hardened)).splitlines()
    assert said[0].startswith("3 tests of the project's not run")
    assert said[1].startswith("2 mutants of 1 function: 1 not run, 1 killed; score 100 %")
