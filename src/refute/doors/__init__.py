"""Entries to refute: the command line, agents (MCP), editors (LSP), notebooks.

No logic here: each turns arguments into one call of `refute.verbs`, and its result into the form of
its protocol. But for the command line, calls run in a process of their own (`calls`, `worker`), so
that they can be cancelled, and so that nothing that they print reaches the protocol's stream.
`watching` shows what it finds on a terminal, so it starts the command line itself.
"""
