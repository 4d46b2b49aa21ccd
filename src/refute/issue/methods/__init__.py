"""The issue-level methods: what `refute.core.registry.METHODS` finds, one or two a file."""
