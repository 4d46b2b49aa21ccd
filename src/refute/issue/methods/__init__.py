"""The issue-level methods: what `refute.registry.METHODS` finds, one or two a file."""
