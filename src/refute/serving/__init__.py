"""`refute serve`: verdicts over HTTP, the same as `refute.reward` gives in process.

The event loop reads requests, checks them (`wire`) and lines them up (`line`); programs run in the
sandboxes of one `refute.reward.Grader`, and verdicts are made on the trusted side, there.
"""
