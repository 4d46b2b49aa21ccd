"""Function level: examples, search, tests, fixes and their grading."""
