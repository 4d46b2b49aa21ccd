"""Benchmarks of issues made out of pull requests."""
