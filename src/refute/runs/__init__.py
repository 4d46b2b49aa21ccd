"""Worker processes, and how they are started."""
