"""Rewards in the words of other frameworks: TRL, verl, verifiers, NeMo Gym, rLLM, Inspect, Harbor.

Each file speaks to one of them and imports it when it is imported itself; what they say of a task,
of an answer and of the grader is in `scoring`. Importing this package imports no framework.
"""
