"""Code shared by the methods that write drafts of tests and try them on the original code."""
