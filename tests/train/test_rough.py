"""What is known of a training before it starts, without torch."""

from __future__ import annotations

import pytest

from refute.errors import InputError
from refute_lab.train.data import DataSettings
from refute_lab.train.tokens import rows_seen


def test_the_last_step_of_an_epoch_takes_what_is_left() -> None:
    assert rows_seen(20, 2, 16) == 20
    assert rows_seen(20, 20, 16) == 200
    assert rows_seen(20, 3, 16) == 36
    assert rows_seen(32, 4, 16) == 64


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(InputError, match="at least 1"):
        DataSettings(rows_per_fault=0)
