"""What runs in a project's own tests: what failing ones execute, which calls of chosen functions
they make, and the same calls once more.

The standard library and pytest only, in the syntax of Python 3.8.
"""
