"""Repository level: edits, grading and reproduction of issues (SWT-Bench, arXiv 2406.12952)."""
