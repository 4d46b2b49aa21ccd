"""Analyses of graded runs: what the tables and figures of SWT-Bench (arXiv 2406.12952) show."""
