"""Models for whole benchmark runs and for training: batch files, and transformers in-process.

`refute` finds them by the entry point `refute.models`, as it does those of any other package.
"""
