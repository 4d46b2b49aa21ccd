"""The verbs as functions: what the command line calls, and what a program calls.

Each raises `InputError` for what the caller can fix and `Unavailable` for what the machine does
not give, and says what it has to say besides to the logger `refute`. A verb may be called where an
event loop is running (a notebook).
"""
