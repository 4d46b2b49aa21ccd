"""Tokens a second of the fine-tuning step, ours next to TRL's defaults, in one run.

    python benchmarks/train_throughput.py --shape 7b            # on a GPU
    python benchmarks/train_throughput.py --shape tiny          # shows on a CPU that it works

The model has the shape of a Qwen2.5 and random weights; the rows have random tokens and lengths as
UTGen's data have (prompts of 400 to 700 tokens, answers of 150 to 300; a tenth of that for `tiny`).
Both sides train the same LoRA adapter on the same rows, none of which is cut. Tokens are those of
the rows: padding does not count. Utilisation is model FLOPs (without those that checkpointing
repeats) over the device's dense bfloat16 peak; on a CPU it is not given.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from datasets import Dataset
from peft import LoraConfig
from synthetic.corpus import corpus
from synthetic.scratch import build_tokenizer
from trl import SFTConfig, SFTTrainer

from refute_lab.train.settings import SftSettings, resolve
from refute_lab.train.sft import make_trainer
from refute_lab.train.tokens import IGNORED, Encoded, device_peak, lora_flops, shape_of

SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 2048},
    "0.5b": {"hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
             "num_key_value_heads": 2, "intermediate_size": 4864, "vocab_size": 151936},
    "1.5b": {"hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12,
             "num_key_value_heads": 2, "intermediate_size": 8960, "vocab_size": 151936},
    "7b": {"hidden_size": 3584, "num_hidden_layers": 28, "num_attention_heads": 28,
           "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064},
}  # fmt: skip
WARM_UP = 3
"""Steps before the clock starts: kernels are chosen, memory is claimed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Raw)
    parser.add_argument("--shape", choices=SHAPES, default="0.5b")
    parser.add_argument("--steps", type=int, default=20, help="timed optimizer steps")
    parser.add_argument("--micro-batch", type=int, default=None)
    parser.add_argument("--no-checkpointing", action="store_true", help="on our side")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        model = build(folder / "model", given.shape)
        rows = make_rows(given.shape, 16 * (given.steps + WARM_UP))
        resolved = resolve(
            str(model),
            {
                "max_steps": given.steps + WARM_UP,
                "save_steps": 10**6,
                "micro_batch": given.micro_batch,
                "gradient_checkpointing": False if given.no_checkpointing else None,
            },
        )
        print("\n".join(resolved.lines()))
        settings = resolved.settings
        ours = make_trainer(rows, settings, folder / "ours", callbacks=[clock := Clock()])
        report("ours", ours, clock, rows, settings)
        del ours
        torch.cuda.empty_cache()
        plain = plain_trainer(rows, settings, folder / "plain", clock := Clock())
        report("TRL's defaults", plain, clock, rows, settings)


class Clock(transformers.TrainerCallback):
    """Seconds from the end of the warm-up to the end."""

    def __init__(self) -> None:
        self.start = 0.0
        self.seconds = 0.0
        self.steps = 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Reads the clock when the device has done the step."""
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        if state.global_step == WARM_UP:
            self.start = time.monotonic()
        self.steps = state.global_step - WARM_UP
        self.seconds = time.monotonic() - self.start


def report(
    name: str, trainer: Any, clock: Clock, rows: list[Encoded], settings: SftSettings
) -> None:
    """Train, and print one line."""
    trainer.train()
    batch = trainer.args.per_device_train_batch_size * trainer.args.gradient_accumulation_steps
    mean = sum(len(row.input_ids) for row in rows) / len(rows)
    tokens = clock.steps * batch * mean / clock.seconds
    line = f"{name:16} {tokens:>12,.0f} tokens/s"
    peak = device_peak()
    if torch.cuda.is_available() and peak is not None:
        needed = lora_flops(
            shape_of(settings), replace(settings, gradient_checkpointing=False)
        )  # fmt: skip
        line += f"   {needed * tokens / peak:.1%} of peak"
        line += f"   {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB"
        torch.cuda.reset_peak_memory_stats()
    print(line, flush=True)


def plain_trainer(rows: list[Encoded], settings: SftSettings, output: Path, clock: Clock) -> Any:
    """What a script gets that sets nothing but the adapter, the data and the number of steps."""
    config = SFTConfig(
        output_dir=str(output),
        max_steps=settings.max_steps,
        save_strategy="no",
        report_to="none",
        bf16=settings.bf16,
        use_cpu=not torch.cuda.is_available(),
        disable_tqdm=True,
        model_init_kwargs={"dtype": torch.bfloat16 if settings.bf16 else torch.float32},
    )
    trainer = SFTTrainer(
        model=settings.model,
        args=config,
        train_dataset=Dataset.from_list([asdict(row) for row in rows]),
        peft_config=LoraConfig(
            r=settings.lora_rank, lora_alpha=settings.lora_alpha,
            lora_dropout=settings.lora_dropout, target_modules="all-linear",
        ),
        callbacks=[clock],
    )  # fmt: skip
    trainer.remove_callback(transformers.PrinterCallback)
    return trainer


def build(path: Path, shape: str) -> Path:
    """A model of the shape with random weights, and any tokenizer."""
    build_tokenizer(path, list(itertools.islice(corpus(random.Random(0)), 200)), 400)
    config = transformers.Qwen2Config(
        **SHAPES[shape], max_position_embeddings=4096, tie_word_embeddings=shape != "7b"
    )
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    model = transformers.Qwen2ForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    model.save_pretrained(path)
    return path


def make_rows(shape: str, count: int) -> list[Encoded]:
    """Rows of random tokens; see the module."""
    rng = random.Random(0)
    scale = 10 if shape == "tiny" else 1
    rows = []
    for _ in range(count):
        prompt, answer = rng.randint(400, 700) // scale, rng.randint(150, 300) // scale
        ids = [rng.randrange(10, 300) for _ in range(prompt + answer)]
        rows.append(Encoded(ids, [IGNORED] * prompt + ids[prompt:]))
    return rows


class _Raw(argparse.RawDescriptionHelpFormatter):
    """The module's docstring as it is."""


if __name__ == "__main__":
    main()
