"""Fine-tuning as in UTGen (section 3.2): a LoRA adapter by TRL and PEFT, loss on completions only.

    python -m refute train sft DATA.jsonl --model MODEL -o DIR
    accelerate launch --num_processes 8 -m refute train sft ...      # several GPUs

The folder gets `settings.json`, `log.jsonl` (one record for each step), and a `checkpoint-N` for
each epoch, every one of them an adapter that `hf:MODEL+DIR/checkpoint-N` loads. Called again after
a `kill -9` it goes on from the last whole checkpoint with the same losses as an undisturbed run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError
from refute.models.checkpoint import find, reasons
from refute.storage import write_atomically
from refute.train.log_filters import without_noise
from refute.train.metrics_log import MetricsLog
from refute.train.settings import Resolved, SftSettings
from refute.train.tokens import Encoded, encode_all, read_examples, tokenizer_of

if TYPE_CHECKING:
    from transformers import TrainerCallback

__all__ = [
    "LOG",
    "SETTINGS",
    "Prepared",
    "Trained",
    "checkpoints",
    "make_trainer",
    "prepare",
    "train",
]

LOG = "log.jsonl"
SETTINGS = "settings.json"
_STATE = "trainer_state.json"


@dataclass(frozen=True, slots=True)
class Prepared:
    """The data of a run, ready for the trainer."""

    rows: list[Encoded]
    long: int
    """Rows that were left out because they have more tokens than `max_length`."""
    digest: str
    """Of the data file."""

    @property
    def tokens(self) -> int:
        """Tokens of all rows, prompts included."""
        return sum(len(row.input_ids) for row in self.rows)

    def steps(self, settings: SftSettings) -> int:
        """Optimizer steps of the run (with packing `blocks`, at most so many)."""
        return settings.steps(len(self.rows))


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run has left behind."""

    output: Path
    checkpoints: tuple[Path, ...]
    """First to last."""
    steps: int
    resumed_at: int
    """Optimizer steps that were there already."""
    seconds: float
    """Of this call."""


def prepare(data: Path, settings: SftSettings) -> Prepared:
    """Read the rows and write them as tokens. Raises `InputError`, `ModelUnavailable`."""
    examples = read_examples(data)
    rows, long = encode_all(examples, tokenizer_of(settings.model), max_length=settings.max_length)
    if not rows:
        raise InputError(f"{data}: all {long} rows are longer than {settings.max_length} tokens")
    return Prepared(rows, long, hashlib.sha256(data.read_bytes()).hexdigest())


def train(
    prepared: Prepared,
    resolved: Resolved,
    output: Path,
    *,
    report: Callable[[dict[str, Any]], None] = lambda record: None,
    report_to: Sequence[str] = (),
) -> Trained:
    """Train, or go on training. `report` gets each record of the log.

    `report_to`: trackers of transformers besides (`tensorboard`, `wandb`, ...). Raises `InputError`
    where the folder holds a run with other settings or data, `ModelUnavailable` where the model
    cannot be loaded or the memory does not suffice.
    """
    settings = resolved.settings
    _claim(output, prepared, resolved)
    done = checkpoints(output)
    last = _step(done[-1]) if done else 0
    _discard_torn(output, done)
    if done and _finished(done[-1]):  # the trainer would make one step more
        return Trained(output, tuple(done), last, last, 0.0)
    start = time.monotonic()
    log = MetricsLog(output / LOG, after=last) if _is_main() else None
    try:
        with without_noise(), reasons(f"training of {settings.model} failed"):
            trainer = make_trainer(
                prepared.rows, settings, output, callbacks=[_logging(log, report)],
                report_to=report_to,
            )  # fmt: skip
            trainer.train(resume_from_checkpoint=str(done[-1]) if done else None)
    finally:
        if log is not None:
            log.close()
    return Trained(
        output,
        tuple(checkpoints(output)),
        trainer.state.global_step,
        last,
        time.monotonic() - start,
    )


def checkpoints(output: Path) -> list[Path]:
    """The whole checkpoints of a run, first to last. A kill may have left a torn one."""
    return sorted((path for path in output.glob("checkpoint-*") if _whole(path)), key=_step)


def make_trainer(
    rows: Sequence[Encoded],
    settings: SftSettings,
    output: Path,
    *,
    callbacks: Sequence[TrainerCallback] = (),
    report_to: Sequence[str] = (),
) -> Any:
    """TRL's trainer for the settings, with the model loaded and the adapter in place."""
    import importlib

    import transformers

    dataset: Any = importlib.import_module("datasets").Dataset  # neither of the two has types
    trl: Any = importlib.import_module("trl")
    # Datasets carry fingerprints and caches for `map`; rows that are tokens already need neither.
    data = dataset.from_list([asdict(row) for row in rows])
    world = int(os.environ.get("WORLD_SIZE", "1"))
    micro, accumulate = _shares(settings, world)
    transformers.set_seed(settings.seed)  # the adapter's first weights are random
    tokenizer = transformers.AutoTokenizer.from_pretrained(settings.model)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    config = trl.SFTConfig(
        output_dir=str(output),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=accumulate,
        learning_rate=settings.learning_rate,
        lr_scheduler_type=settings.schedule,
        warmup_steps=math.ceil(settings.warmup_ratio * _planned(rows, settings)),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        num_train_epochs=settings.epochs or 1,
        max_steps=settings.max_steps or -1,
        save_strategy="steps" if settings.save_steps else "epoch",
        save_steps=settings.save_steps or 500,
        logging_steps=1,
        logging_first_step=True,
        bf16=settings.bf16,
        gradient_checkpointing=settings.gradient_checkpointing,
        gradient_checkpointing_kwargs=(
            {"use_reentrant": False} if settings.gradient_checkpointing else None
        ),
        max_length=settings.max_length if settings.packing == "blocks" else None,
        packing=settings.packing == "blocks",
        padding_free=settings.packing == "flat",
        completion_only_loss=True,
        shuffle_dataset=False,
        seed=settings.seed,
        data_seed=settings.seed,
        report_to=list(report_to) or "none",
        disable_tqdm=True,
        dataloader_pin_memory=_cuda(),
        use_cpu=not _cuda(),
    )
    # TRL writes a model card of its own beside every checkpoint; ours says more (`model_card`).
    quiet: Any = type("Sft", (trl.SFTTrainer,), {"create_model_card": lambda *_, **__: None})
    model = _load(settings)
    trainer = quiet(
        model=model,
        args=config,
        train_dataset=data,
        processing_class=tokenizer,
        peft_config=_adapter(settings, model),
        callbacks=list(callbacks),
    )
    trainer.remove_callback(transformers.PrinterCallback)  # stdout is for results
    return trainer


# -- model and adapter -----------------------------------------------------------------------------


def _load(settings: SftSettings) -> Any:
    import torch
    import transformers

    half = torch.bfloat16 if settings.bf16 else torch.float32
    options: dict[str, Any] = {"dtype": half, "attn_implementation": settings.attention}
    if settings.quantize:
        options["quantization_config"] = transformers.BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=half,
        )
        device = int(os.environ.get("LOCAL_RANK", "0")) if _cuda() else "cpu"
        options["device_map"] = {"": device}
    auto: Any = transformers.AutoModelForCausalLM
    return auto.from_pretrained(find(settings.model).base, **options)


def _adapter(settings: SftSettings, model: Any) -> Any:
    """On all linear layers but the output; by the ends of their names, as servers expect them."""
    import torch
    from peft import LoraConfig

    head = model.get_output_embeddings()
    linear = {
        name.rpartition(".")[2]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear) and module is not head
    }

    return LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        lora_dropout=settings.lora_dropout,
        target_modules=sorted(linear),
        task_type="CAUSAL_LM",
    )


def _shares(settings: SftSettings, world: int) -> tuple[int, int]:
    """Rows on one device at a time, and how often gradients are accumulated."""
    if settings.batch % world:
        raise InputError(f"batch = {settings.batch}: cannot be shared by {world} processes")
    own = settings.batch // world
    micro = next(size for size in range(min(settings.micro_batch, own), 0, -1) if own % size == 0)
    return micro, own // micro


def _planned(rows: Sequence[Encoded], settings: SftSettings) -> int:
    return Prepared(list(rows), 0, "").steps(settings)


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def _is_main() -> bool:
    return os.environ.get("RANK", "0") == "0"


# -- the folder of a run ---------------------------------------------------------------------------


def _claim(output: Path, prepared: Prepared, resolved: Resolved) -> None:
    """Write down the settings, or check that the run in the folder has the same ones."""
    document = {
        "settings": asdict(resolved.settings),
        "origins": dict(resolved.origins),
        "data": {
            "sha256": prepared.digest,
            "rows": len(prepared.rows),
            "too_long": prepared.long,
            "tokens": prepared.tokens,
        },
    }
    path = output / SETTINGS
    if path.exists():
        try:
            started = json.loads(path.read_text(encoding="utf-8"))
            old = {**started["settings"], "data": started["data"]["sha256"][:12]}
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path}: damaged; remove the folder or choose another") from None
        new = {**asdict(resolved.settings), "data": prepared.digest[:12]}
        for name in new:
            if old.get(name) != new[name]:
                raise InputError(
                    f"{output}: was started with {name} = {old.get(name)}, not {new[name]}; "
                    "use the same settings, or another folder"
                )
        return
    try:
        output.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(document, indent=2) + "\n")
    except OSError as error:
        raise InputError(f"{output}: cannot be written: {error.strerror}") from None


def _discard_torn(output: Path, whole: Sequence[Path]) -> None:
    """A torn checkpoint would be taken for a whole one as soon as its missing files are written."""
    if _is_main():
        for path in output.glob("checkpoint-*"):
            if path not in whole:
                shutil.rmtree(path)


def _whole(path: Path) -> bool:
    """The trainer's state is what a checkpoint ends with."""
    try:
        json.loads((path / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return (path / "adapter_config.json").is_file()


def _finished(path: Path) -> bool:
    state = json.loads((path / _STATE).read_text(encoding="utf-8"))
    return int(state["global_step"]) >= int(state["max_steps"])


def _step(path: Path) -> int:
    digits = path.name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else -1


def _logging(log: MetricsLog | None, report: Callable[[dict[str, Any]], None]) -> TrainerCallback:
    from transformers import TrainerCallback

    before = int(log.last.get("num_tokens", 0)) if log is not None else 0

    class Logging(TrainerCallback):
        """Every record of the trainer goes into the log of the run."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if log is None or not logs or "loss" not in logs:
                return  # the last record sums up what the records of the steps say
            record = {"step": state.global_step, **logs}
            if "num_tokens" in record:  # TRL counts from the start of the process
                record["num_tokens"] += before
            log.add(record)
            report(record)

    return Logging()
