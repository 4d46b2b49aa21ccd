"""Fine-tuning on a tiny random Qwen2: what the loss is on, kill and resume, 4 bits, settings."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("trl")

from refute.errors import InputError
from refute.models.contract import Message
from refute_lab.models.checkpoint import find, load
from refute_lab.train import PRESETS, SftSettings, resolve
from refute_lab.train.run_folder import LOG, MetricsLog, checkpoints, read_log
from refute_lab.train.sft import make_trainer, prepare, train
from refute_lab.train.tokens import (
    IGNORED,
    Example,
    encode,
    encode_all,
    estimate,
    shape_of,
    tokenizer_of,
)

QUICK = {"learning_rate": 5e-3, "batch": 4, "micro_batch": 2, "max_steps": 20, "save_steps": 8}


def write_rows(path: Path, count: int = 24) -> Path:
    rows = [
        {
            "prompt": f"write a unit test that the function fails\nnumber {at}"
            + " word" * (at % 7),
            "completion": f"Arguments: ```add({at}, 2)```\nOutput: ```{at + 2}```",
        }
        for at in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("data") / "rows.jsonl")


@pytest.fixture(scope="module")
def undisturbed(tiny_base: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 20 steps from beginning to end."""
    output = tmp_path_factory.mktemp("runs") / "undisturbed"
    resolved = resolve(str(tiny_base), QUICK)
    trained = train(prepare(data, resolved.settings), resolved, output)
    assert trained.steps == 20
    assert trained.resumed_at == 0
    assert [path.name for path in trained.checkpoints] == [
        "checkpoint-8",
        "checkpoint-16",
        "checkpoint-20",
    ]
    return output


# -- what the loss is on ---------------------------------------------------------------------------


@pytest.mark.parametrize("templated", [True, False])
def test_loss_is_on_the_completion_and_its_end_only(
    tiny_base: Path, templated: bool, tmp_path: Path
) -> None:
    if not templated:
        shutil.copytree(tiny_base, tmp_path / "plain")
        (tmp_path / "plain" / "chat_template.jinja").unlink()
        tiny_base = tmp_path / "plain"
    checkpoint = tokenizer_of(str(tiny_base))
    assert checkpoint.has_template == templated
    example = Example(
        "what does f return?\n\nmind the type", "Arguments: ```f(1)```\nOutput: ```2```"
    )
    row = encode(example, checkpoint)
    tokenizer = checkpoint.tokenizer
    prompt = load(find(str(tiny_base))).prompt(example.messages)
    assert row.input_ids[: len(prompt)] == prompt, "what `hf:` sends at inference, to the token"
    counted = [label for label in row.labels if label != IGNORED]
    assert row.labels == [IGNORED] * len(prompt) + counted
    assert counted == row.input_ids[len(prompt) :]
    assert counted[-1] == tokenizer.eos_token_id
    assert counted.count(tokenizer.eos_token_id) == 1
    assert tokenizer.decode(counted[:-1]).strip() == example.completion


def test_what_the_trainer_computes_is_that_loss(
    tiny_base: Path, data: Path, tmp_path: Path
) -> None:
    """The trainer's loss is the mean over the completions' tokens of a batch, by hand."""
    import torch

    prepared = prepare(data, SftSettings(model=str(tiny_base)))
    rows = prepared.rows[:4]
    trainer = make_trainer(rows, SftSettings(model=str(tiny_base), batch=4), tmp_path)
    batch = trainer.data_collator(rows_of(trainer))
    trainer.model.eval()
    with torch.no_grad():
        loss = float(trainer.compute_loss(trainer.model, dict(batch)))
        total, count = 0.0, 0
        for row in rows:
            ids = torch.tensor([row.input_ids])
            logits = trainer.model(input_ids=ids).logits[0, :-1]
            wanted = torch.tensor(row.labels[1:])
            kept = wanted != IGNORED
            total += float(
                torch.nn.functional.cross_entropy(logits[kept], wanted[kept], reduction="sum")
            )
            count += int(kept.sum())
    assert loss == pytest.approx(total / count, rel=1e-4)


def test_rows_in_one_sequence_do_not_see_each_other(
    tiny_base: Path, data: Path, tmp_path: Path
) -> None:
    """Without padding the loss is the same as with it."""
    import torch

    rows = prepare(data, SftSettings(model=str(tiny_base))).rows[:4]
    losses = []
    for packing in ("none", "flat", "blocks"):
        settings = SftSettings(model=str(tiny_base), batch=4, packing=packing, max_length=4096)
        trainer = make_trainer(rows, settings, tmp_path)
        batch = trainer.data_collator(rows_of(trainer))
        assert (batch["input_ids"].shape[0] == 1) == (packing != "none")
        trainer.model.eval()
        with torch.no_grad():
            losses.append(float(trainer.compute_loss(trainer.model, dict(batch))))
    assert losses[1:] == pytest.approx([losses[0]] * 2, rel=1e-4)


def rows_of(trainer: Any) -> list[dict[str, Any]]:
    return [trainer.train_dataset[at] for at in range(len(trainer.train_dataset))]


# -- a run -----------------------------------------------------------------------------------------


def test_it_learns_and_logs_every_step_once(undisturbed: Path) -> None:
    log = read_log(undisturbed / LOG)
    assert [record["step"] for record in log] == list(range(1, 21))
    assert log[-1]["loss"] < log[0]["loss"] / 2
    rates = [record["learning_rate"] for record in log]
    assert rates[0] == pytest.approx(5e-3)
    assert rates == sorted(rates, reverse=True)
    assert rates[10] == pytest.approx(2.5e-3), "half way down a cosine"
    document = json.loads((undisturbed / "settings.json").read_text())
    assert document["settings"]["lora_rank"] == 16
    assert document["origins"]["lora_rank"] == "the paper"
    assert document["data"]["rows"] == 24


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from refute_lab.train import resolve
from refute_lab.train.sft import prepare, train

def report(record):
    if record["step"] == 11:
        os.kill(os.getpid(), signal.SIGKILL)

resolved = resolve(sys.argv[1], eval(sys.argv[4]))
train(prepare(Path(sys.argv[2]), resolved.settings), resolved, Path(sys.argv[3]), report=report)
"""


def test_killed_and_resumed_it_is_the_same_run(
    undisturbed: Path, tiny_base: Path, data: Path, tmp_path: Path
) -> None:
    output = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, str(tiny_base), str(data), str(output), repr(QUICK)]
    ended = subprocess.run(command, capture_output=True, timeout=600, env={**os.environ})
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
    assert [record["step"] for record in read_log(output / LOG)] == list(range(1, 12))
    torn = output / "checkpoint-16"  # as if it had been killed while it saved the next one
    shutil.copytree(output / "checkpoint-8", torn)
    (torn / "trainer_state.json").write_text('{"global_step": 1')
    assert [path.name for path in checkpoints(output)] == ["checkpoint-8"]
    resolved = resolve(str(tiny_base), QUICK)
    trained = train(prepare(data, resolved.settings), resolved, output)
    assert trained.resumed_at == 8
    assert trained.steps == 20
    for name in ("step", "loss", "learning_rate", "grad_norm", "num_tokens"):
        first, second = (
            [record[name] for record in read_log(run / LOG)] for run in (undisturbed, output)
        )
        assert second == pytest.approx(first, rel=1e-5), name
    weights = [weights_of(run / "checkpoint-20") for run in (undisturbed, output)]
    assert weights[0].keys() == weights[1].keys()
    for name, value in weights[0].items():
        assert (value - weights[1][name]).abs().max() < 1e-6, name


def test_a_finished_run_is_not_run_again(undisturbed: Path, tiny_base: Path, data: Path) -> None:
    before = (undisturbed / LOG).read_bytes()
    resolved = resolve(str(tiny_base), QUICK)
    trained = train(prepare(data, resolved.settings), resolved, undisturbed)
    assert trained.resumed_at == trained.steps == 20
    assert (undisturbed / LOG).read_bytes() == before


def test_other_settings_or_data_are_another_run(
    undisturbed: Path, tiny_base: Path, data: Path, tmp_path: Path
) -> None:
    resolved = resolve(str(tiny_base), {**QUICK, "learning_rate": 1e-3})
    with pytest.raises(InputError, match=r"learning_rate = 0\.005, not 0\.001"):
        train(prepare(data, resolved.settings), resolved, undisturbed)
    resolved = resolve(str(tiny_base), QUICK)
    other = prepare(write_rows(tmp_path / "other.jsonl", 8), resolved.settings)
    with pytest.raises(InputError, match="was started with data"):
        train(other, resolved, undisturbed)


def test_the_adapter_is_one_that_servers_read(undisturbed: Path) -> None:
    """The names and shapes of PEFT's format, which vLLM loads: pairs A and B, no other tensors."""
    config = json.loads((undisturbed / "checkpoint-20" / "adapter_config.json").read_text())
    assert config["peft_type"] == "LORA"
    assert (config["r"], config["lora_alpha"], config["lora_dropout"]) == (16, 32, 0.05)
    linear = {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    assert set(config["target_modules"]) == linear
    assert config["bias"] == "none"
    weights = weights_of(undisturbed / "checkpoint-20")
    assert len(weights) == 2 * 2 * len(linear)
    for name, value in weights.items():
        assert name.startswith("base_model.model.model.layers.")
        assert name.endswith((".lora_A.weight", ".lora_B.weight"))
        assert 16 in value.shape


def test_four_bits(tiny_base: Path, data: Path, tmp_path: Path) -> None:
    """QLoRA: the base in 4 bits, an adapter that loads on the base as it was."""
    pytest.importorskip("bitsandbytes", minversion="0.46", reason="4 bits on a CPU")
    resolved = resolve(str(tiny_base), {**QUICK, "quantize": True, "save_steps": 20})
    prepared = prepare(data, resolved.settings)
    trainer = make_trainer(prepared.rows, resolved.settings, tmp_path / "unused")
    kinds = {type(module).__name__ for module in trainer.model.modules()}
    assert "Linear4bit" in kinds
    trained = train(prepared, resolved, tmp_path / "run")
    log = read_log(tmp_path / "run" / LOG)
    assert log[-1]["loss"] < log[0]["loss"] * 0.7
    checkpoint = load(find(f"{tiny_base}+{trained.checkpoints[-1]}"))
    assert checkpoint.prompt([Message("user", "hello")])


def weights_of(path: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return dict(load_file(path / "adapter_model.safetensors"))


# -- settings, rows, estimates ---------------------------------------------------------------------


def test_settings_say_where_they_come_from() -> None:
    resolved = resolve("qwen2.5-coder-32b", {"epochs": 2.0, "seed": None})
    settings = resolved.settings
    assert settings.model == "Qwen/Qwen2.5-Coder-32B-Instruct"
    assert settings.quantize
    assert settings.learning_rate == 5e-6
    assert (settings.batch, settings.schedule, settings.epochs) == (16, "cosine", 2.0)
    origins = resolved.origins
    assert origins["model"] == origins["quantize"] == "preset qwen2.5-coder-32b"
    assert origins["epochs"] == "given"
    assert origins["learning_rate"] == "the paper"
    assert origins["bf16"] == "this machine"
    assert len(resolved.lines()) == len(origins)
    assert len(PRESETS) == 4
    assert resolve("someone/else", {}).settings.model == "someone/else"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"batch": 0}, "batch = 0"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"lora_dropout": 1.0}, "lora_dropout"),
        ({"epochs": 0.0}, "nothing would be trained"),
        ({"speed": 3}, "speed: unknown setting"),
        ({"packing": "tight"}, "packing = tight"),
        ({"packing": "flat", "attention": "sdpa"}, "flash_attention_2"),
    ],
)
def test_settings_that_make_no_sense(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        resolve("someone/else", given)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "holds no rows"),
        ('{"prompt": "p", "completion": "c"}\nnonsense\n', r":2: not JSON"),
        ('{"prompt": "p"}\n', ":1: field 'completion': must be a text"),
        ('{"prompt": ["p"], "completion": "c"}\n', ":1: field 'prompt': must be a text"),
    ],
)
def test_bad_rows(tiny_base: Path, tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=words):
        prepare(path, SftSettings(model=str(tiny_base)))


def test_long_rows_are_left_out_whole(tiny_base: Path) -> None:
    checkpoint = tokenizer_of(str(tiny_base))
    examples = [Example("hello", "x"), Example("hello " * 50, "x"), Example("hello", "y")]
    length = len(encode(examples[0], checkpoint).input_ids)
    rows, long = encode_all(examples, checkpoint, max_length=length)
    assert (len(rows), long) == (2, 1)
    assert all(len(row.input_ids) == len(row.labels) <= length for row in rows)


def test_a_template_that_answers_otherwise_than_it_asks(tiny_base: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_base, tmp_path / "odd")
    template = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    asks = "{% if add_generation_prompt %}<think>{% endif %}"
    (tmp_path / "odd" / "chat_template.jinja").write_text(template + asks)
    with pytest.raises(InputError, match="chat template"):
        encode(Example("hello", "x"), tokenizer_of(str(tmp_path / "odd")))


def test_estimate(tiny_base: Path, data: Path) -> None:
    settings = SftSettings(model=str(tiny_base), batch=4, epochs=10)
    prepared = prepare(data, settings)
    found = estimate(prepared, settings)
    assert (found.rows, found.steps) == (24, 60)
    assert found.tokens == 10 * prepared.tokens
    assert 0 < found.trained_tokens < found.tokens
    shape = shape_of(settings)
    model = load(find(str(tiny_base))).model
    assert shape.parameters == sum(p.numel() for p in model.parameters())
    trainer = make_trainer(prepared.rows[:2], settings, data.parent / "unused")
    assert shape.adapter == sum(p.numel() for p in trainer.model.parameters() if p.requires_grad)
    small = estimate(prepared, SftSettings(model=str(tiny_base), batch=4, quantize=True))
    assert small.memory_gib < found.memory_gib


def test_steps_of_a_run() -> None:
    assert SftSettings(model="m").steps(33) == 30
    assert SftSettings(model="m", epochs=0.5).steps(33) == 2
    assert SftSettings(model="m", max_steps=7).steps(33) == 7
    assert SftSettings(model="m", max_steps=700, epochs=0).steps(33) == 700


def test_the_log_goes_on_after_a_checkpoint(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / LOG)
    for step in range(1, 6):
        log.add({"step": step, "loss": 1.0})
    log.close()
    with (tmp_path / LOG).open("a") as file:
        file.write('{"step": 6, "lo')
    log = MetricsLog(tmp_path / LOG, after=3)
    log.add({"step": 4, "loss": 0.5})
    log.close()
    assert [(r["step"], r["loss"]) for r in read_log(tmp_path / LOG)][2:] == [(3, 1.0), (4, 0.5)]
