"""Code that runs in a project's own tests: it records calls of chosen functions, and makes them
again. The standard library only, in the syntax of Python 3.8."""
