"""One file a verb: its options, its function with the result that it returns, and its command.

The options are a frozen dataclass of `core.parameters`. Of its fields flags, `--help`, settings,
what agents may say over MCP, and the keywords from Python are made; a new option is a new field.

A function raises `InputError` for what the caller can fix and `Unavailable` for what the machine
does not give, and says what it has to say besides to the logger `refute`. It may be called where an
event loop is running (a notebook).
"""
