"""Files of predictions in every form that is around, and the patch of each patch type."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

from refute.core.problems import IssueKey
from refute.errors import InputError
from refute_lab.swt.tasks import (
    Prediction,
    gold_predictions,
    patch_of,
    read_predictions,
    write_predictions,
)

ONE = {"instance_id": "a__b-1", "model_name_or_path": "m", "model_patch": "p1", "full_output": "o"}
TWO = {"instance_id": "a__b-2", "model_patch": None}
EXPECTED = {"a__b-1": Prediction("a__b-1", "p1", "m", "o"), "a__b-2": Prediction("a__b-2", "")}


FORMS = {
    "list": json.dumps([ONE, TWO]),
    "indented list": json.dumps([ONE, TWO], indent=2),
    "lines": f"{json.dumps(ONE)}\n\n{json.dumps(TWO)}",
    "lines with carriage returns": f"{json.dumps(ONE)}\r\n{json.dumps(TWO)}\r\n",
    "keyed": json.dumps({"a__b-1": ONE, "a__b-2": {"model_patch": None}}),
    "indented, keyed": json.dumps({"a__b-1": ONE, "a__b-2": None}, indent=1),
    "byte order mark": "\ufeff" + json.dumps([ONE, TWO]),
    "twice": json.dumps([{**ONE, "model_patch": "old"}, ONE, TWO]),
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_forms(name: str, packed: bool, tmp_path: Path) -> None:
    data = FORMS[name].encode()
    path = tmp_path / "predictions"
    path.write_bytes(gzip.compress(data) if packed else data)
    assert read_predictions(path) == EXPECTED


def test_a_single_prediction_and_none(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(ONE))
    assert list(read_predictions(path)) == ["a__b-1"]
    path.write_text("[]")
    assert read_predictions(path) == {}


BAD = {
    "[1]": "item 1: Expected `object`, got `int`",
    '{"instance_id": 3}': "`$.instance_id`",
    '{"instance_id": "x"}': "missing required field `model_patch`",
    '{"instance_id": "x", "model_patch": 3}': "`$.model_patch`",
    '{"instance_id": "x", "model_patch": "p"}\n{': ":2: not JSON",
    "[" * 100_000: "not JSON",
}


@pytest.mark.parametrize("text", BAD)
def test_malformed_files_are_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=r"bad\.jsonl") as caught:
        read_predictions(path)
    assert BAD[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "predictions.jsonl"
    write_predictions(path, EXPECTED.values())
    assert read_predictions(path) == EXPECTED
    write_predictions(path, [])
    assert path.read_text() == ""
    assert os.listdir(path.parent) == ["predictions.jsonl"]


def test_gold_is_the_golden_tests() -> None:
    key = IssueKey("a__b-1", patch="fix", test_patch="tests")
    assert gold_predictions([key]) == {"a__b-1": Prediction("a__b-1", "tests", "gold")}


FILES = {"tests/test_a.py": "def test_a():\n    assert 1\n"}
DIFF = """\
--- a/tests/test_a.py
+++ b/tests/test_a.py
@@ -1,2 +1,3 @@
 def test_a():
     assert 1
+    assert 2
"""
BLOCK = "diff\ntests/test_a.py\ninsert\nEOF\ndef test_b():\n    assert 2\nend diff\n"


@pytest.fixture
def applies(tmp_path: Path) -> object:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    env = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}

    def ask(patch: str) -> bool:
        command = ["git", "apply", "--check", "-"]
        done = subprocess.run(
            command, input=patch.encode(), cwd=tmp_path, env=env, capture_output=True
        )
        return done.returncode == 0

    return ask


@pytest.mark.parametrize(
    ("patch", "types", "kind"),
    [
        (DIFF, ["vanilla"], "as it is"),
        (DIFF.rstrip("\n"), ["vanilla"], "as it is"),
        (DIFF, ["vanilla", "fuzzy", "custom"], "as it is"),
        (DIFF.replace("assert 1", "assert 1 "), ["vanilla", "fuzzy"], "diff"),
        (DIFF.replace("-1,2 +1,3", "-9 +9"), ["vanilla"], "broken"),
        (DIFF.replace("-1,2 +1,3", "-9 +9"), ["fuzzy"], "diff"),
        (BLOCK, ["vanilla", "fuzzy", "custom"], "block"),
        (BLOCK, ["custom"], "block"),
        (BLOCK, ["vanilla", "fuzzy"], "none"),
        ("", ["vanilla"], "none"),
        ("  \n", ["custom"], "none"),
    ],
)
def test_patch_types(patch: str, types: list[str], kind: str, applies: object) -> None:
    applied = patch_of(Prediction("a", patch), types, FILES.get, applies)  # type: ignore[arg-type]
    if kind == "none":
        assert applied.patch == ""
        assert applied.problems
        return
    assert applies(applied.patch) == (kind != "broken")  # type: ignore[operator]
    assert (applied.patch == DIFF) == (kind == "as it is")
    assert ("+def test_b" in applied.patch) == (kind == "block")
