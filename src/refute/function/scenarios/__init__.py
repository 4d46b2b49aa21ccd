"""Calls as small programs: what to construct, what to call, what is seen of it."""
