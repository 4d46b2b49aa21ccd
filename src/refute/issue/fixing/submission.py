"""What a method leaves or answers, as a prediction of a fix: the code of it, and no tests."""

from __future__ import annotations

from refute.issue.patches import file_patches, split_fix
from refute.problems import IssuePrediction

__all__ = ["fix_submission"]


def fix_submission(id: str, diff: str, *remarks: str) -> IssuePrediction:
    """The part of a diff that changes code, with a note of what is left out.

    A fix that changes a test, a `conftest.py` or how tests are run has fixed nothing by that, and
    its tests are not asked for. Binary files are no code. What a fix makes at the top of the
    repository beside what is there is kept: nothing tells a script from a module.
    """
    tests, code = split_fix(diff)
    parts = file_patches(code)
    patch = "".join(part.text for part in parts if not part.binary)
    dropped = [part.path for part in (*file_patches(tests), *(p for p in parts if p.binary))]
    notes = [remark for remark in remarks if remark]
    if dropped:
        more = f" and {len(dropped) - 3} more" if len(dropped) > 3 else ""
        notes.append(f"left out, no code: {', '.join(dropped[:3])}{more}")
    if not patch:
        notes.append("no code was changed")
    return IssuePrediction(id, patch, notes=tuple(notes))
