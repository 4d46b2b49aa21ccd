"""`refute serve`: verdicts over HTTP, the same as `refute_lab.rewards` gives in process.

The event loop reads requests, checks them (`wire`) and lines them up (`line`); programs run in the
sandboxes of one `refute_lab.rewards.Grader`, and verdicts are made on the trusted side, there.
"""
