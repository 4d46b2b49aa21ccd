"""The part of the probe that runs inside the target's interpreter (Python 3.6 and newer)."""
