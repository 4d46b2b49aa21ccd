"""Answers that nobody meant: mutated, repeated without end, nested too deeply."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from refute.issue.edits import Applied
from refute.workspace.patches import file_patches
from refute_lab.baselines.edits import FORMS, read_edits

Judge = Callable[..., tuple[dict[str, str], Applied]]

FILES = {
    "tests/test_a.py": "import os\n\n\nclass TestA:\n    def test_a(self):\n        assert 1\n"
}
ANSWERS = {
    "diff": "```diff\ndiff --git a/tests/test_a.py b/tests/test_a.py\n--- a/tests/test_a.py\n"
    "+++ b/tests/test_a.py\n@@ -5,2 +5,4 @@\n     def test_a(self):\n         assert 1\n"
    "+    def test_b(self):\n+        assert 2\n--- /dev/null\n+++ b/tests/test_b.py\n"
    "@@ -0,0 +1 @@\n+x = 1\n```\n",
    "custom": "```\ndiff\ntests/test_a.py\nrewrite\n5\n    def test_a(self):\n        assert 2\n"
    "end diff\ndiff\ntests/test_b.py\ninsert\nEOF\nimport os\ndef test_b():\n    assert os\n"
    "end diff\n```\n",
    "autocoderover": "# modification 1\n```\n<file>tests/test_a.py</file>\n<original>\n"
    "    def test_a(self):\n        assert 1\n</original>\n<patched>\n    def test_a(self):\n"
    "        assert 2\n</patched>\n```\n",
}
CHARACTERS = '\0\r\t +-@`<>/.\\"\u00e9\u2028\x0c'


def mutated(answer: str, chance: random.Random) -> str:
    lines = answer.split("\n")
    for _ in range(chance.randint(1, 5)):
        at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
        line = lines[at]
        cut = chance.randrange(len(line) + 1)
        match chance.randrange(5):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(other, line)
            case 2:
                lines[at] = line[:cut] + chance.choice(CHARACTERS) + line[cut:]
            case 3:
                lines[at] = line[cut:]
            case _:
                lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


@pytest.mark.parametrize("form", FORMS)
def test_mutated_answers_give_a_patch_that_reads_back_or_none(form: str) -> None:
    chance = random.Random(form)
    changed = 0
    for _ in range(400):
        applied = read_edits(mutated(ANSWERS[form], chance), form).apply(FILES.get)  # type: ignore[arg-type]
        assert not any("\n" in problem for problem in applied.problems)
        parts = file_patches(applied.patch)
        assert "".join(part.text for part in parts) == applied.patch
        assert all(part.old in (None, *FILES) for part in parts)
        changed += bool(parts)
    assert changed > 100, "most mutations leave something to apply"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(8))
def test_patches_of_mutated_answers_apply(form: str, seed: int, judge: Judge) -> None:
    judge(mutated(ANSWERS[form], random.Random(seed)), form, FILES)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "line",
    ["```", "diff", "@@", "@@ -1 +1 @@\n-nothing\n+more", "--- a/x\n+++ b/x", "<file>x</file>",
     "diff\ntests/test_a.py\ninsert\nEOF\nx = 1", "+x", "<original>", "end diff", "-"],
)  # fmt: skip
def test_endless_answers_end(form: str, line: str) -> None:
    answer = ANSWERS[form] + f"{line}\n" * 10_000
    applied = read_edits(answer, form).apply(FILES.get)  # type: ignore[arg-type]
    assert len(applied.patch) < 1_000_000
