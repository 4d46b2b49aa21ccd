"""Edits out of a model's answer, in the forms of the papers' baselines.

>>> read_edits(answer, "diff").apply(read)           # read: path -> text or None
Applied(patch="diff --git ...", problems=("tests/test_a.py: hunk 1: ...",))
"""

from __future__ import annotations

from typing import Literal, get_args

from refute.issue import edits
from refute.issue.edits.custom import blocks_as_written
from refute_lab.baselines.edits.autocoderover import read_replacements
from refute_lab.baselines.edits.unified import read_unified

Form = Literal["diff", "custom", "autocoderover"]
"""`diff`: a unified diff (SWT-Bench's `fuzzy`); `custom`: SWT-Bench's own block form (section 4.2);
`autocoderover`: ``<file><original><patched>``."""

FORMS: tuple[str, ...] = get_args(Form)


def read_edits(answer: str, form: Form, strict: bool = False) -> edits.Edits:
    """The edits in a model's answer. An answer without any gives `Edits` that change nothing.

    `strict`: a custom diff is read as the reference reads it, and what that refuses is a problem.
    """
    match form:
        case "diff":
            return edits.Edits(read_unified(answer))
        case "custom":
            return edits.Edits(blocks_as_written(answer)) if strict else edits.read_edits(answer)
        case "autocoderover":
            return edits.Edits(read_replacements(answer))
