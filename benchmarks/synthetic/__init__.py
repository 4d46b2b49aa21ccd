"""A family of small tasks made by us, and a small model from scratch that learns to test them.

It shows, without a download, whether training as in UTGen does what it is said to do: see
`benchmarks/learning.py`.
"""
