"""The function-level methods, one a file: what `refute.core.registry.METHODS` finds."""
