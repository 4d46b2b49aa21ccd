"""One file a verb: its options, its function with the result that it returns, and its command.

The options are a frozen dataclass of `core.parameters`. Of its fields flags, `--help`, settings,
what agents may say over MCP, and the keywords from Python are made; a new option is a new field.

A function raises `InputError` for what the caller can fix and `Unavailable` for what the machine
does not give, and says what it has to say besides to the logger `refute`. It may be called where an
event loop is running (a notebook).
"""

from __future__ import annotations

VERBS = {
    "hunt": "Find unit tests that a function fails.",
    "debug": "Fix a function with generated tests; print the fix as a diff.",
    "diff": "Find inputs on which a change makes functions behave differently.",
    "gate": "Prove that a change is done: red before, green now, nothing broken or weakened.",
    "harden": "Find mutants that the project's tests do not kill, and a test for each.",
    "watch": "Check Python files whenever they are saved: hunt, then diff.",
    "reproduce": "Write a test that fails now for the reason that an issue describes.",
    "fix": "Fix an issue; print the fix with the tests that prove it.",
    "vet": "Judge a fix by tests: does it resolve the issue, does it break anything near?",
    "mcp": "Serve agents over MCP, on stdin and stdout.",
    "lsp": "Serve editors over the language server protocol, on stdin and stdout.",
    "methods": "List the methods.",
    "init": "Add refute's settings, CI workflow and agent hook to a repository.",
    "config": "Show the settings, and where each comes from.",
    "doctor": "Show what works on this machine, and how to get what is missing.",
}
"""Verb -> its line in `refute --help`. The module `refute.verbs.VERB` defines `command`."""
