"""What a change changes: two revisions of a repository side by side, compared without running."""
