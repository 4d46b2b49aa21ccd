"""From specs to models, and what models cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.errors import InputError
from refute.models.budget import FREE, Price, Prices
from refute.models.cache import ReplayModel
from refute.models.contract import Usage
from refute.models.openai import OpenAIModel
from refute.models.providers import open_model

SERVER = "http://models.invalid/v1"


@pytest.mark.parametrize(
    "spec", ["", "gpt-4o", "openai:", "openai", ":x", "claude:x", "replay:", "HF:x"]
)
def test_specs_that_are_none(spec: str) -> None:
    with pytest.raises(InputError, match=r"must be .*openai:NAME.*hf:PATH_OR_ID"):
        open_model(spec)


def test_specs(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    model = open_model("openai:org/name:tag", base_url=SERVER, timeout=7.0)
    assert isinstance(model, OpenAIModel)
    assert model.name == "openai:org/name:tag"
    assert model.served_name == "org/name:tag"
    assert (model._retry.attempt, model._retry.total) == (7.0, 21.0)
    assert isinstance(open_model(f"replay:{tmp_path}/a.jsonl"), ReplayModel)


def test_options_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    with pytest.raises(InputError, match="--base-url is for anthropic:NAME and openai:NAME"):
        open_model(f"replay:{tmp_path}/a.jsonl", base_url=SERVER)
    for options in ({"timeout": 0.0}, {"timeout": float("nan")}, {"concurrency": 0}):
        with pytest.raises(InputError, match="must be positive"):
            open_model("openai:m", base_url=SERVER, **options)


def test_published_prices() -> None:
    prices = Prices.load()
    price = prices.of(OpenAIModel("gpt-4o-mini", base_url=SERVER))
    assert price.of(Usage(1_000_000, 0)) == pytest.approx(price.input)
    assert price.of(Usage(0, 500_000)) == pytest.approx(price.output / 2)
    assert prices.of(OpenAIModel("gpt-4o-mini-2024-07-18", base_url=SERVER)) == price
    assert prices.of(OpenAIModel("gpt-4o-nano", base_url=SERVER)) is None
    assert prices.of(OpenAIModel("2024-07", base_url=SERVER)) is None


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/v1", "http://localhost/v1", "http://[::1]:1/v1"]
)
def test_a_server_on_this_machine_is_free(url: str, tmp_path: Path) -> None:
    model = OpenAIModel("gpt-4o", base_url=url)
    assert Prices.load().of(model) == FREE
    own = tmp_path / "p.toml"
    own.write_text('["gpt-4o"]\ninput = 1\noutput = 2.5\n')
    assert Prices.load(own).of(model) == Price(1.0, 2.5)


def test_the_users_own_prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "p.toml"
    own.write_text('["gpt-4o"]\ninput = 9\noutput = 9\n["org/new"]\ninput = 0\noutput = 0.1\n')
    monkeypatch.setenv("REFUTE_PRICES", str(own))
    prices = Prices.load()
    assert prices.of(OpenAIModel("gpt-4o", base_url=SERVER)) == Price(9.0, 9.0)
    assert prices.of(OpenAIModel("org/new", base_url=SERVER)) == Price(0.0, 0.1)
    assert prices.of(OpenAIModel("gpt-4o-mini", base_url=SERVER)) is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[x", "is not TOML"),
        ("x = 1", "needs `input` and `output`"),
        ('["x"]\ninput = -1\noutput = 1', "needs `input` and `output`"),
        ('["x"]\ninput = "1"\noutput = 1', "needs `input` and `output`"),
    ],
)
def test_a_wrong_price_file(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        Prices.load(path)
    assert str(path) in str(caught.value)
    with pytest.raises(InputError, match="No such file"):
        Prices.load(tmp_path / "none")
