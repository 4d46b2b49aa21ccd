"""Messages that are left out, and those that are not."""

from __future__ import annotations

import logging
import warnings

import pytest

pytest.importorskip("transformers")

from refute_lab.train.run_folder import without_noise

KERNELS = "Failed to load CPU gemm_4bit_forward from kernels-community: %s."


def test_only_what_is_named_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("bitsandbytes.backends.cpu.ops")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with without_noise():
            logger.warning(KERNELS, "No module named 'kernels'")
            logger.warning("the library is broken")
            for message in (
                "`gradient_checkpointing` is deprecated and will be removed in v6.",
                "`is_gradient_checkpointing` is deprecated and will be removed in v6.",
                "`learning_rate` is deprecated and will be removed in v6.",
            ):
                warnings.warn(message, FutureWarning, stacklevel=1)
            warnings.warn("the loss is not a number", UserWarning, stacklevel=1)
    assert [record.getMessage() for record in caplog.records] == ["the library is broken"]
    assert [str(one.message).split()[0] for one in seen] == ["`learning_rate`", "the"]


def test_it_is_over_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("bitsandbytes.backends.cpu.ops")
    with without_noise():
        pass
    logger.warning(KERNELS, "No module named 'kernels'")
    assert len(caplog.records) == 1
