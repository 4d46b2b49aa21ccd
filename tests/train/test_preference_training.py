"""`refute train dpo` and `grpo` on a tiny random Qwen2, a step or two each; their settings."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from refute.doors.command_line import run as refute_cli
from refute.errors import InputError
from refute_lab.train import DpoSettings, GrpoSettings, resolve
from refute_lab.train.grpo import read_problems
from refute_lab.train.run_folder import LOG, SETTINGS, checkpoints, read_log
from refute_lab.train.tokens import read_preferences
from refute_lab.verbs.train import SftEstimate, SftResult, fit

RIGHT = "def cap(number):\n    return min(number, 3)\n"


def write_pairs(path: Path, count: int = 4) -> Path:
    rows = [
        {
            "prompt": [{"role": "user", "content": f"hello {at}"}],
            "chosen": [{"role": "assistant", "content": "yes yes"}],
            "rejected": [{"role": "assistant", "content": "no"}],
        }
        for at in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_problems(path: Path, count: int = 2) -> Path:
    rows = [
        {
            "id": f"cap{at}",
            "description": "At most 3.",
            "signature": "def cap(number)",
            "entry_point": "cap",
            "reference": RIGHT,
            "code": RIGHT.replace("min(number, 3)", "number"),
            "inputs": [[9]],
        }
        for at in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# -- with torch ------------------------------------------------------------------------------------


def test_dpo_prefers_the_chosen_answers(tiny_base: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    how: dict[str, Any] = {"batch": 4, "max_steps": 2, "save_steps": 1, "learning_rate": 5e-3}
    how["epochs"] = 2.0
    result = fit("dpo", write_pairs(tmp_path / "pairs.jsonl"), run, model=str(tiny_base), **how)
    assert isinstance(result, SftResult)
    assert [path.name for path in checkpoints(run)] == ["checkpoint-1", "checkpoint-2"]
    first, second = read_log(run / LOG)
    assert first["loss"] == pytest.approx(math.log(2)), "adapter and reference begin as one"
    assert second["loss"] < first["loss"]
    assert second["rewards/chosen"] > second["rewards/rejected"]
    document = json.loads((run / SETTINGS).read_text())
    assert (document["training"], document["data"]["rows"]) == ("dpo", 4)
    assert document["origins"]["learning_rate"] == "given"
    assert document["origins"]["lora_rank"] == "as sft"

    again = fit("dpo", tmp_path / "pairs.jsonl", run, model=str(tiny_base), **how)
    assert isinstance(again, SftResult)
    assert again.trained.resumed_at == 2
    estimate = fit("dpo", tmp_path / "pairs.jsonl", run, model=str(tiny_base), dry_run=True, **how)
    assert isinstance(estimate, SftEstimate)
    assert (estimate.estimate.steps, estimate.estimate.rows) == (2, 4)
    assert estimate.estimate.tokens == 2 * document["data"]["tokens"]


def test_grpo_pays_for_tests_and_goes_on(tiny_base: Path, tmp_path: Path) -> None:
    from refute_lab.train.grpo import make_trainer, request

    problems, run = write_problems(tmp_path / "problems.jsonl"), tmp_path / "run"
    how: dict[str, Any] = {"batch": 2, "generations": 2, "max_completion": 4, "jobs": 1}
    result = fit("grpo", problems, run, model=str(tiny_base), max_steps=1, **how)
    assert isinstance(result, SftResult)
    assert [path.name for path in checkpoints(run)] == ["checkpoint-1"]
    [record] = read_log(run / LOG)
    assert record["reward"] == 0.0, "a random model writes no tests"
    assert record["rewards/verdict/mean"] == 0.0
    assert (run / "checkpoint-1" / "adapter_model.safetensors").is_file()

    # What is paid arrives at the weights: one of two answers is, so the step has a gradient.
    from refute_lab.datasets import load

    asked: list[str] = []

    async def first_of_two(prompts: Any, completions: Any, **others: Any) -> list[float]:
        asked.extend(prompt[0]["content"] for prompt in prompts)
        assert set(others["problem"]) <= {"cap0", "cap1"}
        return [float(at % 2 == 0) for at in range(len(completions))]

    [settings] = [
        resolve(
            str(tiny_base),
            {"batch": 2, "generations": 2, "max_completion": 4, "max_steps": 1},
            GrpoSettings,
        ).settings
    ]
    items = load(str(problems))
    rows = [
        {"problem": one.problem.id, "prompt": [{"role": "user", "content": request(one)}]}
        for one in items
    ]
    trainer = make_trainer(rows, first_of_two, settings, tmp_path / "other")
    trainer.train()
    assert asked[0] == asked[1] == request(items[0]) == request(items[1])
    [logged] = [one for one in trainer.state.log_history if "reward" in one]
    assert (logged["reward"], logged["rewards/first_of_two/mean"]) == (0.5, 0.5)
    assert logged["grad_norm"] > 0


# -- without ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"generations": 1}, "generations = 1"),
        ({"generations": 3}, "batch = 16: must be a multiple of generations = 3"),
        ({"max_completion": 4096}, "max_completion = 4096: must be below"),
        ({"temperature": 0.0}, "temperature"),
        ({"attack_credit": 1.0}, "attack_credit = 1.0"),
        ({"beta": -1.0}, "beta"),
        ({"batch": 0}, "batch = 0"),
        ({"packing": "flat"}, "packing: unknown setting"),
        ({"adapter": "/nowhere"}, "no folder of a LoRA adapter"),
    ],
)
def test_settings_of_grpo_that_make_no_sense(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        resolve("someone/else", given, GrpoSettings)


def test_an_adapter_that_is_trained_further_lays_its_rank_down(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"r": 8, "lora_alpha": 24}))
    resolved = resolve("someone/else", {"adapter": str(tmp_path)}, DpoSettings)
    assert (resolved.settings.lora_rank, resolved.settings.lora_alpha) == (8, 24)
    assert resolved.origins["lora_rank"] == "the adapter"
    assert resolved.origins["epochs"] == resolved.origins["beta"] == "default"
    with pytest.raises(InputError, match="lora_rank = 16: the adapter has 8"):
        resolve("someone/else", {"adapter": str(tmp_path), "lora_rank": 16}, DpoSettings)


def test_data_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "preferences.jsonl").write_text("")
    with pytest.raises(InputError, match="holds no pairs"):
        read_preferences(tmp_path / "preferences.jsonl")
    command = ["train", "dpo", str(tmp_path), "-o", str(tmp_path / "run"), "--model", "x"]
    assert refute_cli(command) == 2
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="must be a JSONL file of problems"):
        read_problems(tmp_path / "problems.jsonl")
