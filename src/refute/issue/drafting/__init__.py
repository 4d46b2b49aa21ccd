"""What methods share that write drafts of tests and try them on the original code."""
