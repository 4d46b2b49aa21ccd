"""Checks for what is plugged in, to be run by the tests of whoever made it (with pytest).

`refute.testing.models`: what every model must do; `refute.testing.sandboxes`: every sandbox;
`refute.testing.workspaces`: every workspace.
"""
