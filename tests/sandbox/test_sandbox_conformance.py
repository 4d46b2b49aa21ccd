"""The conformance suite on the sandbox of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.sandbox.local import LocalSandbox
from refute.testing.sandboxes import CHECKS, Check, Subject, conform


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_on_this_machine(check: Check, tmp_path: Path) -> None:
    with LocalSandbox() as box:
        confined = all(box.protections().get(name) for name in ("landlock", "seccomp"))
    conform(check, Subject(LocalSandbox, confined), tmp_path)
