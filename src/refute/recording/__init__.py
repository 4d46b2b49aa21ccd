"""What runs in a project's own tests: which calls of chosen functions they make, and the same calls
once more. The standard library only, in the syntax of Python 3.8."""
