"""The other task: a fix of an issue instead of tests for it, and what may be claimed of it."""
