"""One file for each method of the papers."""
