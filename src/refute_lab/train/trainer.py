"""What every training asks of TRL and PEFT: its arguments, the model, the adapter, the trainer."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from refute.errors import InputError
from refute.models.checkpoint import find
from refute_lab.train.settings import TrainSettings

if TYPE_CHECKING:
    from transformers import TrainerCallback


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
