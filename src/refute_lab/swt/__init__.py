"""SWT-Bench: its rules of grading, its tables, and benchmarks built as it was."""
