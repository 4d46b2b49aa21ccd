"""`pytest --refute-record`: real calls of a project, written down as source while its tests run.

Everything but `reading` runs in the project's own interpreter: the standard library and pytest
only, in the syntax of Python 3.8. `reading` is the trusted side, for which a record is text.
"""
