"""Units of a run on a Ray cluster."""
