"""A repository at a commit: its environment, patches applied to it, its tests run, contained."""
