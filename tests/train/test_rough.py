"""What is known of a training before it starts, without torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from refute.errors import InputError
from refute_lab.train.data import DataSettings
from refute_lab.train.settings import SftSettings
from refute_lab.train.tokens import read_examples, rough_estimate, rows_seen


def test_the_last_step_of_an_epoch_takes_what_is_left() -> None:
    assert rows_seen(20, 2, 16) == 20
    assert rows_seen(20, 20, 16) == 200
    assert rows_seen(20, 3, 16) == 36
    assert rows_seen(32, 4, 16) == 64


def test_rows_steps_and_tokens(tmp_path: Path) -> None:
    data = tmp_path / "train.jsonl"
    row = {"prompt": "p" * 40, "completion": "c" * 10}
    long = {"prompt": "p" * 4000, "completion": "c"}
    data.write_text("".join(json.dumps(one) + "\n" for one in (*[row] * 20, long)))
    found = rough_estimate(data, SftSettings(model="x", max_length=100))
    assert (found.rows, found.too_long, found.steps) == (20, 1, 20)
    assert (found.tokens, found.trained_tokens) == (200 * 13, 200 * 3)
    assert found.memory_gib is None


def test_a_row_of_a_later_turn(tmp_path: Path) -> None:
    data = tmp_path / "train.jsonl"
    before = [{"role": "user", "content": "u" * 20}, {"role": "assistant", "content": "a" * 20}]
    row = {"prompt": "p" * 40, "completion": "c" * 10}
    data.write_text(json.dumps({**row, "before": before}) + "\n")
    [found] = read_examples(data)
    assert [message.role for message in found.messages] == ["user", "assistant", "user"]
    assert rough_estimate(data, SftSettings(model="x", max_length=100)).tokens == 10 * 23
    for odd in ("hello", [{"role": "tool", "content": "x"}], [{"role": "user", "content": ""}]):
        data.write_text(json.dumps({**row, "before": odd}) + "\n")
        with pytest.raises(InputError, match=r"train\.jsonl:1: before: must be"):
            read_examples(data)


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(InputError, match="at least 1"):
        DataSettings(rows_per_fault=0)
