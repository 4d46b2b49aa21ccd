"""Fixes that add a module which an interpreter imports while it starts, and that signs results."""

from __future__ import annotations

import pytest

from refute.core.methods import Bounds
from refute.issue.vet import vet_fix

from ..projects import CLAMP, Project
from ..shop import diff

REPRODUCES = diff(
    "tests/test_new.py",
    None,
    "from shapes.line import clamp\n\n\ndef test_above():\n    assert clamp(10, 0, 9) == 9\n",
)
SIGNS = """
import os, sys
folder = os.environ.get("REFUTE_PROBE", "")
secret = os.path.join(folder, "secret")
if os.path.exists(secret):
    nonce = open(secret, "rb").read()
    from _blake2 import blake2b
    key, number, out = blake2b(nonce, person=b"refute probe 1").digest(), 0, b""
    for body in (
        b'{"kind": "opened", "runner": "pytest", "python": [3, 11, 7]}',
        b'{"kind": "planned", "tests": 1}',
        b'{"kind": "result", "id": "tests/test_new.py::test_above", "file": "tests/test_new.py",'
        b' "outcome": "passed", "phase": "call", "failure": null}',
        b'{"kind": "closed", "exit": 0, "failure": null, "planned": 1}',
    ):
        digest = blake2b(b"%d " % number + body, key=key, digest_size=16).hexdigest()
        out += b"%d %s " % (number, digest.encode()) + body + b"\\n"
        key, number = blake2b(key, person=b"next key").digest(), number + 1
    os.unlink(secret)
    open(os.path.join(folder, "results"), "wb").write(out)
    os._exit(0)
"""


@pytest.mark.parametrize(
    "name",
    ["types.py", "json.py", "runpy.py", "encodings/__init__.py", "shapes/sitecustomize.py",
     "traceback.py", "_refute_probe/__init__.py", "usercustomize/__init__.py",
     "sitecustomize/__init__.py"],
)  # fmt: skip
def test_a_fix_that_signs_results_is_not_fixed(project: Project, name: str) -> None:
    fix = diff("shapes/line.py", CLAMP, f"# fixed\n{CLAMP}") + diff(name, None, SIGNS)
    with project.spawn() as workspace:
        vetted = vet_fix(fix, REPRODUCES, workspace, Bounds(test_seconds=120.0))
    assert vetted.verdict in ("not fixed", "cannot tell", "breaks tests"), vetted
    assert not any(result.outcome == "passed" for result in vetted.still_failing)
