"""Runs: units of work, an append-only journal that survives `kill -9`, and what does the units."""
