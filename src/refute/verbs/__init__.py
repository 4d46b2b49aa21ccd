"""One file a verb: its options, the function that does the work, and its command.

The options are a frozen dataclass of `core.parameters`. Of its fields flags, `--help`, settings,
what agents may say over MCP, and the keywords from Python are made; a new option is a new field.
What `refute.VERB` returns is in `refute.api`.
"""
