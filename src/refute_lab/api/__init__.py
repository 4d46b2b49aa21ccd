"""The verbs of the lab as functions, with typed results."""
