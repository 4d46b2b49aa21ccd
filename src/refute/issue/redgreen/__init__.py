"""Parts of the method `redgreen`: tests that fail now for the issue's reason and that likely
fixes turn green. See docs/redgreen.md."""
