"""The choice of a checkpoint, and a run from rows to an adapter that writes tests in process."""

from __future__ import annotations

import asyncio
import json
import random
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from synthetic.corpus import corpus
from synthetic.family import tasks

from refute.errors import InputError
from refute.function.llm.generation import test_request as request_for
from refute.models.contract import Sampling
from refute_lab.models.hf import open_hf
from refute_lab.train import resolve
from refute_lab.train import select as selecting
from refute_lab.train.select import SELECTION, select
from refute_lab.train.sft import prepare, train

SETTINGS = {"learning_rate": 1e-3, "batch": 2, "micro_batch": 2, "max_steps": 4, "save_steps": 2}


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("REFUTE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "utgen.jsonl"
    made = [r for r in islice(corpus(random.Random(0)), 30) if r.sort == "prompted"][:10]
    path.write_text(
        "".join(json.dumps({"prompt": r.prompt, "completion": r.completion}) + "\n" for r in made)
    )
    return path


@pytest.fixture(scope="module")
def validation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("validation") / "validation.jsonl"
    source = tasks(random.Random(1), faulty=True, part="validation")
    found: list[dict[str, Any]] = []
    for task in source:
        key = task.key()
        found.append(
            {
                "id": task.id,
                "entry_point": key.entry_point,
                "description": task.description,
                "code": task.code,
                "reference": key.reference,
                "inputs": [list(args) for args in key.inputs],
            }
        )
        if len(found) == 2:
            break
    path.write_text("".join(json.dumps(row) + "\n" for row in found))
    return path


@pytest.fixture(scope="module")
def run(
    tiny_base: Path, rows: Path, validation: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Trained and selected, in one go."""
    output = tmp_path_factory.mktemp("runs") / "run"
    resolved = resolve(str(tiny_base), SETTINGS)
    prepared = prepare(rows, resolved.settings)
    trained = train(prepared, resolved, output)
    assert [path.name for path in trained.checkpoints] == ["checkpoint-2", "checkpoint-4"]
    selection = select(output, validation, n=1, max_tokens=8)
    names = [score.name for score in selection.scores]
    assert names == ["base", "checkpoint-2", "checkpoint-4"]
    return output


def test_the_adapter_writes_answers_in_process(run: Path, tiny_base: Path) -> None:
    problem = next(tasks(random.Random(2), faulty=True)).problem()
    request = request_for(problem, problem.code, "prompted")
    model = open_hf(f"{tiny_base}+{run / 'best'}")
    sampling = Sampling(max_tokens=5, seed=0)
    [answer] = asyncio.run(model.generate(request, n=1, sampling=sampling))
    assert 0 < answer.usage.completion_tokens <= 5
    asyncio.run(model.close())


def test_the_card_says_what_it_is(run: Path, tiny_base: Path, rows: Path) -> None:
    card = (run / "best" / "README.md").read_text()
    head, body = card.removeprefix("---\n").split("---\n", 1)
    assert f"base_model: {tiny_base}" in head
    assert "library_name: peft" in head
    chosen = json.loads((run / SELECTION).read_text())["best"]
    assert f"| **{chosen}** |" in body
    assert "| base |" in body
    assert "| learning_rate | 0.001 | given |" in body
    assert "| lora_rank | 16 | the paper |" in body
    assert f"{len(rows.read_text().splitlines())} rows" in body


def test_the_best_is_a_copy_of_its_checkpoint(run: Path) -> None:
    selection = json.loads((run / SELECTION).read_text())
    source = run / selection["best"]
    for name in ("adapter_model.safetensors", "adapter_config.json", "tokenizer.json"):
        assert (run / "best" / name).read_bytes() == (source / name).read_bytes()
    assert not (run / "best" / "optimizer.pt").exists(), "only what is used"
    assert set(selection["scores"]) == {"base", "checkpoint-2", "checkpoint-4"}


def test_a_second_selection_asks_nothing_again(
    run: Path, validation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is in the journals: the model is not even loaded."""

    def never(source: Any) -> Any:
        raise AssertionError("loaded")

    monkeypatch.setattr("refute_lab.models.hf._load", never)
    before = json.loads((run / SELECTION).read_text())
    again = select(run, validation, n=1, max_tokens=8)
    assert again.best == before["best"]


def test_the_most_tests_that_are_right_and_attack_win(
    run: Path, validation: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Not attack alone, not accuracy alone; of equals the earlier; never the base."""
    from types import SimpleNamespace

    from refute_lab.figures import Figure

    def scored(table: dict[str, tuple[float, float, float]]) -> str:
        def score(spec: str, directory: Path, problems: Path, **_: Any) -> Any:
            values = table[directory.name]
            return SimpleNamespace(
                figures={
                    key: Figure(value, 0.01)
                    for key, value in zip(selecting.SHOWN, values, strict=True)
                }
            )

        monkeypatch.setattr(selecting, "score", score)
        return select(run, validation).best

    before = (run / SELECTION).read_text(), (run / "best" / "README.md").read_text()
    base = (1.0, 1.0, 1.0)
    assert (
        scored({"base": base, "checkpoint-2": (0.9, 0.9, 0.2), "checkpoint-4": (0.5, 0.5, 0.4)})
        == "checkpoint-4"
    )
    assert (
        scored({"base": base, "checkpoint-2": (0.1, 0.1, 0.3), "checkpoint-4": (0.9, 0.9, 0.3)})
        == "checkpoint-2"
    )
    assert before[1] != (run / "best" / "README.md").read_text(), "marked anew each time"


@pytest.mark.parametrize("problems", ["he-fix", "missing.jsonl", "humaneval+"])
def test_only_a_file_of_validation_problems(run: Path, problems: str) -> None:
    with pytest.raises(InputError, match="validation problems"):
        select(run, Path(problems))


def test_problems_that_are_tested_on_are_refused(
    run: Path, validation: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Also under another name, in another file."""
    monkeypatch.setattr("refute_lab.train.filters.available", lambda: [str(validation)])
    row = json.loads(validation.read_text().splitlines()[1])
    copied = tmp_path / "copied.jsonl"
    copied.write_text(json.dumps({**row, "id": "mine"}) + "\n")
    with pytest.raises(InputError, match=r"mine is .*do not test on"):
        select(run, copied)


def test_a_folder_without_a_run(tmp_path: Path, validation: Path) -> None:
    with pytest.raises(InputError, match="no run of training"):
        select(tmp_path, validation)
    (tmp_path / "settings.json").write_text("{}")
    with pytest.raises(InputError, match="damaged"):
        select(tmp_path, validation)
    (tmp_path / "settings.json").write_text('{"settings": {"model": "m"}}')
    with pytest.raises(InputError, match="no whole checkpoint"):
        select(tmp_path, validation)
