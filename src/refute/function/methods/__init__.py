"""The function-level methods, one a file: what `refute.registry.METHODS` finds."""
