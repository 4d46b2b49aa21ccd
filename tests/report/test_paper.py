"""The papers' figures, and which of them belongs beside a run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from refute_lab.benches.grade import metrics
from refute_lab.figures import Estimate
from refute_lab.report.paper import (
    PAPER_MODELS,
    SWT_BENCH,
    UTGEN,
    Match,
    PaperFigure,
    RunKey,
    claims,
    facts,
    matches,
    notes,
    paper_figures,
    paper_model,
    version_text,
)

QWEN = "openai:Qwen/Qwen2.5-Coder-7B-Instruct"
PAPERS_WAY = {"n": 3, "m": 3, "vote": True, "backtrack": True, "guard": False}


def test_every_cell_of_both_papers_is_there() -> None:
    cells = Counter(one.table for one in paper_figures(UTGEN) if one.table != "A.1")
    assert [cells[f"Table {n}"] for n in range(1, 7)] == [36, 48, 20, 10, 21, 72]
    assert sum(cells.values()) == 207
    printed = [one for one in paper_figures(SWT_BENCH) if one.version == "v1"]
    assert len(printed) + len(facts(SWT_BENCH)) == 173
    tables = Counter(one.table for one in printed)
    assert [tables[f"Table {n}"] for n in range(2, 9)] == [28, 20, 12, 24, 8, 3, 6]
    later = [one for one in paper_figures(SWT_BENCH) if one.version == "later"]
    assert len(later) == 2 * 35
    assert {one.size for one in later} == {276, 433}


def test_every_figure_says_what_it_is_of() -> None:
    for paper in (UTGEN, SWT_BENCH):
        keys = Counter(
            (
                f.version,
                f.table,
                f.dataset,
                f.model,
                f.method,
                f.metric,
                str(f.options),
                str(f.given),
            )
            for f in paper_figures(paper)
        )
        assert max(keys.values()) == 1
        assert {f.model for f in paper_figures(paper)} <= {*PAPER_MODELS, "-"}
        assert all(abs(f.value) <= 100 for f in paper_figures(paper) if f.unit == "percent")
        assert all(where for _, where in claims(paper))
        assert all(version_text(paper, f.version) for f in paper_figures(paper))
    known = {*metrics([]), "written_accuracy", "code_accuracy_difference"}
    assert {f.metric for f in paper_figures(UTGEN)} <= known
    assert claims(SWT_BENCH) != claims()
    assert notes(UTGEN, "he-fix")


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (QWEN, "Qwen2.5 7B"),
        ("hf:/models/qwen2.5-coder-7b-instruct/", "Qwen2.5 7B"),
        ("openai:qwen2.5-coder-32b-instruct", "Qwen2.5 32B"),
        ("hf:meta-llama/Meta-Llama-3-8B-Instruct", "Llama3 8B"),
        ("hf:meta-llama/Llama-3.1-8B-Instruct", "Llama3.1 8B"),
        ("openai:gpt-4-1106-preview", "GPT-4"),
        ("openai:gpt-4o-2024-08-06", "GPT-4o"),
        ("openai:gpt-4o-mini", "GPT-4o mini"),
        ("openai:claude-3-5-sonnet-20240620", "Claude 3.5 Sonnet"),
        ("openai:mistralai/Mixtral-8x22B-Instruct-v0.1", "Mixtral 8x22B"),
        ("openai:deepseek-ai/DeepSeek-V3", "DeepSeek V3"),
        ("hf:Qwen/Qwen2.5-7B-Instruct", None),
        ("hf:Qwen/Qwen2.5-Coder-7B", None),
        ("hf:Qwen/Qwen2.5-Coder-7B-Instruct-AWQ", None),
        ("hf:Qwen/Qwen2.5-Coder-7B-Instruct+runs/adapter", None),
        ("openai:gpt-4-turbo", None),
        ("openai:gpt-4.1", None),
        ("openai:base", None),
        ("batch:answers", None),
        (None, None),
    ],
)
def test_names_of_models(spec: str | None, name: str | None) -> None:
    assert paper_model(spec) == name


def joined(**key: Any) -> dict[str, Match]:
    """By metric, and version where it is not the first; our figure is 50 %."""
    wanted = {"paper": UTGEN, "dataset": "he-fix", "method": "utgen", "model": QWEN, "problems": 79}
    found = matches(RunKey(**{**wanted, "options": PAPERS_WAY, **key}), lambda _: Estimate(0.5))
    names = [
        m.figure.metric if m.figure.version == "v1" else f"{m.figure.metric}, later" for m in found
    ]
    return dict(zip(names, found, strict=True))


def test_a_run_meets_the_cell_of_its_method_model_and_options() -> None:
    found = joined()
    assert found["code_accuracy"].figure.table == "Table 2"
    assert found["code_accuracy"].paper == pytest.approx(0.8291)
    assert found["attack_rate"].figure.table == "Table 6"
    assert found["code_accuracy"].differing == ()
    guarded = joined(options={**PAPERS_WAY, "guard": True})
    assert guarded["code_accuracy"].differing == ("guard=True",), "it differs, and that is said"


@pytest.mark.parametrize(
    "change",
    [{"n": 1}, {"m": 2}, {"m": 0, "vote": False}, {"vote": False}, {"backtrack": False}],
)
def test_other_options_have_no_cell_of_table_2(change: dict[str, Any]) -> None:
    found = joined(options={**PAPERS_WAY, **change})
    assert "code_accuracy" not in found
    assert ("attack_rate" in found) == ("m" in change), "ablations have no cell of Tables 1 and 6"


def test_ablations_have_their_own_cell() -> None:
    own = joined(dataset="mbpp-fix", options={**PAPERS_WAY, "vote": False})["code_accuracy"]
    assert own.figure.table == "Table 4"
    assert own.figure.options["vote"] is False
    assert joined(dataset="mbpp-fix", options=PAPERS_WAY)["code_accuracy"].paper > own.paper


def test_more_rounds_hold_the_third() -> None:
    rounds: list[Any] = []

    def value(figure: PaperFigure) -> Estimate:
        rounds.append(figure.options.get("m"))
        return Estimate(0.5)

    key = RunKey(
        paper=UTGEN, dataset="he-fix", method="utgen", model=QWEN, options={**PAPERS_WAY, "m": 5}
    )
    assert any(match.figure.table == "Table 2" for match in matches(key, value))
    assert 3 in rounds, "the caller is told which round is compared"


def test_another_model_or_data_set_has_none() -> None:
    assert joined(model="openai:base") == {}
    assert joined(dataset="rows.jsonl") == {}
    assert joined(method="search", model=None) == {}
    asked = joined(model="openai:base", as_model="Qwen2.5 7B")
    assert asked["code_accuracy"].model == "Qwen2.5 7B", "named, for it is not the run's own"


def test_judges_meet_table_3() -> None:
    judge = {"paper": UTGEN, "dataset": "humaneval+", "method": "judge:utgen"}
    found = joined(**judge, options={"samples": 10, "n": 3})
    assert found["code_accuracy"].figure.table == "Table 3"
    assert "written_accuracy" in found, "one sample is the same for every judge"
    assert "code_accuracy" not in joined(**judge, options={"samples": 5, "n": 3})


def swt(**key: Any) -> dict[str, Match]:
    wanted = {"paper": SWT_BENCH, "dataset": "swt-lite", "method": "zeroshotplus", "options": {}}
    return joined(**{**wanted, "model": "openai:gpt-4", **key})


def test_versions_of_swt_bench_are_told_apart() -> None:
    found = swt()
    assert (found["success"].figure.value, found["success, later"].figure.value) == (6.3, 9.4)
    assert found["success"].version != found["success, later"].version
    assert "coverage" not in found, "version 1 counts other lines"
    assert found["coverage, later"].figure.value == 21.5
    assert found["usd"].paper == pytest.approx(80.7 / 253), "a piece"
    old = swt(dataset="swt-lite-v1", rules="v1")
    assert old["coverage"].figure.value == 8.5
    assert not any(name.endswith("later") for name in old)


def test_what_is_given_leads_to_table_5() -> None:
    found = swt(given=("golden test files", "golden patch"))
    assert (found["success"].figure.table, found["success"].figure.value) == ("Table 5", 16.9)
    wrong = swt(given=("patches of x.jsonl", "told that it may be wrong"))
    assert wrong["success"].figure.value == 6.6
    assert swt()["success"].figure.table == "Table 2"
    beside = swt(among_contexts=True)
    assert (beside["success"].figure.table, beside["success"].figure.value) == ("Table 5", 4.4)


def test_every_cell_of_both_papers_can_be_met() -> None:
    """Each has a run that is set beside it, or beside an equal one of an earlier table."""
    for paper in (UTGEN, SWT_BENCH):
        for figure in paper_figures(paper):
            words = {"golden": "golden patch", "incorrect": "patches of x", "none": ""}
            given = {"golden test files"} if figure.given.get("test") == "golden" else set()
            given |= {words[figure.given.get("patch", "none")]} - {""}
            key = RunKey(
                paper=paper,
                dataset=figure.dataset,
                method=figure.method,
                model=None,
                as_model=None if figure.model == "-" else figure.model,
                options=figure.options,
                given=tuple(given),
                rules="v1" if figure.version == "v1" else "later",
                among_contexts=bool(figure.given),
            )
            met = [m.figure for m in matches(key, lambda _: Estimate(0.5))]
            same = {(f.metric, f.version, f.value) for f in met}
            assert (figure.metric, figure.version, figure.value) in same, figure


def test_the_difference_has_the_interval_of_our_figure() -> None:
    one = next(figure for figure in paper_figures(UTGEN) if figure.metric == "attack_rate")
    difference = Match(one, Estimate(0.5, 0.4, 0.6), 10, "", ()).difference
    assert difference.value == pytest.approx(0.5 - one.value / 100)
    assert difference.high - difference.low == pytest.approx(0.2)
