"""What an agent leaves in a workspace, as a prediction: the tests of it, and nothing else."""

from __future__ import annotations

from refute.issue.patches import file_patches, split_tests
from refute.problems import IssuePrediction

__all__ = ["handed_in"]


def handed_in(id: str, diff: str, *remarks: str) -> IssuePrediction:
    """The part of a diff that touches test files, with a note of what is left out.

    An agent may leave scripts behind, or a fix of the code: with a fix applied before, a test that
    reproduces the issue would pass on the "original" code. Binary files are no tests.
    """
    tests, others = split_tests(diff)
    parts = file_patches(tests)
    patch = "".join(part.text for part in parts if not part.binary)
    dropped = [part.path for part in (*file_patches(others), *(p for p in parts if p.binary))]
    notes = [remark for remark in remarks if remark]
    if dropped:
        more = f" and {len(dropped) - 3} more" if len(dropped) > 3 else ""
        notes.append(f"left out, no tests: {', '.join(dropped[:3])}{more}")
    if not patch:
        notes.append("no test file was changed")
    return IssuePrediction(id, patch, notes=tuple(notes))
