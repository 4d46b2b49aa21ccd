"""Which files, definitions and tests of a repository an issue or a change is about."""
