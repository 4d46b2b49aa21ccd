"""Transformers in process, on a tiny random model: the same as transformers' own answers, whatever
shares the batch; and everything that a user can get wrong."""

from __future__ import annotations

import asyncio
import json
import math
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from refute.errors import InputError, ModelUnavailable
from refute.models.contract import Completion, Message, Sampling
from refute.testing.models import CHECKS, Check, Subject, conform
from refute_lab.models import hf
from refute_lab.models.checkpoint import find, load
from refute_lab.models.hf import Draw, TransformersModel, open_hf

from .tiny import CONTEXT, build_tiny

torch.set_num_threads(1)  # threads that wait for one another crawl on a busy machine

TEXTS = ["hello", "write a unit test", "def add(a, b):\n    return a + b", "x"]
SHORT = Sampling(temperature=0.0, top_p=1.0, max_tokens=16)


def user(text: str) -> list[Message]:
    return [Message("user", text)]


@pytest.fixture(scope="module")
def adapter(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LoRA adapter with random weights, large enough to change every answer."""
    peft = pytest.importorskip("peft")
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    config = peft.LoraConfig(
        r=4, target_modules=["q_proj", "v_proj", "down_proj"], init_lora_weights=False
    )
    wrapped = peft.get_peft_model(AutoModelForCausalLM.from_pretrained(tiny_model), config)
    path = tmp_path_factory.mktemp("adapter") / "lora"
    wrapped.save_pretrained(path)
    return path


@pytest.fixture
def model(tiny_model: Path) -> Iterator[TransformersModel]:
    opened = open_hf(str(tiny_model))
    yield opened
    asyncio.run(opened.close())


def greedy_by_transformers(network: Any, folder: Path, text: str) -> str:
    """What a script without us would print."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": text}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    output = network.generate(**prompt, do_sample=False, max_new_tokens=SHORT.max_tokens)
    new = output[0, prompt["input_ids"].shape[1] :]
    return str(tokenizer.decode(new, skip_special_tokens=True))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: str(check.__name__))
def test_conformance(check: Check, tiny_model: Path) -> None:
    conform(check, Subject(lambda: open_hf(str(tiny_model)), seeds=True, limit=CONTEXT))


def test_greedy_is_transformers_own(model: TransformersModel, tiny_model: Path) -> None:
    from transformers import AutoModelForCausalLM

    network = AutoModelForCausalLM.from_pretrained(tiny_model)
    for text in TEXTS:
        (answer,) = asyncio.run(model.generate(user(text), n=1, sampling=SHORT))
        assert answer.text == greedy_by_transformers(network, tiny_model, text)


def test_greedy_with_an_adapter_is_pefts_own(tiny_model: Path, adapter: Path) -> None:
    import peft
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(tiny_model)
    network = peft.PeftModel.from_pretrained(base, adapter)
    adapted, plain = open_hf(f"{tiny_model}+{adapter}"), open_hf(str(tiny_model))
    differ = 0
    for text in TEXTS:
        (answer,) = asyncio.run(adapted.generate(user(text), n=1, sampling=SHORT))
        assert answer.text == greedy_by_transformers(network, tiny_model, text)
        differ += answer != asyncio.run(plain.generate(user(text), n=1, sampling=SHORT))[0]
    assert differ, "the adapter must change something, or this proves nothing"


def test_a_sample_does_not_depend_on_its_neighbours(model: TransformersModel) -> None:
    """Of other lengths, temperatures, stop strings and seeds, in one batch."""
    settings = [
        Sampling(temperature=0.0, top_p=1.0, max_tokens=16),
        Sampling(temperature=1.0, top_p=1.0, max_tokens=16, seed=3),
        Sampling(temperature=0.7, top_p=0.9, max_tokens=16, seed=3),
        Sampling(temperature=1.3, top_p=0.5, max_tokens=16, seed=4, stop=("a", "\n")),
    ]
    requests = [(user(text * (at + 1)), s) for at, text in enumerate(TEXTS) for s in settings]
    sizes = []

    async def together() -> list[list[Completion]]:
        draw = model._batches._work
        model._batches._work = lambda rows, wanted: sizes.append(len(rows)) or draw(rows, wanted)
        return await asyncio.gather(
            *[model.generate(messages, n=2, sampling=s) for messages, s in requests]
        )

    async def alone() -> list[list[Completion]]:
        return [await model.generate(messages, n=2, sampling=s) for messages, s in requests]

    at_once = asyncio.run(together())
    assert max(sizes) > 2, "nothing was batched"
    assert at_once == asyncio.run(alone())
    assert at_once[1] != at_once[2], "settings of the row matter"


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.5, 1.0), (1.0, 0.7), (2.0, 0.9)])
def test_tokens_are_drawn_with_their_probabilities(temperature: float, top_p: float) -> None:
    """20,000 draws against the distribution worked out by hand (chi-squared, fixed seeds)."""
    logits = [2.0, 1.0, 0.5, 0.0, -1.0, -2.0]
    rows = 20_000
    draw = Draw([Sampling(temperature, top_p)] * rows, [f"{row}" for row in range(rows)])
    drawn = Counter(draw(None, torch.tensor([logits] * rows)).argmax(-1).tolist())
    weights = [math.exp(logit / temperature) for logit in logits]
    kept, before = {}, 0.0
    for token, weight in enumerate(weights):  # in descending order already
        if before < top_p:
            kept[token] = weight
        before += weight / sum(weights)
    assert set(drawn) <= set(kept)
    expected = {token: rows * weight / sum(kept.values()) for token, weight in kept.items()}
    chi = sum((drawn[token] - count) ** 2 / count for token, count in expected.items())
    assert chi < 25, (drawn, expected)  # 99.9 % of draws with 5 degrees of freedom are below 20.5


def test_the_end_of_a_turn_is_a_stop(tiny_model: Path, tmp_path: Path) -> None:
    """With a token that the model does say declared as the end."""
    plain = open_hf(str(tiny_model))
    (whole,) = asyncio.run(plain.generate(user("hello"), n=1, sampling=SHORT))
    assert whole.finish_reason == "length"
    from transformers import AutoModelForCausalLM, AutoTokenizer

    network = AutoModelForCausalLM.from_pretrained(tiny_model)
    tokenizer = AutoTokenizer.from_pretrained(tiny_model)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "hello"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    said = network.generate(**prompt, do_sample=False, max_new_tokens=16)[0].tolist()[
        prompt["input_ids"].shape[1] :
    ]
    end = said[5]
    shutil.copytree(tiny_model, tmp_path / "m")
    settings = tmp_path / "m" / "generation_config.json"
    document = json.loads(settings.read_text())
    settings.write_text(json.dumps({**document, "eos_token_id": [end], "repetition_penalty": 9.0}))
    (cut,) = asyncio.run(open_hf(str(tmp_path / "m")).generate(user("hello"), n=1, sampling=SHORT))
    assert cut.finish_reason == "stop"
    assert cut.usage.completion_tokens == said.index(end) + 1
    assert cut.text == tokenizer.decode(said[: said.index(end)], skip_special_tokens=True)


def test_out_of_memory_halves_the_batch(
    model: TransformersModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real error of PyTorch, raised as for a GPU that holds three rows."""
    expected = asyncio.run(model.generate(user("x"), n=8, sampling=SEEDED))
    generate, sizes = hf._generate, []

    def small(checkpoint: Any, rows: Any, wanted: Any) -> Any:
        sizes.append(len(rows))
        if len(rows) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return generate(checkpoint, rows, wanted)

    monkeypatch.setattr(hf, "_generate", small)
    assert asyncio.run(model.generate(user("x"), n=8, sampling=SEEDED)) == expected
    assert max(sizes[-2:]) <= 3
    sizes.clear()
    asyncio.run(model.generate(user("x"), n=8, sampling=SEEDED))
    assert max(sizes) <= 4, "the smaller size was not remembered"


SEEDED = Sampling(temperature=1.0, top_p=1.0, max_tokens=8, seed=0)


async def test_closing_cuts_short_what_is_generated(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, generate = threading.Event(), hf._generate

    def noted(*arguments: Any) -> Any:
        begun.set()
        return generate(*arguments)

    monkeypatch.setattr(hf, "_generate", noted)

    model = open_hf(str(tiny_model))
    asking = asyncio.ensure_future(
        model.generate(user("hello"), n=8, sampling=Sampling(2.0, 1.0, max_tokens=10**6))
    )
    assert await asyncio.to_thread(begun.wait, 120)
    await model.close()
    with pytest.raises(ModelUnavailable, match="closed"):
        await asking
    with pytest.raises(ModelUnavailable, match="closed"):
        await model.generate(user("hello"), n=1, sampling=SHORT)


def test_the_name_changes_with_the_weights(tiny_model: Path, adapter: Path, tmp_path: Path) -> None:
    names = {open_hf(str(tiny_model)).name, open_hf(f"{tiny_model}+{adapter}").name}
    assert all(name.startswith(f"hf:{tiny_model.name}@") for name in names)
    moved = shutil.copytree(tiny_model, tmp_path / "moved" / tiny_model.name)
    assert open_hf(str(moved)).name in names
    other = build_tiny(tmp_path / "other", seed=1)
    before = open_hf(str(other)).name
    shutil.rmtree(other)
    assert open_hf(str(build_tiny(other, seed=1))).name == before
    shutil.rmtree(other)
    names |= {before, open_hf(str(build_tiny(other, seed=2))).name}
    assert len(names) == 4
    assert open_hf("some/model").name == "hf:some/model"


def test_what_is_not_there_is_told_on_opening(
    tiny_model: Path, adapter: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no such folder"):
        open_hf(str(tmp_path / "missing"))
    with pytest.raises(InputError, match=r"config\.json is missing"):
        open_hf(str(tmp_path))
    with pytest.raises(InputError, match=rf"it is an adapter: write hf:{tiny_model}\+{adapter}"):
        open_hf(str(adapter))
    with pytest.raises(InputError, match=r"adapter_config\.json is missing"):
        open_hf(f"{tiny_model}+{tmp_path}")
    with pytest.raises(InputError, match="names no model"):
        open_hf("")


def test_missing_weights_are_not_made_up(tiny_model: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(tiny_model, broken)
    tensors = load_file(broken / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnavailable, match=r"up_proj\.weight is missing"):
        asyncio.run(open_hf(str(broken)).generate(user("x"), n=1, sampling=SHORT))


def without_template(tiny_model: Path, folder: Path) -> Path:
    shutil.copytree(tiny_model, folder)
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    settings = folder / "tokenizer_config.json"
    document = json.loads(settings.read_text())
    document.pop("chat_template", None)
    settings.write_text(json.dumps(document))
    return folder


def test_without_a_chat_template_it_says_so_once(
    tiny_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = without_template(tiny_model, tmp_path / "base")
    model = open_hf(str(folder))
    for _ in range(2):
        (answer,) = asyncio.run(model.generate(user("x"), n=1, sampling=SHORT))
        assert answer.text
    assert capsys.readouterr().err.count("no chat template") == 1
    checkpoint = load(find(str(folder)))
    ids = checkpoint.prompt([Message("system", "be brief"), Message("user", "x")])
    assert checkpoint.text(ids) == "System: be brief\n\nUser: x\n\nAssistant:"


def with_template(tiny_model: Path, folder: Path, template: str) -> Path:
    without_template(tiny_model, folder)
    (folder / "chat_template.jinja").write_text(template)
    return folder


NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
    "{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)


def test_a_template_without_a_system_role(tiny_model: Path, tmp_path: Path) -> None:
    checkpoint = load(find(str(with_template(tiny_model, tmp_path / "m", NO_SYSTEM))))
    ids = checkpoint.prompt([Message("system", "be brief"), Message("user", "x")])
    assert checkpoint.text(ids) == "[user]be brief\n\nx"
