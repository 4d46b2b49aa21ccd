"""What the training libraries say that nobody who runs `refute train` can act on.

Only messages that are named here are left out: any other warning is shown.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
