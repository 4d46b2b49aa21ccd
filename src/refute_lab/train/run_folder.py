"""The folder of a training: its settings, its log, its checkpoints, and going on after a stop.

`sft`, `dpo` and `grpo` differ in the trainer that they make; what becomes of it is the same here.
The folder gets `settings.json`, `log.jsonl` (one record for each step), and a `checkpoint-N` for
each epoch, every one of them an adapter that `hf:MODEL+DIR/checkpoint-N` loads. Called again after
a `kill -9` it resumes from the last whole checkpoint.
"""

from __future__ import annotations

import importlib
import json
import logging
import math
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.core.storage import write_atomically
from refute.errors import InputError
from refute_lab.models.checkpoint import find, reasons
from refute_lab.train import Resolved, TrainSettings

if TYPE_CHECKING:
    from transformers import TrainerCallback


LOG = "log.jsonl"
SETTINGS = "settings.json"
_STATE = "trainer_state.json"

Report = Callable[[dict[str, Any]], None]
"""Gets each record of the log."""
Make = Callable[[Sequence["TrainerCallback"]], Any]
"""Gives TRL's trainer with these callbacks."""


def silent(record: dict[str, Any]) -> None:
    """The `Report` that says nothing."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Files of a finished training."""

    output: Path
    checkpoints: tuple[Path, ...]
    """First to last."""
    steps: int
    resumed_at: int
    """Optimizer steps that were there already."""
    seconds: float
    """Of this call."""


def run_trainer(
    make: Make, resolved: Resolved[Any], data: Mapping[str, Any], output: Path, *, report: Report
) -> Trained:
    """Train, or resume a training. `data`: what `settings.json` says of it, its `sha256` at least.

    Raises `InputError` where the folder holds a run with other settings or data, `ModelUnavailable`
    where the model cannot be loaded or the memory does not suffice.
    """
    _claim(output, data, resolved)
    done = checkpoints(output)
    last = _step(done[-1]) if done else 0
    _discard_torn(output, done)
    if done and _finished(done[-1]):  # the trainer would make one step more
        return Trained(output, tuple(done), last, last, 0.0)
    start = time.monotonic()
    log = MetricsLog(output / LOG, after=last) if _is_main() else None
    try:
        with without_noise(), reasons(f"training of {resolved.settings.model} failed"):
            trainer = make([_logging(log, report)])
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


def train_rows(
    make_trainer: Callable[..., Any],
    prepared: Any,
    resolved: Resolved[Any],
    output: Path,
    *,
    report: Report = silent,
    report_to: Sequence[str] = (),
) -> Trained:
    """Train on prepared rows, or resume a training. `report` gets each record of the log.

    `report_to`: trackers of transformers besides (`tensorboard`, `wandb`, ...). Raises as
    `run_trainer`.
    """

    def make(callbacks: Sequence[TrainerCallback]) -> Any:
        return make_trainer(
            prepared.rows, resolved.settings, output, callbacks=callbacks, report_to=report_to
        )

    return run_trainer(make, resolved, prepared.facts(), output, report=report)


def checkpoints(output: Path) -> list[Path]:
    """The whole checkpoints of a run, first to last. A kill may have left a torn one."""
    return sorted((path for path in output.glob("checkpoint-*") if _whole(path)), key=_step)


def _claim(output: Path, data: Mapping[str, Any], resolved: Resolved[Any]) -> None:
    """Write down the settings, or check that the run in the folder has the same ones."""
    training = resolved.settings.training
    document = {
        "training": training,
        "settings": asdict(resolved.settings),
        "origins": dict(resolved.origins),
        "data": dict(data),
    }
    path = output / SETTINGS
    if path.exists():
        try:
            started = json.loads(path.read_text(encoding="utf-8"))
            data_before = started["data"]["sha256"][:12]
            old = {"training": started.get("training", "sft"), "data": data_before}
            old.update(started["settings"])
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path}: damaged; remove the folder or choose another") from None
        new = {"training": training, **asdict(resolved.settings), "data": data["sha256"][:12]}
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


def _is_main() -> bool:
    return os.environ.get("RANK", "0") == "0"


def _step(path: Path) -> int:
    digits = path.name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else -1


def _logging(log: MetricsLog | None, report: Report) -> TrainerCallback:
    from transformers import TrainerCallback

    before = int(log.last.get("num_tokens", 0)) if log is not None else 0

    class Logging(TrainerCallback):
        """Every record of the trainer goes into the log of the run."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if log is None or not logs or "loss" not in logs:
                return  # the last record sums up what the records of the steps say
            record = {"step": state.global_step, **logs}
            if "num_tokens" in record and not state.num_input_tokens_seen:
                record["num_tokens"] += before  # counted from the start of the process
            log.add(record)
            report(record)

    return Logging()


# -- the log of a training run: one JSON object a line, each optimizer step that is logged once ----


class MetricsLog:
    """`log.jsonl` of a run. What a killed run had logged after its last checkpoint is cut off."""

    def __init__(self, path: Path, *, after: int = 0) -> None:
        """Go on after optimizer step `after`; 0: begin anew."""
        kept = [record for record in read_log(path) if int(record.get("step", 0)) <= after]
        self.last = kept[-1] if kept else {}
        """The record that it resumes after."""
        write_atomically(path, "".join(_line(record) for record in kept))
        self._file = path.open("a", encoding="utf-8")

    def add(self, record: Mapping[str, Any]) -> None:
        """Write one record (it has a `step`); in the file when this returns."""
        self._file.write(_line(record))
        self._file.flush()

    def close(self) -> None:
        """Release the file; idempotent."""
        self._file.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The records of a log; none where there is no file. A torn last line is passed over."""
    records = []
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            records.append(record)
    return records


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":")) + "\n"


_DEPRECATED = r"`(is_)?gradient_checkpointing` is deprecated"
"""TRL and peft still say it in the old words, and so do the transformers that we support."""
_NO_KERNELS = "Failed to load CPU gemm_4bit_forward"
"""bitsandbytes looks on the hub for a faster product; without, 4 bits are only slower on a CPU."""


@contextmanager
def without_noise() -> Iterator[None]:
    """Leave such messages out; and bars of progress, where nobody watches. Needs transformers."""
    import transformers

    if not sys.stderr.isatty():  # bars fill a log with lines
        hide: Any = transformers.utils.logging.disable_progress_bar
        hide()
    logger = logging.getLogger("bitsandbytes.backends.cpu.ops")
    logger.addFilter(_tells)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", _DEPRECATED, FutureWarning)
            yield
    finally:
        logger.removeFilter(_tells)


def _tells(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith(_NO_KERNELS)


# -- trainer ---------------------------------------------------------------------------------------


def arguments(
    settings: TrainSettings, output: Path, steps: int, report_to: Sequence[str]
) -> dict[str, Any]:
    """Of TRL's configurations, those that all of them have. `steps`: of the whole run."""
    micro, accumulate = _shares(settings, int(os.environ.get("WORLD_SIZE", "1")))
    return {
        "output_dir": str(output),
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": accumulate,
        "learning_rate": settings.learning_rate,
        "lr_scheduler_type": settings.schedule,
        "warmup_steps": math.ceil(settings.warmup_ratio * steps),
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        "num_train_epochs": settings.epochs or 1,
        "max_steps": settings.max_steps or -1,
        "save_strategy": "steps" if settings.save_steps else "epoch",
        "save_steps": settings.save_steps or 500,
        "logging_steps": 1,
        "logging_first_step": True,
        "bf16": settings.bf16,
        "gradient_checkpointing": settings.gradient_checkpointing,
        "gradient_checkpointing_kwargs": (
            {"use_reentrant": False} if settings.gradient_checkpointing else None
        ),
        "seed": settings.seed,
        "data_seed": settings.seed,
        "report_to": list(report_to) or "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": _cuda(),
        "use_cpu": not _cuda(),
    }


def dataset_of(rows: Sequence[Mapping[str, Any]]) -> Any:
    """A dataset without fingerprints and caches for `map`: ours are ready as they are."""
    dataset: Any = importlib.import_module("datasets").Dataset  # has no types
    return dataset.from_list([dict(row) for row in rows])


def trainer_of(
    kind: Any,
    settings: TrainSettings,
    config: Any,
    rows: Sequence[Mapping[str, Any]],
    *,
    callbacks: Sequence[TrainerCallback] = (),
    own: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """A trainer of TRL's class `kind`, with the model loaded and the adapter in place.

    `own`: methods that stand for those of `kind`. `more`: what its constructor takes besides.
    """
    import transformers

    transformers.set_seed(settings.seed)  # the adapter's first weights are random
    tokenizer = transformers.AutoTokenizer.from_pretrained(settings.model)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    # TRL writes a model card of its own beside every checkpoint; ours says more (`model_card`).
    methods = {"create_model_card": lambda *_, **__: None, **(own or {})}
    quiet: Any = type("Trainer", (kind,), methods)
    model = _load(settings)
    adapter: str = getattr(settings, "adapter", "")
    if adapter:
        peft: Any = importlib.import_module("peft")
        model = peft.PeftModel.from_pretrained(model, adapter, is_trainable=True)
    trainer = quiet(
        model=model,
        args=config,
        train_dataset=dataset_of(rows),
        processing_class=tokenizer,
        peft_config=None if adapter else _adapter(settings, model),
        callbacks=list(callbacks),
        **more,
    )
    trainer.remove_callback(transformers.PrinterCallback)  # stdout is for results
    return trainer


def _load(settings: TrainSettings) -> Any:
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


def _adapter(settings: TrainSettings, model: Any) -> Any:
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


def _shares(settings: TrainSettings, world: int) -> tuple[int, int]:
    """Rows on one device at a time, and how often gradients are accumulated."""
    if settings.batch % world:
        raise InputError(f"batch = {settings.batch}: cannot be shared by {world} processes")
    own = settings.batch // world
    micro = next(size for size in range(min(settings.micro_batch, own), 0, -1) if own % size == 0)
    return micro, own // micro


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()
