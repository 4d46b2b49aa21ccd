"""What redgreen asks, word for word, in golden files.

`UPDATE_GOLDEN=1 pytest tests/issue/redgreen/test_redgreen_prompts.py` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from refute.issue.context import likely_files
from refute.issue.redgreen.locate import locate_prompt, view_of
from refute.prompts import render

from ..projects import FILES, FIX, GOLDEN_TESTS, ISSUE
from .oracle import kind_of

GOLDEN = Path(__file__).parent / "golden"
RUN = "tests/test_line.py::test_above: failed in call\nAssertionError: assert 0 == 9\n"
SOURCES = {path: text for path, text in FILES.items() if path.endswith(".py")}
LIKELY = likely_files(ISSUE, SOURCES)
VARIABLES: dict[str, dict[str, Any]] = {
    "direct": {},
    "fix": {},
    "fix_repair": {"patch": FIX, "run": "1 existing tests passed before the change and fail"},
    "judge": {
        "versions": [
            {
                "patch": GOLDEN_TESTS,
                "stands": ["t.py::test_a fails now, and passes with change 1."],
            },
            {"patch": FIX, "stands": []},
        ],
        "fixes": [FIX],
        "run": RUN,
    },
    "repair": {
        "patch": GOLDEN_TESTS,
        "problems": ["tests/test_line.py: insert: its code is not Python"],
        "fault": "none of them fails on the code as it is",
        "run": RUN,
    },
    "dispute": {"patch": GOLDEN_TESTS, "run": RUN, "fix": FIX, "fixed_run": RUN},
}


def prompt_of(kind: str) -> str:
    if kind == "locate":
        return locate_prompt(ISSUE, SOURCES, LIKELY, 4000)
    view = view_of(ISSUE, SOURCES, LIKELY, "CODE: shapes/line.py: clamp, clip", 4000)
    return render(
        f"redgreen_{kind}",
        issue=ISSUE,
        files=view.code_files,
        test_files=view.test_files,
        fixtures=("paint",),
        missing=view.missing,
        **VARIABLES[kind],
    )


@pytest.mark.parametrize("kind", ["locate", *VARIABLES])
def test_prompt(kind: str) -> None:
    prompt = prompt_of(kind)
    assert kind_of(prompt) == kind
    path = GOLDEN / f"{kind}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(prompt + "\n", encoding="utf-8")
    assert prompt + "\n" == path.read_text(encoding="utf-8")


def test_values_are_never_templates() -> None:
    files = [{"path": "a.py", "numbered": "1 {{ 7 * 7 }} {% raw %}"}]
    prompt = render(
        "redgreen_direct", issue="{{ issue }}", files=files, test_files=[], fixtures=(), missing=()
    )
    assert "1 {{ 7 * 7 }} {% raw %}" in prompt
    assert "<issue>\n{{ issue }}\n</issue>" in prompt
