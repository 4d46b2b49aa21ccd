"""Two revisions of a repository side by side: how they differ, and how their functions behave."""
